# Two commands on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint bench lock clean

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# A stamp for each set of extras, so that a second run installs nothing.
$(VENV)/.installed-%: pyproject.toml requirements.lock | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock --editable '.[$*]'
	@touch $@

# The newest versions that pyproject.toml admits, in an environment of their own.
lock:
	rm -rf $(VENV)-lock && $(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install --quiet '.[test,text,read]'
	$(VENV)-lock/bin/python -m pip freeze --exclude lookalike > requirements.lock
	rm -rf $(VENV)-lock

# SERVE=0 skips the last step, serving the page with the sample pictures.
SERVE ?= 1
demo: $(VENV)/.installed-demo
	$(BIN)/lookalike demo demo
ifneq ($(SERVE),0)
	$(BIN)/lookalike serve demo/collection
endif

# What hangs on sums of floats runs a second time, as another processor would compute it: by the loops
# for AVX2 where this one has AVX-512, else by those that every x86-64 processor has.
NUMERIC := tests/codes $(addprefix tests/,$(addsuffix /test_contract.py,similarity annotation index))
OTHER_PROCESSOR ?= $(shell grep -qs avx512 /proc/cpuinfo && echo Haswell || echo Nehalem)

# A worker more than there are cores, since many tests wait for a server or a browser; and one thread each
# for linear algebra, since threads of several workers spend the time of the cores on waiting for each other.
WORKERS ?= $(shell echo $$(($$(nproc) + 1)))
# Collections wait for the disk whenever they write: in memory, if there are 2 GB, tests do not have to.
ROOM := $(shell df --output=avail /dev/shm 2> /dev/null | tail -n 1)
TESTS_IN ?= $(shell [ 0$(ROOM) -gt 2000000 ] && echo /dev/shm || echo $${TMPDIR:-/tmp})
# Files in the order of tests/conftest.py: what takes long comes first, so that no worker is left alone with it.
PYTEST := TMPDIR=$(TESTS_IN) OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

test: $(VENV)/.installed-test
	$(PYTEST)
	OPENBLAS_CORETYPE=$(OTHER_PROCESSOR) $(PYTEST) -q $(NUMERIC)

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed-test
	$(BIN)/python benchmarks/run_all.py

clean:
	rm -rf $(VENV) demo .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
