# Two commands do all the set-up: `make demo` and `make test`. Each builds .venv the first time; later runs need no network.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test nightly lint docs benchmarks clean

demo: $(VENV)/.demo
	$(BIN)/jointdr demo

test: $(VENV)/.test
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

# Properties on some ten thousand examples, drawn anew each time, instead of the few that `make test` repeats.
nightly: $(VENV)/.test
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest -n 2 --dist worksteal tests/properties tests/laws

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.docs
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

benchmarks: $(VENV)/.demo $(VENV)/.test
	$(BIN)/python benchmarks/fit_dense.py
	$(BIN)/python benchmarks/fit_wide.py
	$(BIN)/python benchmarks/solvers.py
	$(BIN)/python benchmarks/refine.py
	$(BIN)/python benchmarks/accuracy.py
	$(BIN)/python benchmarks/bootstrap.py
	$(BIN)/python benchmarks/phd.py
	$(BIN)/python benchmarks/cost_table.py
	$(BIN)/python benchmarks/imc.py
	$(BIN)/python benchmarks/association_speed.py
	$(BIN)/python benchmarks/explore.py
	$(BIN)/python benchmarks/import_time.py

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.%: pyproject.toml | $(BIN)/python
	$(PIP) install -e ".[$*]"
	touch $@

clean:
	rm -rf $(VENV) demo_output docs/_build docs/auto_examples docs/api/generated
