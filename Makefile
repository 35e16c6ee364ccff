# What a person uses daily. Every target sets itself up.
PYTHON ?= python3
BIN := .venv/bin
STAGE ?= dev
SECONDS ?= 60
# More for the CDK's command line, such as CDK="-c alarm_email=you@example.com".
CDK ?=

.DEFAULT_GOAL := help
.PHONY: help setup demo cloud-assembly synth deploy destroy test e2e lint format bench fuzz lock clean

help: ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: .venv/.ready .venv/.kernel ## make .venv with the locked dependencies and the `leap` command

.venv/.ready: requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "LEAP needs Python 3.11 or newer; name one with: make PYTHON=python3.12 setup"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index -e .
	@touch $@

.venv/.kernel: $(wildcard layers/leap_model/kernel/*) infra/kernel.py .venv/.ready
	@$(BIN)/python -m infra.kernel
	@touch $@

demo: setup .venv-aws/.ready node_modules/.ready ## the whole loop on an AWS on this machine
	$(BIN)/leap demo --aws

# The local AWS pins botocore, hence an environment of its own. It is of the same Python, since
# bundles for it are built by the one and run by the other.
.venv-aws/.ready: requirements/local-aws.txt .venv/.ready
	$(BIN)/python -m venv --clear .venv-aws
	.venv-aws/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/local-aws.txt
	@touch $@

node_modules/.ready: package-lock.json
	@node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null \
	  || { echo "the CDK needs Node.js 20 or newer, with npm: see nodejs.org"; exit 1; }
	npm ci --silent --ignore-scripts --no-audit --no-fund
	@touch $@

# What `cdk` itself calls (cdk.json), so that `npx cdk` works in a checkout that is not set up.
cloud-assembly: setup
	@$(BIN)/python -m infra.app

synth: setup node_modules/.ready ## the template of STAGE (default dev), and its bundles
	npx --no-install cdk synth --quiet -c stage=$(STAGE)

deploy: setup node_modules/.ready ## deploy STAGE to the AWS account of your credentials
	npx --no-install cdk deploy -c stage=$(STAGE) $(CDK)

destroy: setup node_modules/.ready ## take STAGE down; but for prod, what it stored goes too
	$(BIN)/python -m infra.emptying $(STAGE)
	npx --no-install cdk destroy -c stage=$(STAGE) $(CDK)

test: lint ## lint, then every test, on every core
	$(BIN)/pytest -n auto --dist loadfile

e2e: setup .venv-aws/.ready node_modules/.ready ## deploy to an AWS on this machine, and test that
	$(BIN)/pytest -m e2e

lint: setup ## ruff, format check, strict types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup ## rewrite the code as ruff would
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup ## measure what the README states
	$(BIN)/python -m bench

fuzz: setup ## random forests and rows through the kernel, with sanitizers (SECONDS=60)
	$(BIN)/python -m bench.fuzz $(SECONDS)

lock: setup ## lock the dependencies anew, with hashes
	$(BIN)/python -m pip install --quiet uv==0.13.9
	$(BIN)/uv pip compile pyproject.toml --group dev --universal --generate-hashes \
	  --no-header --no-annotate --python-version 3.11 --upgrade -o requirements/dev.txt
	for group in ingest rank retrain; do $(BIN)/uv pip compile --group pyproject.toml:$$group \
	  -c requirements/dev.txt --universal --generate-hashes --no-header --no-annotate \
	  --python-version 3.11 --upgrade --quiet -o requirements/$$group.txt || exit 1; done
	$(BIN)/uv pip compile --group pyproject.toml:local-aws --universal --generate-hashes \
	  --no-header --no-annotate --python-version 3.11 --upgrade -o requirements/local-aws.txt

clean: ## remove what the targets set up, and caches
	rm -rf .venv .venv-aws node_modules cdk.out .mypy_cache .pytest_cache .ruff_cache .hypothesis layers/leap_model/native
