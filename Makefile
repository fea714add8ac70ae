# Everything runs in .venv, made on first use. `make demo` and `make test` are all a newcomer needs.
#
#   make demo    TPC-H Q6 and Q1 from SQL text, then one PTX file, on this machine
#   make test    the test suite                  make lint   style, types, import rules
#   make test-wheel       builds the compiled wheel, which has to do what the sources do
#   make test-features    the cpu device's tests for each set of a CPU's features
#   make bench   rewrite the benchmark tables    make fuzz   look for new failing programs, for hours
#   make clean   what builds and tests leave     make venv   only the environment, for development

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
    "$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)
JOBS ?= 2
# With an NVIDIA driver present, its binding is installed too.
CUDA := $(if $(wildcard /dev/nvidiactl),$(strip ,cuda))
BIN := .venv/bin
PACKAGE := pyproject.toml setup.py $(shell find src -name '*.py' 2>/dev/null)

.DELETE_ON_ERROR:
.PHONY: demo test test-features test-wheel bench lint fuzz clean venv

# A developer's editable environment (.venv/.editable) serves the demo too; otherwise the demo installs the
# package as a user would, compiled where a C compiler is present.
ifneq ($(wildcard .venv/.editable),)
demo: .venv/.editable
else
demo: .venv/.installed
endif
	$(BIN)/python examples/demo.py --data build/data

# Each process gets a half of the files, so that what a file's tests share is made once, and then half of what another
# has left. (loadgroup waits for ever when a process dies: pytest-xdist 3.8.)
# Tests start hundreds of processes. Python keeps what it compiles of our sources, else each takes 0.6 s longer.
test test-features test-wheel: export PYTHONDONTWRITEBYTECODE :=
test: .venv/.editable
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not wheel" $(PYTEST_ARGS)

# C compilers take both cores for a minute.
test-wheel: .venv/.editable
	$(BIN)/python -m pytest -m wheel $(PYTEST_ARGS) tests/test_builds.py

# Kernels compiled for lesser CPUs than this one, as far as it can run them, over the tests that compare devices.
FEATURES ?= sse4.2 avx2 avx512 host
test-features: .venv/.editable
	for features in $(FEATURES); do \
	    if DRAWLOOM_CPU_FEATURES=$$features $(BIN)/python -c "from drawloom.cpu.engine import host; host()"; then \
	    $(BIN)/python -m pytest -n $(JOBS) --dist worksteal --cpu-features $$features tests/differential tests/cpu \
	        $(PYTEST_ARGS) || exit 1; else echo "not tested: $$features"; fi; done

lint: .venv/.editable
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Benchmarks measure the compiled build, from a folder of its own that goes before the editable sources.
bench: build/compiled/.stamp
	PYTHONPATH=build/compiled $(BIN)/python benchmarks/run_all.py

# COUNT generated programs from SEED on, then before and after the optimiser and the synthesis of shuffles, then as
# machine code for every target, with the compiled build (going on where build/fuzz_sass/record.json says that it
# stopped), then the fuzzers of the parser and the rest. Machine code alone, at
# about 4 programs a second and core for the five targets from sm_75 on together and 9 for sm_61, takes two hours of one
# core, all of it some five; COUNT=2000 is a short look.
COUNT ?= 20000
SEED ?= 1000000
fuzz: build/compiled/.stamp
	for features in $(FEATURES); do $(BIN)/python -m tools.fuzz --count $(COUNT) --seed $(SEED) --jobs $(JOBS) \
	    --features $$features || exit 1; done
	for which in fuzz_opt "fuzz_opt --indices" fuzz_shuffle; do PYTHONPATH=build/compiled $(BIN)/python \
	    -m tools.$$which --count $(COUNT) --seed $(SEED) --jobs $(JOBS) || exit 1; done
	for targets in 90 "80 86 89" 75 61; do PYTHONPATH=build/compiled $(BIN)/python -m tools.fuzz_sass \
	    --count $(COUNT) --seed $(SEED) --jobs $(JOBS) --resume --target $$targets || exit 1; done
	$(BIN)/python -m tools.fuzz_horse --count $(COUNT) --seed $(SEED) --jobs $(JOBS)
	$(BIN)/python -m tools.fuzz_library --count $(COUNT) --seed $(SEED)
	$(BIN)/python -m tools.fuzz_sql --count $(COUNT) --seed $(SEED) --jobs $(JOBS)
	$(BIN)/python -m tools.fuzz_sql --count $(COUNT) --seed $(SEED) --jobs $(JOBS) --joins
	$(BIN)/python -m tools.fuzz_sql --count $(COUNT) --seed $(SEED) --jobs $(JOBS) --windows
	HYPOTHESIS_PROFILE=fuzz $(BIN)/python -m pytest -n $(JOBS) -k "fuzz or test_ops or test_select" $(PYTEST_ARGS)

venv: .venv/.editable

clean:
	rm -rf build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests tools benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

.venv/pyvenv.cfg:
	@test -n "$(PYTHON)" || { echo "make: Python 3.11 or later is needed; none of python3, python3.11, \
	python3.12, python3.13 on PATH is; set PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv .venv

.venv/.installed: .venv/pyvenv.cfg $(PACKAGE)
	@echo "installing drawloom into .venv (building the compile path takes some minutes)"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check ".[data$(CUDA)]"
	@$(BIN)/python -c "from drawloom.build_info import build_kind; print('installed the', build_kind(), 'build')"
	@touch $@

.venv/.editable: .venv/pyvenv.cfg pyproject.toml setup.py
	DRAWLOOM_BUILD=plain $(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[test$(CUDA)]"
	@rm -f .venv/.installed
	@touch $@

build/compiled/.stamp: .venv/.editable $(PACKAGE)
	rm -rf build/compiled
	DRAWLOOM_BUILD=compiled $(BIN)/python -m pip install --quiet --disable-pip-version-check \
	    --no-deps --no-build-isolation --target build/compiled .
	@touch $@
