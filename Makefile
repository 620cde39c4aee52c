# make demo        run the examples on a real picture, beside NumPy (no GPU needed)
# make test        formatting, lint, types and all tests
# make fuzz        20,000 random programs beside NumPy (half an hour)
# make array-api   the public test suite of the array API standard, fetched into build/
# All make .venv first, from PYTHON, and install what they need into it; a second run finds it there.

PYTHON ?= python3
PYTEST_ARGS ?= -n 2

VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test lint format types unit fuzz array-api clean

help:
	@sed -n '1,5s/^# //p' Makefile

demo: $(VENV)/.demo
	$(BIN)/python -m examples.demo

test: lint types unit

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	$(BIN)/mypy

unit: $(VENV)/.test
	$(BIN)/python -m pytest $(PYTEST_ARGS)

fuzz: $(VENV)/.test
	LAZYBLOCK_FUZZ_PROGRAMS=20000 $(BIN)/python -m pytest $(PYTEST_ARGS) \
		tests/end_to_end/test_random_programs.py

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The suite is in no package index. Settings of its own: LAZYBLOCK_DEVICE picks the device.
SUITE := build/array-api-tests
SUITE_URL ?= https://github.com/data-apis/array-api-tests
SUITE_COMMIT := 55fcc60179efa2680ddd6cd926ddf17b83530e2b

array-api: $(VENV)/.array-api $(SUITE)/.$(SUITE_COMMIT)
	cd $(SUITE) && ARRAY_API_TESTS_MODULE=lazyblock ARRAY_API_TESTS_VERSION=2025.12 \
		$(CURDIR)/$(BIN)/python -m pytest array_api_tests $(PYTEST_ARGS) --max-examples=20 \
		--disable-deadline --xfails-file=$(CURDIR)/tests/array_api/allowed_failures.txt

$(SUITE)/.$(SUITE_COMMIT):
	rm -rf $(SUITE)
	git clone --quiet $(SUITE_URL) $(SUITE)
	git -C $(SUITE) checkout --quiet $(SUITE_COMMIT)
	git -C $(SUITE) submodule update --quiet --init
	@touch $@

clean:
	rm -rf $(VENV) *.egg-info build dist demo_output .pytest_cache .mypy_cache .ruff_cache .hypothesis

# One stamp for each extra: installing again is needed only when pyproject.toml changes.
$(VENV)/.demo $(VENV)/.test $(VENV)/.array-api: $(VENV)/.%: pyproject.toml | $(VENV)/.pip
	@echo "installing lazyblock[$*] into $(VENV)"
	@$(INSTALL) --editable '.[$*]'
	@touch $@

# Debian's python3 comes without ensurepip: a pip outside the environment (22.3 or later) does as well.
$(VENV)/.pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
		|| { echo "lazyblock needs Python 3.10 or later; name one: make PYTHON=python3.12"; exit 1; }
	@test -x $(BIN)/pip \
		|| $(PYTHON) -m venv $(VENV) >/dev/null 2>&1 \
		|| { $(PYTHON) -m venv --clear --without-pip $(VENV) \
			&& $(PYTHON) -m pip --python $(BIN)/python install --quiet pip; } \
		|| { echo "Cannot make $(VENV): install venv and pip (Debian: apt install python3-venv)"; exit 1; }
	@touch $@
