# `make help` lists what there is.
PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help demo test reference check format wheel clean

help: ## Show this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

demo: .venv/.demo ## Install what the demo needs and watch one episode
	@$(BIN)/evoharness demo

test: .venv/.dev ## Install what the tests need and run them (official games too when ALFWORLD_DATA is set)
	@$(BIN)/pytest -m "not stock"

reference: .venv/.reference ## Install the stock ALFWorld engine and compare ours with it
	@$(BIN)/pytest -m stock

check: .venv/.dev ## Lint, types, layers, spelling
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/codespell
	@$(BIN)/lint-imports
	@$(BIN)/pyright

format: .venv/.dev ## Format and mend what can be mended
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

wheel: .venv/.dev ## Build the wheel and look into it
	@rm -rf dist
	@$(BIN)/python -m build --wheel --no-isolation
	@$(BIN)/check-wheel-contents dist

clean: ## Remove the environment and caches
	rm -rf .venv dist build .pytest_cache .ruff_cache .hypothesis .import_linter_cache

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "evoharness needs Python 3.11 or newer, $(PYTHON) is older: make PYTHON=python3.11 …"; exit 1; }
	@$(PYTHON) -m venv .venv

.venv/.demo: .venv/bin/python pyproject.toml
	@echo "Installing evoharness into .venv (half a minute) …"
	@$(BIN)/pip install --quiet --disable-pip-version-check -e .
	@touch $@

.venv/.dev: .venv/bin/python pyproject.toml
	@echo "Installing evoharness with what its tests need into .venv (a minute or two) …"
	@$(BIN)/pip install --quiet --disable-pip-version-check -e ".[dev]"
	@touch $@ .venv/.demo

.venv/.reference: .venv/.dev
	@echo "Installing the stock ALFWorld engine into .venv (a minute) …"
	@$(BIN)/pip install --quiet --disable-pip-version-check -e ".[dev,alfworld]"
	@touch $@
