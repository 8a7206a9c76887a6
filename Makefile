# Every target sets up `.venv` first, so that a fresh clone needs nothing but Python 3.11+, git and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: demo test check bench lint types imports clean

$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Setting up $(VENV) (once) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(STAMP)
	$(BIN)/prd2pr demo --dir demo

test: check
	$(BIN)/pytest -n 2

check: $(STAMP) lint types imports

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

imports: $(STAMP)
	$(BIN)/lint-imports --no-cache

bench: $(STAMP)
	@$(BIN)/python bench/run.py

clean:
	rm -rf $(VENV) demo

.PHONY: kill-battery reference
kill-battery: $(STAMP)
	$(BIN)/python tests/kill/battery.py --kills 50

reference: $(STAMP)
	$(BIN)/python -m prd2pr.entry.reference
