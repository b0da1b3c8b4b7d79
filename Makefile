PYTHON ?= python3
WORKERS ?= 2

VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/runtime.stamp
DEVELOPMENT := $(VENV)/development.stamp
CODE := src tests benchmarks
COMPILED := tests/unit/kernels tests/unit/facts tests/unit/local tests/unit/activation tests/unit/connectors/test_marshalled_rows.py \
	tests/unit/production/test_late_ahead.py tests/unit/production/test_at_once.py tests/unit/production/test_at_once_compiling.py
COMPILE := $(BIN)/uv pip compile pyproject.toml requirements/build.in --quiet --universal --python-version 3.11 \
	--generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links

.PHONY: demo test test-local test-spark faults soak check bench bench-yield fmt lock clean
.DEFAULT_GOAL := demo

demo: $(RUNTIME)  ## set everything up and run a real program
	@$(BIN)/python examples/demo.py

test: test-local test-spark  ## every check and every test, with its own set-up

test-local: check  ## the checks and the tests that need no Spark
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not spark"
	NUMBA_BOUNDSCHECK=1 $(BIN)/python -m pytest -n $(WORKERS) $(COMPILED)
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n $(WORKERS) $(COMPILED)

test-spark: $(DEVELOPMENT)  ## the tests on Spark, one session for each worker; pages of the docs end theirs
	$(BIN)/python tests/spark/write_class_archive.py
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --no-loadscope-reorder tests/spark
	$(BIN)/python -m pytest -n $(WORKERS) -m spark tests/test_docs.py

soak: $(DEVELOPMENT)  ## random changes of random programs until Ctrl-C; what fails is saved as a case
	PYTHONPATH=tests $(BIN)/python -m soak

faults: $(DEVELOPMENT)  ## drivers and executors of Spark killed, many times and in every kind of stage
	TIDELOG_KILLS=50 $(BIN)/python -m pytest -s -o faulthandler_timeout=0 $(wildcard tests/spark/test_faults_[dew]*.py)

check: $(DEVELOPMENT)  ## style, types and the direction of imports
	$(BIN)/ruff check $(CODE) examples
	$(BIN)/ruff format --check $(CODE) examples
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(DEVELOPMENT)  ## the benchmark table, against DuckDB in the same run
	$(BIN)/python -m benchmarks

bench-yield: $(DEVELOPMENT)  ## what watched rules touch beside other indexes, and tuples per second
	$(BIN)/python -m benchmarks yield

fmt: $(DEVELOPMENT)  ## put the code into the house format
	$(BIN)/ruff check --fix $(CODE) examples
	$(BIN)/ruff format $(CODE) examples

lock: $(DEVELOPMENT)  ## choose the newest versions of everything again
	$(BIN)/python -m pip install --quiet uv
	$(COMPILE) --upgrade --extra spark --extra delta --output-file requirements/runtime.lock
	$(COMPILE) --upgrade --group dev --constraint requirements/runtime.lock --output-file requirements/dev.lock

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist

$(RUNTIME): requirements/runtime.lock pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/runtime.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

$(DEVELOPMENT): requirements/dev.lock pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@ $(RUNTIME)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Tidelog needs Python 3.11 or newer: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
