# make demo: what the census example reveals.  make test: all tests.  Both make their own environment in .venv.
# make search MINUTES=60 SEED=7: all drawn cases of the tests, then random subjects against independent oracles.  make bench: times beside peers.
PYTHON ?= python3
# One process more than there are cores, 9 at most: tests that wait for a browser, Spark or a database leave theirs idle.
WORKERS ?= $(shell cores=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2); echo $$(((cores < 8 ? cores : 8) + 1)))
MINUTES ?= 10
SEED ?=
SECONDS ?= 3600
BIN := .venv/bin
# What was compiled is kept for the many processes that tests start, also where the surroundings ask for nothing kept.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: app demo test search check bench docs notebooks clean fuzz lock audit

demo: .venv/demo.ready
	$(BIN)/python examples/census.py

app: .venv/app.ready
	$(BIN)/divulge app --demo

test: .venv/test.ready
	$(BIN)/python -m pytest -n $(WORKERS)

search: .venv/test.ready
	DIVULGE_THOROUGH=1 $(BIN)/python -m pytest -n $(WORKERS) -q tests
	PYTHONPATH=src:tests $(BIN)/python -m search --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))
	PYTHONPATH=src:tests $(BIN)/python -m search.publications --draws $(or $(DRAWS),10000)

fuzz: .venv/test.ready
	PYTHONPATH=src:tests $(BIN)/python tests/fuzz/test_fuzz.py $(SECONDS) $(or $(SEED),0)

check: .venv/test.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python

bench: .venv/bench.ready
	-$(BIN)/python benchmarks/all.py
	-$(BIN)/python benchmarks/all.py --processor oldest --minutes 7
	-$(BIN)/python benchmarks/all.py --processor newest --minutes 7

docs: .venv/test.ready
	$(BIN)/mkdocs serve

notebooks: .venv/test.ready
	$(BIN)/python docs/_notebooks.py

# The newest versions that are allowed for the app, on every system, with the hashes of their files.
lock: .venv/locks.ready
	$(BIN)/uv pip compile pyproject.toml --extra app --extra plot --extra fast --universal --python-version 3.11 --upgrade \
		--generate-hashes --no-emit-index-url --no-emit-find-links --quiet --custom-compile-command "make lock" -o requirements/app.lock

# Known vulnerabilities of what the lock file names: exit 1 for one, 2 where the lists cannot be reached.
audit: .venv/locks.ready
	$(BIN)/python .ci/audit.py requirements/app.lock

clean:
	rm -rf .venv site build dist .pytest_cache .ruff_cache .hypothesis

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Divulge needs Python 3.11 or newer: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv .venv

.venv/demo.ready: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[tables]'
	@touch $@

.venv/app.ready: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[app,plot,fast]'
	@touch $@

.venv/test.ready: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[all,dev]'
	@touch $@

.venv/locks.ready: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[locks]'
	@touch $@

.venv/bench.ready: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[all,bench]'
	@touch $@
