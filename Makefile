# Each target sets itself up: a virtual environment in .venv, with the versions of constraints.txt.
#
#   make demo    a short tour                  make lint    style, types, layers
#   make test    lint, then every test         make clean   remove .venv, builds and caches
#   make bench   the benchmarks
#
# PYTHON=/path/to/python3.12 chooses the interpreter (3.11 to 3.13); WORKERS=4 the test processes.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test bench lint setup clean

WORKERS ?= 2
CANDIDATES := $(if $(PYTHON),$(PYTHON),python3.13 python3.12 python3.11 python3)
BIN := .venv/bin
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check
INPUTS := pyproject.toml constraints.txt

export SUITABLE := import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info < (3, 14))

help:
	@sed -n 's/^#   //p' Makefile

# What the library and the demo's figure need. Building without isolation keeps the build tools pinned, too.
.venv/.stamp: $(INPUTS)
	@if ! $(BIN)/python -c '' 2>/dev/null; then \
	  python=""; \
	  for candidate in $(CANDIDATES); do \
	    if "$$candidate" -c "$$SUITABLE" 2>/dev/null; then python="$$candidate"; break; fi; \
	  done; \
	  if [ -z "$$python" ]; then \
	    echo "mercer needs Python 3.11, 3.12 or 3.13 with the venv module; tried: $(CANDIDATES)." >&2; \
	    echo "Install one of them, or name it: make $(MAKECMDGOALS) PYTHON=/path/to/python3.12" >&2; \
	    exit 1; \
	  fi; \
	  echo "Setting up .venv with $$("$$python" --version)"; \
	  "$$python" -m venv --clear .venv; \
	fi
	@$(PIP) install -c constraints.txt hatchling editables
	@$(PIP) install -c constraints.txt --no-build-isolation -e ".[plot]"
	@touch $@

# What its development needs besides: every optional package and the tools.
.venv/.stamp-dev: .venv/.stamp
	@echo "Installing the development tools into .venv"
	@$(PIP) install -c constraints.txt --no-build-isolation -e ".[dev]"
	@touch $@

setup: .venv/.stamp-dev

demo: .venv/.stamp
	@$(BIN)/python examples/demo.py

bench: .venv/.stamp-dev
	@$(BIN)/python -m benchmarks.run

lint: .venv/.stamp-dev
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/basedpyright --level error
	@$(BIN)/lint-imports

# pytest's closing line is the last line printed.
test: lint
	@$(BIN)/python -m pytest -q -n $(WORKERS)

clean:
	@rm -rf .venv build dist .cache .benchmarks .hypothesis .import_linter_cache .pytest_cache .ruff_cache
	@find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
