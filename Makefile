# `make demo` and `make test` work in a fresh clone: Python >= 3.10, a C linker and cargo are all they need.
# PYTHON names the interpreter to make .venv with; everything after that runs from .venv.

PYTHON ?= python3
BIN := .venv/bin
NATIVE_STUB := $(BIN)/python -m mypy.stubtest --mypy-config-file pyproject.toml rust_kernel._native
RECEIPT := out/parity-matrix.json
# A workspace of its own: only cuda-oxide compiles it.
KERNEL := rust_kernel/kernel/Cargo.toml
# Another: it is built with coverage, and needs a C++ compiler.
FUZZ := crates/ptx_machine/fuzz/Cargo.toml
FUZZ_SECONDS ?= 600

.DEFAULT_GOAL := help
.PHONY: help setup setup-test demo check check-python check-rust test test-rust test-python format fuzz wheel clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

setup: ## install everything into .venv (nothing to do when up to date)
	@$(PYTHON) scripts/setup.py

setup-test: ## the same, with what `make test` needs: linters, pytest, ptxas
	@$(PYTHON) scripts/setup.py --extra test

demo: setup ## compare the kernels: quick suite, then the device matrix, with a receipt (a GPU, where there is one, too)
	$(BIN)/diffcheck parity --suite quick --executor auto
	$(BIN)/diffcheck parity --suite matrix --executor auto --receipt $(RECEIPT)

check: check-python check-rust ## every linter

check-python: setup-test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(NATIVE_STUB)

check-rust:
	cargo fmt --all --check
	cargo fmt --manifest-path $(KERNEL) --check
	cargo fmt --manifest-path $(FUZZ) --check
	cargo clippy --locked --workspace --all-targets -- -D warnings

test: check test-rust test-python ## linters, then every Rust and Python test

test-rust:
	cargo test --locked --workspace --quiet

# As many at a time as there are processors; neighbours, which share what they compute, stay in one process.
test-python: setup-test
	$(BIN)/pytest --numprocesses auto --dist worksteal $(PYTEST_ARGS)

format: setup-test ## write every file as the formatters do
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format
	cargo fmt --all
	cargo fmt --manifest-path $(KERNEL)
	cargo fmt --manifest-path $(FUZZ)

fuzz: ## fuzz the PTX machine for FUZZ_SECONDS (600)
	@scripts/fuzz.sh $(FUZZ_SECONDS)

wheel: setup ## build a wheel that knows its commit, into dist/
	DIFFCHECK_STAMP="$$($(BIN)/python -m diffcheck.ab.source)" $(BIN)/python -m pip wheel --quiet --no-deps -w dist .

clean: ## remove what was built and installed
	rm -rf .venv target out rust_kernel/_native*.so .mypy_cache .ruff_cache .pytest_cache .hypothesis
