# The front door. `make demo` and `make test` do everything on a fresh machine.
# PYTHON=... uses an environment that already has torch >= 2.11.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup build demo test test-long lint bench docs clean

export PYTHON ?=
ARGS ?=

help:  ## Show this list
	@echo "Braid: train many models as one, and models larger than the device"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "  PYTHON=python3 make build   use an environment that has torch >= 2.11"

setup:  ## Install system packages and a local Python environment
	@scripts/setup.sh

build: setup  ## Build; leaves build/braid
	@scripts/build.sh

demo: setup  ## Set up, build, train 16 LeNets as an array and compare
	@scripts/build.sh release braid
	@scripts/demo.sh $(ARGS)

test: build  ## Set up, build and run every test
	@scripts/test.sh

test-long: build  ## The same, with the long forms of the tests
	@scripts/test.sh --long

lint: setup  ## Format, layer order, Python and clang-tidy
	@scripts/lint.sh

bench: build  ## Run the benchmarks; ARGS="name" runs one
	@scripts/bench.sh $(ARGS)

docs: build  ## Write the generated pages of docs/ anew
	@BRAID_WRITE_DOCS=1 build/tests/ops_tests --gtest_filter='OperatorsPage.*'
	@BRAID_WRITE_DOCS=1 build/tests/models_tests --gtest_filter='ModelsPage.*'
	@BRAID_WRITE_DOCS=1 build/tests/train_tests --gtest_filter='JobPage.*'
	@BRAID_WRITE_DOCS=1 build/tests/io_tests --gtest_filter='DataPage.*'

clean:  ## Remove what was built (not the Python environment)
	rm -rf build build-debug build-asan build-fuzz build-lint
