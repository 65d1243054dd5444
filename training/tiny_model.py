"""Makes a tiny random Llama with a byte-level tokenizer, offline and in a moment: something to fine-tune in smoke runs.

Written without torch: weights by a seeded generator, tokenizer and chat template by hand, so the same seed gives the
same bytes anywhere. `python -m training.tiny_model --out DIR`.
"""

import argparse
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

HIDDEN, INNER, LAYERS, HEADS = 64, 128, 2, 2
CONTEXT = 32768
END, PAD = "<|im_end|>", "<|pad|>"
SPECIAL = ("<|im_start|>", END, PAD, "<|endoftext|>")
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def make_tiny_model(folder: Path, seed: int) -> Path:
    """Write the model into `folder` (made as a whole, kept if it is there) and return it."""
    if (folder / "config.json").is_file():
        return folder
    partial = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    tokenizer = _tokenizer()
    tokenizer.save(str(partial / "tokenizer.json"))
    (partial / "chat_template.jinja").write_text(CHAT_TEMPLATE, encoding="utf-8")
    ends = {
        "bos_token_id": None,
        "eos_token_id": tokenizer.token_to_id(END),
        "pad_token_id": tokenizer.token_to_id(PAD),
    }
    _write_json(partial / "tokenizer_config.json", _tokenizer_settings())
    _write_json(partial / "generation_config.json", ends)
    _write_json(partial / "config.json", _config(tokenizer.get_vocab_size()) | ends)
    save_file(_weights(tokenizer.get_vocab_size(), seed), partial / "model.safetensors", metadata={"format": "pt"})
    partial.rename(folder)
    return folder


def _tokenizer() -> Tokenizer:
    """One token per byte, and the special ones after them."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={byte: index for index, byte in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in SPECIAL])
    return tokenizer


def _weights(vocabulary: int, seed: int) -> dict[str, np.ndarray]:
    """Small normal weights in Llama's names; norms are ones, the output head is tied to the embedding."""
    random = np.random.default_rng(seed)
    shapes = {"model.embed_tokens.weight": (vocabulary, HIDDEN)}
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}"
        shapes |= {f"{prefix}.self_attn.{name}_proj.weight": (HIDDEN, HIDDEN) for name in "qkvo"}
        shapes |= {f"{prefix}.mlp.{name}_proj.weight": (INNER, HIDDEN) for name in ("gate", "up")}
        shapes[f"{prefix}.mlp.down_proj.weight"] = (HIDDEN, INNER)
    weights = {name: random.normal(0.0, 0.05, shape).astype(np.float32) for name, shape in shapes.items()}
    norms = ["model.norm.weight"]
    for layer in range(LAYERS):
        norms += [f"model.layers.{layer}.{name}_layernorm.weight" for name in ("input", "post_attention")]
    return weights | {name: np.ones(HIDDEN, np.float32) for name in norms}


def _config(vocabulary: int) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": "float32",
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "head_dim": HIDDEN // HEADS,
        "hidden_act": "silu",
        "max_position_embeddings": CONTEXT,
        "rms_norm_eps": 1e-5,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
        "tie_word_embeddings": True,
        "attention_bias": False,
        "mlp_bias": False,
        "vocab_size": vocabulary,
        "use_cache": True,
    }


def _tokenizer_settings() -> dict[str, Any]:
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": None,
        "eos_token": END,
        "pad_token": PAD,
        "model_max_length": CONTEXT,
        "clean_up_tokenization_spaces": False,
    }


def _write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def main() -> int:
    """Command line: make the model in a folder."""
    parser = argparse.ArgumentParser(prog="python -m training.tiny_model", description=main.__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder to make")
    parser.add_argument("--seed", type=int, default=0, help="seed of the weights")
    arguments = parser.parse_args()
    print(f"tiny model ready in {make_tiny_model(arguments.out, arguments.seed)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
