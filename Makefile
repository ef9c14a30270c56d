# Paths are relative throughout: the folder's own path may hold spaces.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
PROTO := services/sdcgate_proto/.generated
PROTOS := $(wildcard proto/sdcgate/*/v1/*.proto) proto/buf/validate/validate.proto

.PHONY: run demo test test-long test-spark attack fuzz load soak lint lint-rules lint-deploy proto bench bench-long docs reference clean
run: $(PROTO)
	$(PY) -m sdcgate.cli demo --stay

demo: $(PROTO)
	$(PY) -m sdcgate.cli demo

test: $(PROTO)
	$(PY) -m pytest -n 2 --dist loadfile -m "not long and not spark"

# What takes an hour: hundreds of kills, liars and pairs at one instant, with a table of what came of them (FAULT_TRIALS=20
# makes each series that long); every setting of the bundled policies changed, one after the other. Examples are new each time.
test-long: export FRESH_EXAMPLES ?= 1
test-long: $(PROTO)
	$(PY) -m pytest -n 2 --dist loadfile -m long

# Needs a JDK (17 or newer); installs pyspark, which is large.
test-spark: $(PROTO)
	$(PY) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[spark]'
	$(PY) -m pytest -m spark tests/spark

# Automated intruders at sdcgate and at ACRO (in an environment of its own): a table, and tests/attack/results.json.
attack: $(PROTO)
	$(PY) tests/attack/run.py

# Anything at all against every call, route, file and text: FUZZ_SECONDS for each of some ninety targets, and a million inputs in all.
fuzz: export FUZZ_SECONDS ?= 60
fuzz: $(PROTO)
	$(PY) -m pytest -n 2 --dist loadfile tests/fuzz

# Locust (in an environment of its own) as a table builder, a portal and dashboards at a local installation, then five times what
# it can answer: a table, and build/load.json.
load: export LOAD_SECONDS ?= 60
load: $(PROTO)
	$(PY) tests/load/run.py --seconds $(LOAD_SECONDS)

# The same callers for SOAK_SECONDS at a third of what is sustained: memory, files and threads must not grow; build/soak.csv.
soak: export SOAK_SECONDS ?= 3600
soak: $(PROTO)
	$(PY) tests/load/soak.py --seconds $(SOAK_SECONDS)

lint: $(PROTO)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(VENV)/bin/buf lint
	$(VENV)/bin/lint-imports

# What it is deployed with: container file, compose file, systemd units, chart, rules. Needs Go and Debian; nothing else here does.
lint-deploy: $(STAMP)
	bash deploy/lint/lint.sh
# The rules of Prometheus, their unit tests and what the dashboards ask, by promtool: of Debian's package prometheus, or PROMTOOL=/its/path.
lint-rules: PROMTOOL ?= promtool
lint-rules: $(PROTO)
	$(PROMTOOL) check rules deploy/prometheus/sdcgate.rules.yaml
	cd deploy/prometheus && $(PROMTOOL) test rules sdcgate.rules.test.yaml
	mkdir -p build && $(PY) tests/dashboards.py > build/dashboards.rules.yaml
	$(PROMTOOL) check rules build/dashboards.rules.yaml

proto: $(PROTO)

bench: $(PROTO)
	$(PY) benchmarks/run.py

# Ten thousand queries on each of two datasets, for memory and latency: half an hour.
bench-long: $(PROTO)
	$(PY) benchmarks/run.py --long query_stream

# The site, strictly: a link or an anchor that leads nowhere, or a page that nothing leads to, is an error.
docs: $(STAMP)
	$(PY) -m sphinx --quiet --fail-on-warning --keep-going --fresh-env -d build/doctrees docs build/site

# The pages of docs/reference, from the protos, the settings and the code that they describe.
reference: $(PROTO)
	PYTHONPATH=docs $(PY) -m generators

clean:
	rm -rf $(VENV) services/sdcgate_proto var build

# The folder of the generated code must be there before the editable install, which maps the folders it finds.
$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "sdcgate needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	mkdir -p services/sdcgate_proto && touch services/sdcgate_proto/__init__.py
	$(PY) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,docs]'
	touch $@

$(PROTO): $(STAMP) $(PROTOS) proto/generate.py
	$(PY) proto/generate.py
	touch $@
