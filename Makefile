# Every target sets up what it needs: python3 (3.11 or newer), make and git are enough.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
ARGS   ?=
# PROD=1 leaves out what only building and testing this need.
LOCK   := $(if $(PROD),requirements-prod.lock,requirements.lock)

.DEFAULT_GOAL := help
.PHONY: help install demo quick test slow check format bench corpus chaos docs document kills mutants newest openarmature adapters coding-agents mail pooler search alerts browser lock dist deployment clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 15

$(STAMP): $(LOCK) pyproject.toml sdk/pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(LOCK)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e sdk -e .
	@touch $@

install: $(STAMP) ## make .venv with everything in it (PROD=1: without the tools of development)

demo: $(STAMP) ## the service, a pretend Slack, mailbox and pager, and an agent (ARGS="--auto", ARGS="--fast")
	@$(BIN)/handraise demo $(ARGS)

quick: $(STAMP) ## the pure third of the tests, in less than half a minute: no database, no socket, no process
	$(BIN)/python -m pytest -n 2 -p tests.quick -m "not io and not slow" tests/core/domain tests/channels tests/corpus $(ARGS)

test: $(STAMP) ## the tests, on SQLite and on a PostgreSQL of their own
	$(BIN)/python -m pytest $(ARGS)

slow: $(STAMP) ## the tests that take seconds each: crowds, generated examples, programs that start others
	$(BIN)/python -m pytest -m slow $(ARGS)

check: $(STAMP) ## lint, format, types, and who may know whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP) ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP) ## the figures, measured here: goals as ratios of one run, and limits
	$(BIN)/python -m tests.bench $(ARGS)

corpus: $(STAMP) ## how the replies of every corpus are read, and how many wrongly
	$(BIN)/python -m tests.corpus $(ARGS)

chaos: $(STAMP) ## a storm over the service, then what must be true (ARGS="--seed 7 --suspensions 500 --minutes 3")
	$(BIN)/python -m tests.chaos $(ARGS)

docs: $(STAMP) ## the pages in docs/ as a site, in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

document: $(STAMP) ## every route as the OpenAPI document says, called by Schemathesis in every role
	$(BIN)/python -m pytest -m document $(ARGS)

kills: $(STAMP) ## what several processes do, and what is left when they are killed
	$(BIN)/python -m pytest -m kills $(ARGS)

mutants: $(STAMP) ## each requirement of docs/reference/conformance.md broken in turn: its test has to fail (ARGS="--only 0026-4")
	$(BIN)/python -m tests.mutants $(ARGS)

newest: $(STAMP) ## the tests of mail, store and SDK on the newest Python that can be had, in a .venv of its own
	$(BIN)/python -m tests.newest $(ARGS)

openarmature: $(STAMP) ## the adapter over the published engine, in a .venv of its own with Python 3.12 or newer
	$(BIN)/python -m tests.openarmature $(ARGS)

adapters: $(STAMP) ## the adapters of agent frameworks with the published ones, MCP, and the recipes of workflow engines (ARGS="--ci": those that .ci/run tries)
	$(BIN)/python -m tests.adapters $(ARGS)

coding-agents: $(STAMP) ## the hooks under the real Claude Code, Codex and Gemini CLI, and Claude Agent SDK, with a scripted model (needs npm)
	$(BIN)/python -m tests.coding_agents $(ARGS)

mail: $(STAMP) ## mail through a real postfix and dovecot (needs both installed, and root)
	$(BIN)/python -m pytest -m mailservers -n 2 $(ARGS)

pooler: $(STAMP) ## PostgreSQL behind pgbouncer, and handed over to another server (needs Debian's pgbouncer)
	$(BIN)/python -m pytest -m pooler -n 2 $(ARGS)

search: $(STAMP) ## search by PostgreSQL's index of trigrams, which the wheel's PostgreSQL lacks (needs Debian's postgresql)
	TEST_PG_BIN=$$(dirname $$(ls -v /usr/lib/postgresql/*/bin/initdb | tail -1)) $(BIN)/python -m pytest -n 1 -k postgres \
		tests/core/store/test_search.py tests/journeys/questions/test_search.py $(ARGS)

alerts: $(STAMP) ## the rules of docs/alerts.yaml by promtool (needs Debian's prometheus)
	$(BIN)/python -m pytest -m promtool -n 0 $(ARGS)

browser: $(STAMP) ## the pages in a real Chromium (needs one installed)
	$(BIN)/python -m pytest -m browser -n 0 $(ARGS)

deployment: $(STAMP) ## deploy/ behind real nginx and Caddy, read by systemd-analyze and hadolint (needs Debian's three, and PyPI)
	$(BIN)/python -m pytest -m deployment -n 2 $(ARGS)

dist: $(STAMP) ## both distributions, as wheels and sdists, in dist/
	rm -rf dist build sdk/build *.egg-info sdk/*.egg-info
	$(BIN)/python -m build --no-isolation --outdir dist sdk
	$(BIN)/python -m build --no-isolation --outdir dist .
	rm -rf *.egg-info sdk/*.egg-info

lock: ## write the requirements locks anew (needs uv)
	uv lock
	uv export --frozen --all-groups --all-extras --no-emit-workspace --no-emit-package handraise --no-header -q -o requirements.lock
	uv export --frozen --no-default-groups --group build --extra otel --extra postgres --no-emit-workspace --no-emit-package handraise --no-header -q -o requirements-prod.lock
	uv pip compile --python-version 3.12 --universal --generate-hashes --no-header -q tests/openarmature/requirements.in -o tests/openarmature/requirements.txt
	for group in first second third engines; do uv pip compile --python-version 3.11 --universal --generate-hashes --no-header -q tests/adapters/requirements/$$group.in -o tests/adapters/requirements/$$group.txt; done
	uv pip compile --python-version 3.11 --universal --generate-hashes --no-header -q tests/coding_agents/agent_sdk.in -o tests/coding_agents/agent_sdk.txt

clean: ## remove .venv and caches
	rm -rf $(VENV) .venv-openarmature .venv-adapters .venv-newest .venv-coding-agents .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
