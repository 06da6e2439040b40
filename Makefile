# Two commands do all the set-up: `make demo` and `make test`. Each builds .venv the first time; later runs need no network.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

# What is tested with the oldest versions that pyproject.toml allows: the core, files, and what reads them.
CORE   := tests/moments tests/laws/test_merge.py tests/estimators/test_jdr.py tests/prediction/test_association.py \
          tests/estimators/test_saving.py tests/runtime/test_model_files.py tests/test_corpus.py tests/prediction/test_imc.py \
          tests/data/test_formats.py tests/prediction/test_skops.py tests/apps/test_story.py \
          tests/apps/test_cli.py tests/apps/explore/test_guard.py tests/apps/explore/test_uploads.py tests/apps/explore/test_pages.py

.PHONY: demo test test-all nightly test-minimal test-cli lint audit docs benchmarks clean

demo: $(VENV)/.demo
	$(BIN)/jointdr demo

# A few minutes on two cores; `make test-all` has everything but what is left to `make nightly`.
test: $(VENV)/.test
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal -m "not nightly and not slow"

test-all: $(VENV)/.test
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

# Properties on some ten thousand examples, drawn anew each time, instead of the few that `make test` repeats; and what
# takes minutes.
nightly: $(VENV)/.test
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest -n 2 --dist worksteal tests/properties tests/laws
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -m nightly

test-minimal: .venv-minimal/.test
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 .venv-minimal/bin/python -m pytest -n 2 --dist worksteal $(CORE)

.venv-minimal/.test: pyproject.toml requirements/minimal.txt
	$(PYTHON) -m venv .venv-minimal
	.venv-minimal/bin/python -m pip --disable-pip-version-check --quiet install -r requirements/minimal.txt -e .
	touch $@

# What a new user does with tables of any kind, with nothing installed but the extra `cli`.
test-cli: .venv-cli/.test
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 .venv-cli/bin/python -m pytest --noconftest tests/apps/test_story.py

.venv-cli/.test: pyproject.toml
	$(PYTHON) -m venv .venv-cli
	.venv-cli/bin/python -m pip --disable-pip-version-check --quiet install -e ".[cli]" pytest
	touch $@

audit: $(VENV)/.audit
	$(BIN)/pip-audit --strict --skip-editable --progress-spinner off

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
	rm -rf $(VENV) .venv-minimal .venv-cli demo_output docs/_build docs/auto_examples docs/api/generated
