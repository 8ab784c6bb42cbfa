# `make demo` and `make test` set everything up on a fresh machine and then do what they say.

PYTHON ?= python3
BIN := .venv/bin

# oneDNN is kept from AMX, which some machines advertise and do not execute (docs/limits.md).
export ONEDNN_MAX_CPU_ISA ?= AVX512_CORE_BF16

.PHONY: setup demo test test-slow test-extras test-gpu bench bench-gpu docs format lint types imports clean

setup: .venv/ready

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	PIP_CONSTRAINT=constraints.txt $(BIN)/pip install --quiet --disable-pip-version-check \
		--editable ".[torch,plots,dev]"
	touch $@

demo: setup
	$(BIN)/python examples/demo.py

test: lint types imports
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m "not slow"

test-slow: setup test-extras
	$(BIN)/python -m pytest -q -n auto -m slow

# Integrations are tested with the real libraries, in an environment of their own.
test-extras: .venv-extras/ready
	.venv-extras/bin/python -m pytest -q tests/hf src/weft/hf tests/training/test_pretrained.py \
		tests/test_docs.py -k "hf or pretrained or hugging"

.venv-extras/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-extras
	PIP_CONSTRAINT=constraints.txt .venv-extras/bin/pip install --quiet \
		--disable-pip-version-check --editable ".[torch,plots,hf,dev]"
	touch $@

# A machine with a GPU has its own PyTorch, and often no network: if there is no .venv, its Python is
# used as it is. The tests marked `gpu` need only PyTorch, NumPy, safetensors and pytest.
test-gpu:
	PYTHONPATH=src $(if $(wildcard $(BIN)/python),$(BIN)/python,$(PYTHON)) -m pytest -q -m gpu \
		$$(grep -lE 'mark\.(needs_)?gpu' -r tests --include='test_*.py')

docs: setup
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/figure4.py
	$(BIN)/python docs/ptg_data.py

bench: setup
	$(BIN)/python bench/run.py

bench-gpu: setup
	$(BIN)/python bench/gpu.py
	$(BIN)/python bench/gpu_models.py train
	$(BIN)/python bench/gpu_models.py errors
	$(BIN)/python bench/gpu_models.py memory
	$(BIN)/python bench/gpu_training.py
	$(BIN)/python bench/gpu_small.py
	$(BIN)/python bench/gpu_traces.py

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: setup
	$(BIN)/mypy

imports: setup
	$(BIN)/lint-imports

clean:
	rm -rf .venv .venv-extras .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
