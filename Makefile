# `make` alone lists the targets. Everything runs in .venv, which `make install` makes.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8080
ARGS ?=
UV_VERSION := 0.13.9
COMPILE := $(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header --universal --python-version 3.11

BUILDER ?= docker build
BASE ?=
VERSION = $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' gateway/__init__.py)
IMAGE ?= spillway:$(VERSION)
ENGINE_IMAGE ?= spillway-sglang:$(VERSION)-sglang0.5.23
SGLANG_PYTHON ?= python3.11
LOADTEST := deploy/loadtest-image
LOADTEST_IMAGE ?= spillway-loadtest:$(VERSION)
REVISION = $(shell git rev-parse HEAD 2>/dev/null)
COMMITTED = $(shell git log -1 --format=%ct 2>/dev/null)

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

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
	@# A test that hangs inside uvloop is not interrupted by the alarm signal, the default way: by a thread it is.
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest --timeout-method=thread $(ARGS)

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

.PHONY: loadtest
loadtest: venv ## a small sweep on two local engines: what routing gains here; ARGS=... as of spillway-loadtest sweep
	$(BIN)/python -m loadtest.local $(ARGS)

.PHONY: lock
lock: venv ## the lock files from pyproject.toml, keeping what is locked; ARGS=--upgrade for the newest versions
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	$(COMPILE) $(ARGS) --extra dev --extra demo --extra bench --extra loadtest --extra otel --extra simulate pyproject.toml -o requirements.lock
	# The image has the versions that the tests ran with, and can export traces.
	$(COMPILE) --constraints requirements.lock --extra otel pyproject.toml -o requirements-image.lock
	echo hatchling | $(COMPILE) --constraints requirements.lock - -o requirements-build.lock
	printf '%s\n' jinja2 locust matplotlib | $(COMPILE) --constraints requirements.lock - -o $(LOADTEST)/requirements.lock

.PHONY: test-sglang
test-sglang: venv ## the tests against a real SGLang on the CPU (1.5 GB, some minutes); keeps what they said
	PYTHON=$(SGLANG_PYTHON) scripts/sglang-venv.sh
	$(BIN)/python -m pytest --no-header -v -m sglang tests/sglang $(ARGS) 2>&1 | tee tests/sglang/last-run.txt

.PHONY: engine-image
engine-image: ## the engines' image; ENGINE_IMAGE=..., BASE=lmsysorg/sglang:v0.5.23-cu130@sha256:...
	$(BUILDER) --tag $(ENGINE_IMAGE) --file engine-images/sglang/Dockerfile $(if $(BASE),--build-arg BASE=$(BASE)) \
		--build-arg VERSION=$(VERSION) --build-arg REVISION=$(REVISION) $(ARGS) .

.PHONY: image
image: ## the container image; IMAGE=spillway:0.1.0, BUILDER="podman build", BASE=python@sha256:..., ARGS=...
	$(BUILDER) --tag $(IMAGE) $(if $(BASE),--build-arg BASE=$(BASE)) --build-arg VERSION=$(VERSION) \
		--build-arg REVISION=$(REVISION) $(if $(COMMITTED),--build-arg SOURCE_DATE_EPOCH=$(COMMITTED)) $(ARGS) .

.PHONY: image-loadtest
image-loadtest: ## on top of IMAGE, the image with what load tests need; LOADTEST_IMAGE=, and BUILDER, BASE, ARGS as above
	$(BUILDER) --tag $(LOADTEST_IMAGE) $(if $(BASE),--build-arg BASE=$(BASE)) --build-arg GATEWAY=$(IMAGE) \
		$(ARGS) $(LOADTEST)

.PHONY: dist
dist: venv ## wheel and source archive, in dist/
	rm -rf dist
	$(BIN)/python -m hatchling build

.PHONY: clean
clean: ## remove what these targets made; the demo's model in ~/.cache/spillway stays
	rm -rf $(VENV) .venv-sglang .venv-bench .venv-bench-python dist bench/build tests/clients/node/node_modules tests/monitoring/schema/node_modules
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find gateway loadtest tests bench -name __pycache__ -type d -prune -exec rm -rf {} +
