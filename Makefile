# Every command of the project. `make` alone lists them.
#
# demo and test do the whole set-up themselves (system packages, .venv, build)
# and reuse whatever is there already.
SHELL := /bin/bash
.DEFAULT_GOAL := help
BUILD := build
VENV := .venv
BIN := $(VENV)/bin
# The interpreter that `make wheel` builds for; `make setup` takes it too.
PYTHON ?=
# For `make sanitize`: thread, address or undefined.
SANITIZER ?= thread
# Extra arguments for pytest: make test ARGS='-k softmax'
ARGS ?=
# Processes that run the tests: a number, or auto for one per core.
JOBS ?= auto

.PHONY: help setup configure build demo test test-gpu sanitize wheel wheels fmt lint tidy bench docs stubs clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install system packages, make .venv (with PYTHON=<interpreter>)
	@PYTHON='$(PYTHON)' scripts/setup

# CMake remembers the interpreter it was configured for: another one in .venv
# needs a new configuration (objects come from the compiler cache).
configure: setup
	@python=$$($(BIN)/python -VV); \
	if [ ! -f $(BUILD)/build.ninja ] || [ "$$python" != "$$(cat $(BUILD)/.python 2>/dev/null)" ]; then \
	  rm -f $(BUILD)/CMakeCache.txt && cmake --preset dev -B $(BUILD) && echo "$$python" > $(BUILD)/.python; \
	fi

build: configure ## build the extension, tilewright-opt and the unit tests
	@cmake --build $(BUILD)

demo: configure ## build, then run real kernels: on the GPU, or in the interpreter
	@cmake --build $(BUILD) --target _core
	@$(BIN)/python scripts/demo.py

test: build ## build, then pass the unit, lit, diag and e2e tests
	@TILEWRIGHT_BUILD_DIR=$(abspath $(BUILD)) $(BIN)/python -m pytest -n $(JOBS) $(ARGS) </dev/null

test-gpu: build ## the e2e tests on this machine's GPU; fails where there is none
	@TILEWRIGHT_REQUIRE_GPU=1 TILEWRIGHT_BUILD_DIR=$(abspath $(BUILD)) $(BIN)/python -m pytest tests/e2e -m gpu $(ARGS) </dev/null

sanitize: setup ## the unit tests of cache, launch and tuner under SANITIZER=thread|address|undefined
	@cmake --preset dev -B build-$(SANITIZER) -DCMAKE_CXX_FLAGS="-fsanitize=$(SANITIZER) -g" >/dev/null
	@cmake --build build-$(SANITIZER) --target tilewright-runtime-unit
	@build-$(SANITIZER)/tests/tilewright-runtime-unit $(ARGS)

wheel: ## build a wheel for PYTHON=<interpreter> into dist/
	@$(MAKE) --no-print-directory PYTHON= configure
	@BUILD=$(BUILD) scripts/wheel $(if $(PYTHON),$(PYTHON),$(BIN)/python)

wheels: configure ## build wheels for all interpreters of this machine
	@BUILD=$(BUILD) scripts/wheel

fmt: setup ## rewrite C++ and Python in the house style
	@scripts/format

lint: configure ## check formatting, names, includes, words; changed C++ files with clang-tidy
	@scripts/format --check
	@$(BIN)/python -m pytest -q tests/tools $(ARGS) </dev/null
	@BUILD=$(BUILD) scripts/tidy

tidy: configure ## run clang-tidy on changed C++ files; on all with ARGS=--all (an hour of processor time)
	@BUILD=$(BUILD) scripts/tidy $(ARGS)

bench: build ## measure beside torch and Triton (needs a GPU)
	@$(BIN)/python benchmarks/memory_bound.py $(ARGS)
	@$(BIN)/python benchmarks/in_use.py $(ARGS)
	@$(BIN)/python benchmarks/other_sizes.py $(ARGS)
	@$(BIN)/python benchmarks/products_in_use.py
	@$(BIN)/python benchmarks/matmul.py $(ARGS)
	@$(BIN)/python benchmarks/attention.py $(ARGS)
	@$(BIN)/python benchmarks/host_side.py $(ARGS)

.PHONY: site site-serve
site: configure ## build the documentation site into build-docs/site (needs mkdocs-material)
	@cmake --build $(BUILD) --target _core
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

site-serve: configure ## show the site at localhost:8000, built again when a page changes
	@cmake --build $(BUILD) --target _core
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs serve

docs: setup ## rewrite the generated pages of docs/
	@$(BIN)/python scripts/generate_docs.py

stubs: ## rewrite the type stubs of the language (needs a build)
	@$(BIN)/python scripts/generate_stubs.py

clean: ## remove build folders and wheels; keeps .venv and the compiler cache
	rm -rf $(BUILD) build-* dist .pytest_cache python/tilewright/_core*.so
