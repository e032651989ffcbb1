"""Every error is caught by what it is, and survives the way from another process."""

import inspect
import pickle

import pytest

from headway import errors
from headway.errors import CheckpointError, EveryTrialFailed, InvalidInput

CLASSES = [c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, Exception)]


def test_bad_input_is_a_value_error():
    bad = {c.__name__ for c in CLASSES if issubclass(c, ValueError)}
    names = {"SpaceError", "BudgetError", "TellError", "CheckpointError", "SettingError"}
    names |= {"StudyError", "StorageError", "NothingToShow"}
    assert bad == names | {"InvalidInput"}
    assert all(issubclass(c, InvalidInput) for c in CLASSES if c.__name__ in names)
    assert all(issubclass(c, ValueError | RuntimeError) for c in CLASSES)


@pytest.mark.parametrize("error", CLASSES)
def test_errors_can_be_pickled(error):
    again = pickle.loads(pickle.dumps(error("text")))
    assert type(again) is error and str(again) == "text"


def test_errors_carry_what_is_known():
    assert EveryTrialFailed("text", result=3).result == 3
    error = CheckpointError("text", result=3, history=4)
    assert (error.result, error.history) == (3, 4)
    assert pickle.loads(pickle.dumps(error)).result == 3
