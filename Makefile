# Each target sets itself up: a virtual environment in .venv, with the versions of constraints.txt.
#
#   make demo      a short tour                make lint      style, types of what is public, layers
#   make test      lint, then the tests        make clean     remove .venv, builds and caches
#   make bench     the benchmarks              make docs      the documentation, in build/docs
#   make types     types of all of src         make timing    promises about seconds, alone on the machine
#   make exports   what packages export, from the modules
#   make slow      tests that make test leaves out
#   make deep      the laws, with forty times the examples, at random
#   make probes    all probes of bad input
#   make levels    levels and power of tests, and how often bounds hold, by simulation
#   make kills     fits and workers that are killed, many times
#   make studio    all attacks on the studio, all its views in a browser, an hour of random clicking
#   make portable  numeric tests as other processors, threads, versions and interpreters run them
#   make peers     scikit-learn's own tests, LIBSVM, GraKeL and hyppo against mercer
#   make trust     the scorecard: what is measured of bad input, faults, memory and time
#   make release   all of these
#
# PYTHON=/path/to/python3.12 chooses the interpreter (3.11 to 3.13); WORKERS=4 the test processes;
# ONLY='blas threads-4' some factors of `make portable`, by the beginnings of their names, or ONLY='SVC search' what
# `make probes` tries; both go on where they were broken off, as long as no source has changed.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test slow deep timing portable peers trust release probes levels kills studio bench docs exports lint style types setup clean

WORKERS ?= 2
CANDIDATES := $(if $(PYTHON),$(PYTHON),python3.13 python3.12 python3.11 python3)
BIN := .venv/bin
# Without compiling: Python does that for the tenth of the modules that are imported, when they are.
INSTALL := $(BIN)/python -m pip -qq --disable-pip-version-check install --no-compile -c constraints.txt
# What it compiles it must be allowed to keep: hundreds of tests are processes of their own.
unexport PYTHONDONTWRITEBYTECODE
INPUTS := pyproject.toml constraints.txt

export SUITABLE := import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info < (3, 14))

help:
	@sed -n 's/^#   //p' Makefile

# What the library and the demo's report need. Building without isolation keeps the build tools pinned, too.
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
	@$(INSTALL) hatchling editables
	@$(INSTALL) --no-build-isolation -e ".[plot]"
	@touch $@

# What its development needs besides: every optional package and the tools.
.venv/.stamp-dev: .venv/.stamp
	@echo "Installing the development tools into .venv"
	@$(INSTALL) --no-build-isolation -e ".[dev]"
	@touch $@

# What builds the documentation.
.venv/.stamp-docs: .venv/.stamp
	@echo "Installing the documentation tools into .venv"
	@$(INSTALL) --no-build-isolation -e ".[docs]"
	@touch $@

setup: .venv/.stamp-dev

# The way of a stranger: look at a file, fit a model, read the report, predict.
demo: .venv/.stamp
	@$(BIN)/python examples/demo_data.py demo
	@for step in \
	  'check demo/patients.csv --target progression' \
	  'fit demo/patients.csv --target progression --report demo/patients.html --force' \
	  'predict demo/patients.mercer demo/new.csv -o demo/predictions.csv --force'; \
	do printf '\n$$ mercer %s\n' "$$step"; $(BIN)/mercer $$step; done
	@head -n 4 demo/predictions.csv
	@printf '\nThe report is in demo/patients.html\n'

bench: .venv/.stamp-dev
	@$(BIN)/python -m benchmarks.run

# What packages export, from the modules.
exports: .venv/.stamp
	@$(BIN)/python -m docs.make_exports

# Pages made from the classes are written first; any warning is an error.
docs: exports .venv/.stamp-docs
	@for page in catalogue equations performance reference trust; do $(BIN)/python -m docs.make_$$page; done
	@$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --jobs $(WORKERS) --builder html docs build/docs
	@$(BIN)/python -m docs.check_links build/docs
	@echo "The documentation is in build/docs/index.html"

# Files with public names are checked at every test, but for those whose arithmetic on arrays takes the checker minutes;
# these, and what only they call, by `make types`.
LENGTHY = selection choosing networks mixtures solvers numerics
PUBLIC = $(filter-out $(foreach room,$(LENGTHY),src/mercer/$(room)/%),$(shell grep -rl --include='*.py' '^__public__' src/mercer))

types: .venv/.stamp-dev
	@$(BIN)/basedpyright --threads 2 --level error

style: .venv/.stamp-dev
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/lint-imports

# Nothing is checked again that has not changed since it was found right.
build/.types: pyproject.toml constraints.txt $(shell find src -name '*.py' -o -name '*.pyi') | .venv/.stamp-dev
	@mkdir -p build
	@$(BIN)/basedpyright --level error $(PUBLIC)
	@touch $@

lint: style build/.types

# Types are checked beside the tests; loops are compiled once before the workers start, which would each do it.
# Unless there is an error in types, pytest's closing line is the last line printed.
test: style
	@mkdir -p build; make --silent --no-print-directory build/.types > build/types.log 2>&1 & types=$$!; \
	$(BIN)/python -m tests.warm; status=0; \
	$(BIN)/python -m pytest -q -n $(WORKERS) -m "not slow" --dist worksteal --disable-warnings || status=$$?; \
	wait $$types || { cat build/types.log; exit 1; }; exit $$status

# What `make test` leaves out: mostly scikit-learn's checks of estimators with other than their default parameters.
slow: .venv/.stamp-dev
	@$(BIN)/python -m pytest -q -n $(WORKERS) -m slow

deep: .venv/.stamp-dev
	@HYPOTHESIS_PROFILE=deep $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal tests/laws

# Nothing else may run beside these.
timing: .venv/.stamp-dev
	@MERCER_TIMING=1 $(BIN)/python -m pytest -q -m timing

portable: .venv/.stamp-dev
	@$(BIN)/python -m tests.portable --workers $(WORKERS) --only "$(ONLY)"

# Every failure has a verdict in tests/peers/verdicts.toml, or is an error.
peers: .venv/.stamp-dev
	@$(BIN)/python -m tests.peers.run $(ONLY)

# What was measured is kept in benchmarks/results/trust.json, from which a page of the documentation is made.
trust: .venv/.stamp-dev
	@status=0; $(BIN)/python -m tests.trust.scorecard || status=$$?; $(BIN)/python -m docs.make_trust --keep; exit $$status

# What may fail comes first, what takes a night comes last; the scorecard is in build/scorecard.json.
release: test types timing slow docs peers studio deep probes levels kills portable trust

# Every probe of bad input: the tests take one in 240 of estimators and one in 24 of kernels that are much like others.
probes: .venv/.stamp-dev
	@$(BIN)/python -m tests.trust.probes --processes $(WORKERS) --journal build/probes.jsonl $(if $(ONLY),--only $(ONLY))

# How often tests reject where the hypothesis holds, over 2000 runs each, and power curves (build/power.svg); how often
# bounds hold, over 1000.
levels: .venv/.stamp-dev
	@$(BIN)/python -m benchmarks.real_tests --draw build/power.svg
	@$(BIN)/python -m benchmarks.certificate_levels

# Fits that are killed go on, and workers that are killed change nothing, to the bit; the tests do some of each.
kills: .venv/.stamp-dev
	@$(BIN)/python -m tests.trust.kills 300
	@$(BIN)/python -m tests.trust.dask_kills 60 300

# MINUTES=5 clicks for five minutes. Needs Chromium.
studio: .venv/.stamp-dev
	@$(BIN)/python -m pytest -q tests/unit/studio tests/browser/test_studio.py
	@$(BIN)/python -m tests.trust.studio_soak $(or $(MINUTES),60)

clean:
	@rm -rf .venv build demo docs/generated dist .cache .benchmarks .hypothesis .import_linter_cache .pytest_cache .ruff_cache
	@find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
