# Everything a developer runs. `make` alone lists it.
.DEFAULT_GOAL := help
SHELL := /bin/bash
BIN := .venv/bin
# The first interpreter here that is new enough and can make environments.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes
# -n 2: two processes; loadfile: stories of one file share their desk.
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile

.PHONY: help demo test lint types bench screenshots cases lock messages soak storm node

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: .venv/run.stamp ## everything on this machine, with two demo agents; Ctrl-C stops it
	@$(BIN)/python manage.py demo $(if $(PORT),--port $(PORT))

test: .venv/dev.stamp ## import contracts and the suite on SQLite; on PostgreSQL too where POSTGRES_URL is set
	$(BIN)/lint-imports
	env -u DATABASE_URL $(PYTEST) $(ARGS)
ifneq ($(POSTGRES_URL),)
	DATABASE_URL=$(POSTGRES_URL) $(PYTEST) -m 'not cases' $(ARGS)
endif

lint: .venv/dev.stamp ## ruff, import contracts, templates, spelling
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/djlint --lint templates
	$(BIN)/typos

types: .venv/dev.stamp ## mypy; strict where it decides
	$(BIN)/mypy

bench: .venv/dev.stamp ## the speeds of benchmarks/README.md, as ratios
	$(BIN)/python -m benchmarks $(ARGS)

soak: .venv/dev.stamp ## the product under load and faults for a long time
	$(BIN)/python -m benchmarks.soak $(ARGS)

storm: .venv/dev.stamp ## 200 deliveries, workers killed at random, agents misbehaving: what became of each
	$(BIN)/python -m benchmarks.storm $(ARGS)

screenshots: .venv/dev.stamp ## every page at 1280 and 360 pixels, into screenshots/
	$(BIN)/python -m tests.browser.screenshots $(ARGS)

cases: .venv/dev.stamp ## the field cases, against the product from outside
	$(BIN)/python tests/cases/run_cases.py --project . $(ARGS)

node: ## the official chat client, for the tests that run it (needs Node 18 and npm)
	cd tests/node && npm ci --no-audit --no-fund --ignore-scripts --loglevel=error

messages: .venv/dev.stamp ## collect and compile the translations
	DEBUG=1 $(BIN)/python manage.py makemessages --all --no-location --no-wrap --ignore .venv --ignore tests
	DEBUG=1 $(BIN)/python manage.py compilemessages --ignore .venv

lock: .venv/dev.stamp ## requirements*.in → requirements*.txt, with hashes (needs uv)
	uv pip compile --quiet --generate-hashes --python-version 3.11 --universal requirements.in -o requirements.txt
	uv pip compile --quiet --generate-hashes --python-version 3.11 --universal requirements-dev.in -o requirements-dev.txt

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer with venv is needed (Debian: apt install python3-venv)."; exit 1; }
	@echo "making the environment with $(PYTHON) …"
	@$(PYTHON) -m venv .venv

.venv/run.stamp: requirements.txt | .venv/bin/python
	@echo "installing what Countersign runs on …"
	@$(INSTALL) -r requirements.txt
	@touch $@

.venv/dev.stamp: requirements-dev.txt .venv/run.stamp
	@echo "installing what the tests need …"
	@$(INSTALL) -r requirements-dev.txt
	@touch $@
