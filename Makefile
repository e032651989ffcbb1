# Each target builds the environment it needs. A stamp in the environment says what was installed;
# it is renewed when pyproject.toml or the constraints change, so a second call installs nothing.
# ARGS goes to the program behind a target: make test ARGS="-k space", make bench-speed ARGS=--quick

PYTHON ?= python3
ARGS ?=

# Small matrices are slower on many threads, and two test processes on two cores need no more.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 VECLIB_MAXIMUM_THREADS=1
PYTEST := -m pytest -n 2 --dist worksteal
QUICK := "not statistical and not slow"
ELSEWHERE := --ignore=tests/torch --ignore=tests/doors --ignore=tests/package

.DEFAULT_GOAL := help
.PHONY: help demo test lint test-doors test-torch test-package test-lowest test-statistical \
        bench-scale bench-speed bench-speed-torch bench-sampler bench-policies clean

help:
	@echo "make demo               tune a real simulation within its budget"
	@echo "make test               the tests, without PyTorch and the long statistical ones"
	@echo "make lint               ruff, mypy --strict"
	@echo "make test-doors         the tests with servers, a Dask cluster and a browser"
	@echo "make test-torch         the tests beside GPyTorch and BoTorch"
	@echo "make test-package       wheel and sdist in clean environments, alone and with extras"
	@echo "make test-lowest        the tests with the oldest versions that we promise"
	@echo "make test-statistical   many seeds, and everything slow"
	@echo "make bench-speed        time per suggestion beside the peers"
	@echo "make bench-speed-torch  the same, BoTorch included"
	@echo "make bench-scale        what the command line costs, and 1 to 32 workers"
	@echo "make bench-sampler      time per suggestion in an Optuna study"
	@echo "make bench-policies     regret of our policies beside each other"
	@echo "make clean              remove every environment"

demo: .venv/stamp-core
	@.venv/bin/python examples/demo.py $(ARGS)

test: .venv/stamp-dev
	$(ONE_THREAD) .venv/bin/python $(PYTEST) -m $(QUICK) $(ELSEWHERE) $(ARGS)

lint: .venv/stamp-dev
	.venv/bin/ruff check .
	.venv/bin/mypy

# A file's tests share a server, so they stay together.
test-doors: .venv/stamp-doors
	$(ONE_THREAD) .venv/bin/python -m pytest -n 2 --dist loadfile -rs tests/doors $(ARGS)

test-torch: .venv-torch/stamp
	$(ONE_THREAD) .venv-torch/bin/python $(PYTEST) tests/torch $(ARGS)

test-package: .venv/stamp-dev
	.venv/bin/python -m pytest -n 2 --dist loadgroup -rs tests/package $(ARGS)

test-lowest: .venv-lowest/stamp
	$(ONE_THREAD) .venv-lowest/bin/python $(PYTEST) -m $(QUICK) $(ELSEWHERE) $(ARGS)

test-statistical: .venv/stamp-dev
	$(ONE_THREAD) .venv/bin/python $(PYTEST) -m "statistical or slow" $(ELSEWHERE) $(ARGS)

bench-scale: .venv/stamp-doors
	$(ONE_THREAD) .venv/bin/python -m bench.scale $(ARGS)

bench-speed: .venv-bench/stamp
	.venv-bench/bin/python -m bench.speed $(ARGS)

bench-speed-torch: .venv-bench/stamp-torch
	.venv-bench/bin/python -m bench.speed --torch $(ARGS)

bench-sampler: .venv-bench/stamp
	.venv-bench/bin/python -m bench.sampler $(ARGS)

bench-policies: .venv/stamp-dev
	$(ONE_THREAD) .venv/bin/python -m bench.policies run $(ARGS)

clean:
	rm -rf .venv .venv-torch .venv-lowest .venv-bench

# $(call install,environment,constraints,what): build tools first, so that they too are pinned.
define install
@echo "$(1): installing $(3)"
@test -x $(1)/bin/python || $(PYTHON) -m venv $(1)
@started=$$(date +%s) \
	&& $(1)/bin/python -m pip install -qq --constraint $(2) hatchling editables \
	&& $(1)/bin/python -m pip install -qq --constraint $(2) --no-build-isolation \
		--editable "$(3)" \
	&& echo "$(1): ready after $$(($$(date +%s) - started)) s"
endef

.venv/stamp-core: pyproject.toml constraints.txt
	$(call install,.venv,constraints.txt,.)
	@touch $@

.venv/stamp-dev: .venv/stamp-core
	$(call install,.venv,constraints.txt,.[dev])
	@touch $@

.venv/stamp-doors: .venv/stamp-dev
	$(call install,.venv,constraints.txt,.[dev$(comma)doors])
	@touch $@

.venv-torch/stamp: pyproject.toml constraints.txt constraints-torch.txt
	$(call install,.venv-torch,constraints-torch.txt,.[botorch$(comma)dev])
	@touch $@

.venv-bench/stamp: pyproject.toml constraints.txt constraints-torch.txt
	$(call install,.venv-bench,constraints-torch.txt,.[bench])
	@touch $@

.venv-bench/stamp-torch: .venv-bench/stamp
	$(call install,.venv-bench,constraints-torch.txt,.[bench$(comma)botorch])
	@touch $@

.venv-lowest/stamp: pyproject.toml constraints.txt .ci/lowest.py
	@test -x .venv-lowest/bin/python || $(PYTHON) -m venv .venv-lowest
	@.venv-lowest/bin/python .ci/lowest.py >.venv-lowest/constraints.txt
	$(call install,.venv-lowest,.venv-lowest/constraints.txt,.[dev])
	@touch $@

comma := ,
