# The thin door. It makes the environment (tools/setup.sh), then calls Meson, pytest and the scripts in
# tools/. Everything is done inside the tree but for missing system packages.
#
#   make demo                  photographs to a trained model, in one command
#   make demo PHOTOS=folder    the same with photographs of one's own
#   make test                  everything that CI runs
#   make test PARTS="gcc python"   only parts of it (tools/test_all.py --list)
#   make build                 the package and the command into .venv
#   make bench RUN=J           Stoker and its peers side by side (docs/benchmarks.md)
#   make fuzz format lint docs clean
#
# PYTHON=python3.12 takes another Python (3.10 or later); TORCH=2.9.1 another PyTorch, TORCH=none none.

PYTHON ?= python3
export PYTHON
ifdef TORCH
export TORCH
endif
PARTS ?=
PHOTOS ?=
FUZZ_SECONDS ?= 60
RUN ?= J

VENV := $(CURDIR)/.venv
export PATH := $(VENV)/bin:$(PATH)

.PHONY: help demo test build bench fuzz format lint docs clean environment environment-test \
    photographs
.DEFAULT_GOAL := help

help:
	@sed -n 's/^#   \(make .*\)/\1/p' Makefile

environment:
	@tools/setup.sh system build
	@tools/setup.sh venv

environment-test:
	@tools/setup.sh system build test
	@tools/setup.sh venv

# Every feature is wanted here: one that is missing is an error, not a smaller build.
build: environment
	@CC=gcc tools/configure.sh build -Dwerror=true -Dauto_features=enabled --prefix=$(VENV) \
	    -Dpython.install_env=venv
	@ninja -C build --quiet
	@meson install -C build --no-rebuild --only-changed --quiet --tags runtime,python-runtime

# Photographs of the system's desktop backgrounds, unless somebody brings their own.
photographs:
	@$(if $(PHOTOS),:,tools/setup.sh system photographs)

demo: photographs build
	@python examples/demo.py $(if $(PHOTOS),--photos "$(PHOTOS)")

bench: photographs build
	@python -m bench.peers $(RUN)

test: environment-test
	@python tools/test_all.py $(PARTS)

fuzz: environment-test
	@FUZZ_SECONDS=$(FUZZ_SECONDS) python tools/test_all.py fuzz

format: environment
	@clang-format -i $$(git ls-files '*.c' '*.h')
	@ruff check --fix --quiet .
	@ruff format --quiet .

lint: environment-test
	@CC=clang tools/configure.sh build-clang -Dwerror=true -Dpython=enabled
	@ninja -C build-clang --quiet
	@python tools/lint.py

docs: build
	@python -m pytest -q tests/tree -k docs

clean:
	rm -rf build build-* stage-* .cache
