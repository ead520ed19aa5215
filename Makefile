# The two commands are `make run` and `make test`. Both set up what they need in .venv first.

PYTHON := $(shell command -v python3.11 || command -v python3)
PORT := 8501
VENV := .venv
BIN := $(VENV)/bin
LOCKS := requirements/build.lock requirements/run.lock requirements/test.lock

# Compiled modules are a third of the start-up time: write them even where the shell says not to.
unexport PYTHONDONTWRITEBYTECODE
export UV_HTTP_TIMEOUT := 300
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# uv installs a lock in seconds; where there is none, pip installs the same lock.
define install_lock
if [ -x $(BIN)/uv ]; then \
	$(BIN)/uv pip install --python $(BIN)/python --quiet --require-hashes --compile-bytecode -r $(1); \
else \
	$(BIN)/python -m pip install --quiet --require-hashes -r $(1); \
fi
endef

.PHONY: help install run test fuzz check lock bench sample docs clean
.DEFAULT_GOAL := help

help:
	@echo "make run      start HALO at http://127.0.0.1:$(PORT) (another port: make run PORT=8511)"
	@echo "make test     run every check: style, types, tests"
	@echo "make fuzz     try 2,500 damaged files of every kind; other ones: make fuzz SEED=7"
	@echo "make install  set up .venv without starting anything"
	@echo "make lock     choose versions afresh and write requirements/*.lock"
	@echo "make sample   write the files of the sample notebook again"
	@echo "make docs     write the tables in README.md again"
	@echo "make clean    remove .venv and caches; the data folder stays"

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml requirements/build.lock requirements/run.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || \
		{ echo "HALO needs Python 3.11. Install it, or name it: make install PYTHON=/path/to/python3.11"; exit 1; }
	@echo "Setting up $(VENV). This takes one to two minutes and 2.2 GB."
	@echo "1 of 4  Python environment"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --require-hashes -r requirements/build.lock || \
		echo "uv could not be installed. Going on with pip, which is slower."
	@echo "2 of 4  Packages: the longest part, about a minute"
	@$(call install_lock,requirements/run.lock)
	@echo "3 of 4  HALO itself"
	@if [ -x $(BIN)/uv ]; then \
		$(BIN)/uv pip install --python $(BIN)/python --quiet --no-deps --no-build-isolation --editable .; \
	else \
		$(BIN)/python -m pip install --quiet --no-deps --editable .; \
	fi
	@$(BIN)/python -m compileall -q app.py pages panels services interfaces
	@echo "4 of 4  The language and speech models, prepared once"
	@$(BIN)/python -c 'from services.embeddings import prepare; prepare()'
	@$(BIN)/python -c 'from services.speech.weights import joined; joined()'
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed requirements/test.lock
	@$(call install_lock,requirements/test.lock)
	@touch $@

run: $(VENV)/.installed
	@$(BIN)/python -c 'import socket; socket.create_server(("127.0.0.1", $(PORT))).close()' 2>/dev/null || \
		{ echo "Port $(PORT) is in use, perhaps by a HALO that is already running: see http://127.0.0.1:$(PORT)"; \
		  echo "To use another port: make run PORT=8511"; exit 1; }
	@echo "HALO is starting at http://127.0.0.1:$(PORT) (stop it with Ctrl+C)"
	@exec $(BIN)/python -m panels.start --port $(PORT)

test: $(VENV)/.installed-test
	@tools/chromium
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pytest -n 2 -m "not browser" $(ARGS)
	$(BIN)/pytest -m browser $(ARGS)

SEED := 0

fuzz: $(VENV)/.installed-test
	HALO_FUZZ=2500 HALO_FUZZ_SEED=$(SEED) $(BIN)/pytest tests/services/parsers/test_fuzz.py $(ARGS)

lock: $(VENV)/.installed
	@for name in build run test; do \
		case $$name in run) from="--extra speech pyproject.toml";; *) from="--group $$name";; esac; \
		case $$name in test) fixed="-c requirements/run.lock";; *) fixed="";; esac; \
		UV_CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/uv pip compile --universal --upgrade --quiet \
			--python-version 3.11 --generate-hashes --no-emit-index-url \
			$$from $$fixed -o requirements/$$name.lock > /dev/null || exit 1; \
	done
	@echo "Wrote $(LOCKS)"

bench: $(VENV)/.installed-test
	$(BIN)/python -m benchmarks $(ARGS)

sample: $(VENV)/.installed-test
	$(BIN)/python -m tools.make_sample

docs: $(VENV)/.installed-test
	$(BIN)/python -m tools.readme

clean:
	rm -rf $(VENV) .cache build
	find app.py services interfaces panels pages benchmarks tests tools -name __pycache__ -prune -exec rm -rf {} +
