"""scikit-learn's own tests carry a mark of its own."""


def pytest_configure(config):
    config.addinivalue_line("markers", "thread_unsafe: scikit-learn's mark; without meaning here")
