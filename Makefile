# Every target prepares what it needs: the environment in .venv, then the compiled core.
# Both are made again only as far as something changed.
PYTHON ?= python3
BIN := .venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Python compiles a module when it is first imported, and keeps that.  pip would compile all of them.
export PYTHONDONTWRITEBYTECODE :=
INSTALL := $(BIN)/pip install --quiet --no-compile --constraint constraints.txt

.NOTPARALLEL:
.PHONY: help demo test thorough browser bench check format build wheel clean

help:
	@echo "make demo      set up, run the main job on the paper's instance, write the pictures"
	@echo "make test      set up, run every check that CI runs"
	@echo "make thorough  the tests with many more random examples, others each time, and more runs"
	@echo "make check     format, lint and types only"
	@echo "make format    rewrite the sources in the house format, and the map in docs/map.md"
	@echo "make bench     timings, as ratios within one run (quick: make bench QUICK=1)"
	@echo "make build     compile what changed (with bounds checks: ALLGOOD_DEBUG=1 make build)"
	@echo "make wheel     one wheel in dist/, for every Python from 3.11 on"

# The package is installed without compiling (ALLGOOD_PURE=1); `build` does that, here and once.
# Python may bring an old pip, which takes twice as long.
.venv/python:
	$(PYTHON) -m venv .venv
	$(INSTALL) pip
	$(INSTALL) setuptools
	@touch $@

.venv/demo: .venv/python pyproject.toml constraints.txt
	ALLGOOD_PURE=1 $(INSTALL) --no-build-isolation --editable '.[serve]'
	@touch $@

.venv/test: .venv/python pyproject.toml constraints.txt
	ALLGOOD_PURE=1 $(INSTALL) --no-build-isolation --editable '.[test]'
	@touch $@ .venv/demo

build: .venv/demo
	@$(BIN)/python setup.py --quiet build_ext --inplace
	@$(BIN)/python -m compileall -q src/allgood
	@touch src/allgood/_compiled.txt

# For the demo: only if a source is newer than the last build.
CORE := src/allgood/_compiled.txt
$(CORE): .venv/demo setup.py $(shell find src/allgood -name '*.py' -o -name '*.pxd')
	@$(MAKE) --no-print-directory build

demo: $(CORE)
	$(BIN)/allgood demo
	@echo "Here the command allgood is $(BIN)/allgood."

check: .venv/test
	$(BIN)/ruff format --check --quiet setup.py src tests benchmarks
	$(BIN)/ruff check --quiet setup.py src tests benchmarks
	$(BIN)/mypy --no-error-summary
	$(BIN)/oxlint src/allgood/serve/static

format: .venv/test
	$(BIN)/ruff format setup.py src tests benchmarks
	$(BIN)/ruff check --fix setup.py src tests benchmarks
	$(BIN)/python -m tests.support.maps

# The tests of the page need a browser and are skipped where there is none. Root gets Debian's.
browser:
	@for name in chromium-headless-shell chromium chromium-browser google-chrome; do \
	  command -v $$name >/dev/null && exit; \
	done; \
	test "$$(id -u)" = 0 && command -v apt-get >/dev/null && \
	{ apt-get update && DEBIAN_FRONTEND=noninteractive \
	  apt-get install --yes --no-install-recommends chromium-headless-shell; } >/dev/null 2>&1 || \
	echo "There is no Chromium, and none could be installed: the tests of the page are skipped."

# A file of tests runs in one process, so that what its tests share is made once.
PYTEST := $(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

# A test that takes so many seconds hangs. Its process shows where, and ends; the test has failed.
LIMIT := --override-ini faulthandler_timeout=900 --override-ini faulthandler_exit_on_timeout=true \
	--max-worker-restart 0

test: check build browser
	$(PYTEST) $(LIMIT)

thorough: check build browser
	ALLGOOD_THOROUGH=1 $(PYTEST)

bench: .venv/test build
	$(BIN)/python benchmarks/solver.py $(if $(QUICK),--quick)
	$(BIN)/python benchmarks/strategies.py $(if $(QUICK),--quick)
	$(BIN)/python benchmarks/study.py $(if $(QUICK),--quick)
	$(BIN)/python benchmarks/size.py $(if $(QUICK),--quick)

# What setuptools copied into build/ for an earlier wheel may be gone from the sources.
wheel: .venv/demo
	rm -rf dist build/bdist*
	@mkdir -p build
	find build -path 'build/lib*' -name '*.p*' -delete
	ALLGOOD_PURE=0 $(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	@ls dist/*.whl

clean:
	rm -rf .venv demo-output build dist src/*.egg-info src/allgood/_compiled.txt
	find src -name '*.so' -delete
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
