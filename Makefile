# Every target builds the environment it needs, in .venv, and rebuilds it only when its inputs change.
PYTHON ?= python3
BIN := .venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
INSTALL := $(BIN)/pip install --quiet --constraint constraints.txt --editable

.PHONY: help demo test bench check format clean

help:
	@echo "make demo    set up, run the main job on the paper's instance, write the pictures"
	@echo "make test    set up, run every check that CI runs"
	@echo "make check   format, lint and types only"
	@echo "make format  rewrite the sources in the house format"
	@echo "make bench   timings, as ratios within one run (quick: make bench QUICK=1)"

.venv/python:
	$(PYTHON) -m venv .venv
	@touch $@

.venv/demo: .venv/python pyproject.toml constraints.txt
	$(INSTALL) .
	@touch $@

.venv/test: .venv/python pyproject.toml constraints.txt
	$(INSTALL) '.[test]'
	@touch $@ .venv/demo

demo: .venv/demo
	@echo "(The first run compiles everything, which takes a minute or three; later ones take seconds.)"
	$(BIN)/allgood demo

check: .venv/test
	$(BIN)/ruff format --check --quiet src tests benchmarks
	$(BIN)/ruff check --quiet src tests benchmarks
	$(BIN)/mypy --no-error-summary

format: .venv/test
	$(BIN)/ruff format src tests benchmarks
	$(BIN)/ruff check --fix src tests benchmarks

test: check
	$(BIN)/python -m pytest --numprocesses 2

bench: .venv/test
	$(BIN)/python benchmarks/solver.py $(if $(QUICK),--quick)
	$(BIN)/python benchmarks/strategies.py $(if $(QUICK),--quick)
	$(BIN)/python benchmarks/study.py $(if $(QUICK),--quick)

clean:
	rm -rf .venv demo-output build src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
