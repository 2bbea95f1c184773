# Everything a newcomer needs: `make demo`, then `make test`. `make help` lists the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What is installed: the package to use it, and with the tools to work on it.
INSTALLED := $(VENV)/.installed
WITH_TOOLS := $(VENV)/.installed-dev
# One thread a process: the tests run in parallel and would fight over the cores.
CODE := src tests benchmarks studies tools
TEST_ENV := OMP_NUM_THREADS=1

.DEFAULT_GOAL := help
.PHONY: help demo test fuzz test-slow check format bench docs study-docs audit lock locked clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

PIP := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) torch  # first and alone: a pinned CPU build instead of gigabytes of CUDA
	$(PIP) -e .
	@touch $@

$(WITH_TOOLS): $(INSTALLED)
	$(PIP) -e '.[dev]'
	@touch $@

demo: $(INSTALLED) ## learn from a real graph with 40 % wrong labels, beside a plain GCN
	$(BIN)/quietgraph fit digits --noise symmetric:0.4 --beside gcl-lr-attention,gcn --out runs/demo

test: $(WITH_TOOLS) ## all tests but the slow ones
	$(TEST_ENV) $(BIN)/pytest -n 2 --dist worksteal -m 'not slow'

fuzz: $(WITH_TOOLS) ## 200,000 mutated files for every reader and loader (CASES of each format)
	QUIETGRAPH_FUZZ_CASES=$(or $(CASES),5000) $(TEST_ENV) $(BIN)/pytest tests/fuzz

test-slow: $(WITH_TOOLS) ## the tests that take minutes (published figures, timing ratios)
	$(TEST_ENV) $(BIN)/pytest -m slow

check: $(WITH_TOOLS) ## format, lint, types, import order and the fast tests
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy
	$(TEST_ENV) $(BIN)/pytest -n 2 --dist worksteal -m 'not slow and not integration'

format: $(WITH_TOOLS) ## format the code
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

bench: $(WITH_TOOLS) ## time and memory of one training epoch, beside a floor and two rivals
	$(BIN)/python benchmarks/epoch.py

docs: $(WITH_TOOLS) ## the pages and the API reference, in build/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

study-docs: $(WITH_TOOLS) ## every measured figure of README and docs, from the runs in results/
	$(BIN)/python studies/study_docs.py

audit: $(WITH_TOOLS) ## known vulnerabilities of what is installed (needs a connection)
	$(BIN)/python tools/audit.py

lock: ## write requirements.lock anew after constraints.txt has changed (INDEX: of the packages)
	$(BIN)/python tools/lock.py --index $(INDEX)

locked: ## the package and what it needs, every file checked by its hash (torch: by its version)
	$(PYTHON) -m venv $(VENV)
	$(PIP) torch
	$(BIN)/pip install --quiet --no-deps --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .

clean: ## remove the environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache runs
