# What a person uses daily. Every target sets itself up.
PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint format bench lock clean

help: ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: .venv/.ready ## make .venv with the locked dependencies and the `leap` command

.venv/.ready: requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "LEAP needs Python 3.11 or newer; name one with: make PYTHON=python3.12 setup"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index -e .
	@touch $@

demo: setup ## the whole loop on a local folder and 127.0.0.1
	$(BIN)/leap demo

test: lint ## lint, then every test
	$(BIN)/pytest

lint: setup ## ruff, format check, strict types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup ## rewrite the code as ruff would
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup ## measure what the README states
	$(BIN)/python -m bench

lock: setup ## lock the dependencies anew, with hashes
	$(BIN)/python -m pip install --quiet uv==0.13.9
	$(BIN)/uv pip compile pyproject.toml --group dev --universal --generate-hashes \
	  --no-header --no-annotate --python-version 3.11 --upgrade -o requirements/dev.txt

clean: ## remove .venv and caches
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis
