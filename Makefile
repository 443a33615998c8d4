# Two commands do everything on a fresh machine with Python 3.11+, git and make:
#   make demo    set up, then run the main job
#   make test    set up, then run every check
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
SHELL := /bin/bash
unexport PYTHONDONTWRITEBYTECODE # tests start hundreds of processes; each would compile our modules again

.PHONY: help demo test lint ratchet unit browser test-slow test-sumo test-oldest bench faults reliability docs setup lock audit clean

help:
	@echo "make demo       set up and run the main job"
	@echo "make test       set up and run every check (format, lint, types, imports, sizes, tests)"
	@echo "make test-slow  the longer checks"
	@echo "make test-sumo  the checks that need SUMO (installs libsumo, 370 MB)"
	@echo "make test-oldest  the quick tests with the oldest versions that pyproject.toml allows"
	@echo "make lock       update the locked versions, their digests and the list of licences"
	@echo "make audit      check the locks, and look up known vulnerabilities of the locked packages"
	@echo "make faults     inject faults, report which ones the tests miss (an hour)"
	@echo "make bench      speed, compared with other libraries (installs them)"
	@echo "make reliability  the figures of docs/reliability.md (an hour or two; installs atheris)"
	@echo "make docs       the documentation site, in site/"
	@echo "make clean      remove all files made by these targets"

setup: $(READY)

$(READY): pyproject.toml requirements/dev.lock
	@echo "== installing the development environment into .venv: 1.6 GB, once, some minutes"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: expected Python 3.11 or newer, got $$($(PYTHON) --version 2>&1); try: make PYTHON=python3.12"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@cat pyproject.toml requirements/dev.lock | cmp -s - .venv/installed || $(BIN)/python requirements/install.py
	@cat pyproject.toml requirements/dev.lock > .venv/installed
	@touch $(READY)

# the demo needs a third of the development environment
demo:
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -c 'import decpomdp' 2>/dev/null || \
	  { echo "== installing decpomdp and its 8 dependencies into .venv: 600 MB, once"; $(BIN)/python requirements/install.py --demo; }
	@$(BIN)/python examples/demo.py

# lint and ratchet run beside the tests and are shown after them; a failure of either fails the whole
test: $(READY) browser
	@$(MAKE) --no-print-directory lint ratchet > .venv/checks 2>&1 & checks=$$!; trap 'kill $$checks 2>/dev/null' EXIT; \
	$(MAKE) --no-print-directory unit; tests=$$?; took=$$SECONDS; wait $$checks; checked=$$?; cat .venv/checks; \
	echo "== tests: exit code $$tests, $$took s; other checks: exit code $$checked"; exit $$((tests || checked))

ratchet: $(READY)
	@echo "== ratchet"
	@$(BIN)/python tests/ratchet.py

lint: $(READY)
	@echo "== format"
	@$(BIN)/python -m ruff format --check .
	@echo "== lint"
	@$(BIN)/python -m ruff check .
	@echo "== types"
	@$(BIN)/python -m mypy
	@echo "== import directions"
	@$(BIN)/lint-imports

# tests of the page need a browser: without one they are skipped
browser:
	@command -v chromium >/dev/null || { echo "== installing chromium"; \
	  root=$$([ "$$(id -u)" = 0 ] || echo "sudo -n"); \
	  { $$root apt-get update -qq && $$root apt-get install -y -qq chromium; } >/dev/null 2>&1 || \
	  echo "no chromium: browser tests will be skipped"; }

unit: $(READY) browser
	@echo "== tests"
	@$(BIN)/python -m pytest -n 2 -m "not slow"

test-sumo: $(READY)
	@echo "== SUMO"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[sumo]"
	@$(BIN)/python -m pytest tests/sumo

test-slow: $(READY) test-sumo
	@echo "== slow tests"
	@$(BIN)/python -m pytest -m slow --ignore tests/sumo
	@echo "== kernels with bounds checking"
	@NUMBA_BOUNDSCHECK=1 $(BIN)/python -m pytest -n 2 -m "not slow" tests/kernels tests/rollouts tests/evaluation

# the oldest versions that pyproject.toml allows, with the oldest Python; core: what needs neither browser nor site
.venv-oldest/ready: requirements/oldest.lock
	@echo "== setting up .venv-oldest"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || \
	  { echo "error: expected Python 3.11, got $$($(PYTHON) --version 2>&1); try: make PYTHON=python3.11"; exit 2; }
	@test -x .venv-oldest/bin/python || $(PYTHON) -m venv .venv-oldest
	@.venv-oldest/bin/python requirements/install.py requirements/oldest.lock
	@touch $@

test-oldest: .venv-oldest/ready
	@echo "== tests with the oldest versions"
	@.venv-oldest/bin/python -m pytest -n 2 -m "not slow" -W default -p no:cacheprovider $(CORE)

CORE := tests/core tests/kernels tests/io tests/rollouts tests/filtering tests/learners tests/evaluation tests/planners \
  tests/interaction tests/environments tests/cli

.venv-tools/ready: requirements/tools.lock
	@echo "== setting up .venv-tools"
	@test -x .venv-tools/bin/python || $(PYTHON) -m venv .venv-tools
	@.venv-tools/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement $<
	@touch $@

COMPILE := .venv-tools/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
  --no-annotate --custom-compile-command "make lock"

lock: .venv-tools/ready $(READY)
	@$(COMPILE) --output-file requirements/dev.lock --extra dev pyproject.toml requirements/build.in
	@$(COMPILE) --output-file requirements/oldest.lock --resolution lowest-direct --extra dev \
	  pyproject.toml requirements/build.in
	@$(COMPILE) --output-file requirements/tools.lock requirements/tools.in
	@$(BIN)/python docs/reference/make_licences.py

audit: .venv-tools/ready $(READY)
	@$(BIN)/python -m pytest -n 0 requirements/test_locks.py
	@.venv-tools/bin/python requirements/audit.py

.venv/bench: $(READY)
	@echo "== installing the libraries to compare with"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[bench]"
	@touch .venv/bench

bench: .venv/bench
	@echo "== simulation"
	@$(BIN)/python benchmarks/rollouts.py
	@echo "== one expectation step"
	@$(BIN)/python benchmarks/estep.py
	@echo "== growth and memory"
	@$(BIN)/python benchmarks/growth.py

faults: $(READY)
	@$(BIN)/python benchmarks/faults.py

reliability: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[fuzz]"
	@$(BIN)/python benchmarks/reliability.py --kills 88 --out reliability.json
	@$(BIN)/python benchmarks/fuzz.py --out fuzz.json
	@$(BIN)/python benchmarks/dask_engine.py

docs: $(READY)
	@$(BIN)/python docs/reference/make_commands.py
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "open site/index.html"

clean:
	rm -rf site .venv .venv-oldest .venv-tools .mypy_cache .ruff_cache .pytest_cache .hypothesis .numba_cache .import_linter_cache
