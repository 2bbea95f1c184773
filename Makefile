# Everything a newcomer needs: `make demo`, then `make test`. `make help` lists the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
WITH_TOOLS := $(VENV)/.installed-dev
CODE := src tests benchmarks studies
# One thread a process: the tests run in parallel and would fight over the cores.
TEST_ENV := OMP_NUM_THREADS=1
PIP := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow check format docs results clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) torch  # first and alone: a pinned build
	$(PIP) -e .
	@touch $@

$(WITH_TOOLS): $(INSTALLED)
	$(PIP) -e '.[dev]'
	@touch $@

demo: $(INSTALLED) ## learn from a real graph with 40 % wrong labels, beside a plain GCN
	$(BIN)/quietgraph fit digits --noise symmetric:0.4 --beside gcn --out runs/demo --overwrite

test: $(WITH_TOOLS) ## all tests but the slow ones
	$(TEST_ENV) $(BIN)/pytest -n 2 --dist worksteal -m 'not slow'

test-slow: $(WITH_TOOLS) ## the tests that take minutes
	$(TEST_ENV) $(BIN)/pytest -m slow

check: $(WITH_TOOLS) ## format, lint and types
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy

format: $(WITH_TOOLS) ## format the code
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

docs: $(WITH_TOOLS) ## the site, in build/docs
	$(PIP) -e '.[docs]'
	$(BIN)/mkdocs build --strict

results: $(WITH_TOOLS) ## docs/results.md, from the runs in results/
	$(BIN)/python docs/hooks.py

clean: ## remove the environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache build
