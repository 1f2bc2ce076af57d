# `make` alone lists the targets. Everything runs in .venv, which `make install` makes.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8080
ARGS ?=
UV_VERSION := 0.13.9

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: venv
venv:
	@scripts/install.sh

.PHONY: install
install: venv ## make .venv with everything in it; PYTHON=... chooses the interpreter
	@scripts/test-tools.sh

.PHONY: demo
demo: venv ## two real engines and the gateway on this machine, a table, then serving; PORT=8080, ARGS=--check
	@$(BIN)/spillway demo --port $(PORT) $(ARGS)

.PHONY: test
test: install lint types ## all checks and tests; ARGS=... goes to pytest
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest $(ARGS)

.PHONY: lint
lint: venv ## style and common mistakes
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

.PHONY: types
types: venv ## mypy, strict
	$(BIN)/mypy

.PHONY: fmt
fmt: venv ## format, and mend what can be mended mechanically
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: bench
bench: venv ## what relaying costs, beside nginx, Envoy and others, in one run; writes bench/RESULTS.md
	bash bench/setup.sh
	$(BIN)/python -m bench

.PHONY: lock
lock: venv ## requirements.lock from pyproject.toml, keeping what is locked; ARGS=--upgrade for the newest versions
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	$(BIN)/uv pip compile --quiet $(ARGS) --generate-hashes --no-emit-index-url --no-header --universal \
		--python-version 3.11 --extra dev --extra demo --extra bench pyproject.toml -o requirements.lock

.PHONY: dist
dist: venv ## wheel and source archive, in dist/
	rm -rf dist
	$(BIN)/python -m hatchling build

.PHONY: clean
clean: ## remove what these targets made; the demo's model in ~/.cache/spillway stays
	rm -rf $(VENV) .venv-bench dist bench/build tests/clients/node/node_modules
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find gateway tests bench -name __pycache__ -type d -prune -exec rm -rf {} +
