# Everything a newcomer needs: `make demo`, then `make test`. `make help` lists the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# One thread a process: the tests run in parallel and would fight over the cores.
TEST_ENV := OMP_NUM_THREADS=1

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow check format bench clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(STAMP) ## learn from a real graph with 40 % wrong labels, beside a plain GCN
	$(BIN)/quietgraph fit digits --noise symmetric:0.4 --method gcl-lr-attention \
	  --beside gcl-lrr,gcn --out runs/demo

test: $(STAMP) ## all tests but the slow ones
	$(TEST_ENV) $(BIN)/pytest -n 2 --dist worksteal -m 'not slow'

test-slow: $(STAMP) ## the tests that take minutes (published figures, timing ratios)
	$(TEST_ENV) $(BIN)/pytest -m slow

check: $(STAMP) ## format, lint, types, import order and the fast tests
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/mypy
	$(TEST_ENV) $(BIN)/pytest tests/unit/test_import_order.py tests/unit/test_losses.py \
	  tests/unit/test_graph.py tests/unit/test_propagation.py tests/unit/test_classifiers.py

format: $(STAMP) ## format the code
	$(BIN)/ruff check --fix src tests benchmarks
	$(BIN)/ruff format src tests benchmarks

bench: $(STAMP) ## time and memory of one training epoch, beside a floor and two rivals
	$(BIN)/python benchmarks/epoch.py

clean: ## remove the environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache runs
