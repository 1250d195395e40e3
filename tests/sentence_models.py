"""Sentence models for tests: a tiny one with random weights, and any BERT model from its own files.

python tests/sentence_models.py FOLDER_WITH_SAFETENSORS NEW_FOLDER
"""

import hashlib
import json
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from search_mcp.semantic.models import DESCRIPTION, NETWORK, TOKENIZER, Model
from search_mcp.wire import payload

WORDS = (
    "[PAD]",
    "[UNK]",
    *["read", "write", "a", "the", "file", "files", "picture", "draw", "send", "mail", "weather", "city", "time"],
)
SAME = {"an": "a", "image": "picture", "make": "draw", "resize": "draw"}
"""Words that are read as others."""
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
Weights = Mapping[str, Any]


def tiny(folder: Path, **about: Any) -> Model:
    """Write a model of one layer that knows a few words."""
    hidden, inner = 8, 16
    chance = numpy.random.default_rng(1)
    shapes = {
        "embeddings.word_embeddings.weight": (len(WORDS), hidden),
        "embeddings.position_embeddings.weight": (32, hidden),
        "embeddings.token_type_embeddings.weight": (2, hidden),
        "encoder.layer.0.intermediate.dense.weight": (inner, hidden),
        "encoder.layer.0.intermediate.dense.bias": (inner,),
        "encoder.layer.0.output.dense.weight": (hidden, inner),
        "encoder.layer.0.output.dense.bias": (hidden,),
    }
    for part in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
        shapes |= {f"encoder.layer.0.{part}.weight": (hidden, hidden), f"encoder.layer.0.{part}.bias": (hidden,)}
    for part in ("embeddings", "encoder.layer.0.attention.output", "encoder.layer.0.output"):
        shapes |= {f"{part}.LayerNorm.weight": (hidden,), f"{part}.LayerNorm.bias": (hidden,)}
    weights = {name: chance.normal(size=shape).astype(numpy.float32) for name, shape in shapes.items()}
    config = {"num_attention_heads": 2, "hidden_size": hidden, "num_hidden_layers": 1, "layer_norm_eps": 1e-12}
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.Whitespace()
    folder.mkdir(parents=True)
    described = json.loads(tokenizer.to_str())
    described["model"]["vocab"] |= {word: WORDS.index(other) for word, other in SAME.items()}
    (folder / TOKENIZER).write_text(json.dumps(described))
    return _written(folder, config, weights, {"name": "tiny", "most_tokens": 32, **about})


def convert(source: Path, folder: Path) -> Model:
    """Write the model of a folder with `config.json`, `model.safetensors` and `tokenizer.json`."""
    folder.mkdir(parents=True)
    (folder / TOKENIZER).write_bytes((source / TOKENIZER).read_bytes())
    config = json.loads((source / "config.json").read_text())
    return _written(folder, config, _weights(source / "model.safetensors"), {"name": source.name})


def _weights(path: Path) -> Weights:
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    described = json.loads(data[8 : 8 + size])
    return {
        name: numpy.frombuffer(data[8 + size :][slice(*about["data_offsets"])], numpy.float32).reshape(about["shape"])
        for name, about in described.items()
        if name != "__metadata__" and about["dtype"] == "F32"
    }


def _written(folder: Path, config: Mapping[str, Any], weights: Weights, about: Mapping[str, Any]) -> Model:
    onnx.save(_Graph(config, weights).model(), str(folder / NETWORK))
    digests = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in (NETWORK, TOKENIZER)}
    model = Model(**{"digests": digests, **about})
    (folder / DESCRIPTION).write_bytes(payload.encode_bytes(model))
    return model


class _Graph:
    """The operations of a BERT encoder, as in its paper: tokens in, one vector for each token out."""

    def __init__(self, config: Mapping[str, Any], weights: Weights) -> None:
        self._config, self._weights = config, weights
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}

    def model(self) -> Any:
        result = self._layers(self._embedded())
        self._nodes.append(helper.make_node("Identity", [result], ["last_hidden_state"]))
        given = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in INPUTS]
        shape = ["batch", "length", self._config["hidden_size"]]
        result = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, shape)
        graph = helper.make_graph(self._nodes, "bert", given, [result], list(self._constants.values()))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
        model.ir_version = 10
        return model

    def _embedded(self) -> str:
        words = self._node("Gather", self._weight("embeddings.word_embeddings.weight"), INPUTS[0])
        kinds = self._node("Gather", self._weight("embeddings.token_type_embeddings.weight"), INPUTS[2])
        every = self._weight("embeddings.position_embeddings.weight")
        length = self._node("Gather", self._node("Shape", INPUTS[0]), self._number("one", [1]))
        places = self._node("Slice", every, self._number("zero", [0]), length)
        return self._norm(self._node("Add", self._node("Add", words, kinds), places), "embeddings.LayerNorm")

    def _layers(self, values: str) -> str:
        hidden, heads = self._config["hidden_size"], self._config["num_attention_heads"]
        shown = self._node("Unsqueeze", INPUTS[1], self._number("axes", [1, 2]))
        hides = self._node("Sub", self._number("shown", 1.0), self._node("Cast", shown, to=TensorProto.FLOAT))
        mask = self._node("Mul", hides, self._number("hidden", -1e9))
        root = self._number("root", (hidden / heads) ** 0.5)
        for layer in range(self._config["num_hidden_layers"]):
            name = f"encoder.layer.{layer}."
            query, key, value = (
                self._node(
                    "Transpose",
                    self._node(
                        "Reshape",
                        self._linear(values, f"{name}attention.self.{part}"),
                        self._number("split", [0, 0, heads, hidden // heads]),
                    ),
                    perm=order,
                )
                for part, order in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3]))
            )
            scores = self._node("Add", self._node("Div", self._node("MatMul", query, key), root), mask)
            seen = self._node("MatMul", self._node("Softmax", scores, axis=-1), value)
            joined = self._node("Transpose", seen, perm=[0, 2, 1, 3])
            joined = self._node("Reshape", joined, self._number("joined", [0, 0, hidden]))
            attended = self._node("Add", self._linear(joined, f"{name}attention.output.dense"), values)
            values = self._norm(attended, f"{name}attention.output.LayerNorm")
            inner = self._node("Gelu", self._linear(values, f"{name}intermediate.dense"))
            values = self._norm(
                self._node("Add", self._linear(inner, f"{name}output.dense"), values), f"{name}output.LayerNorm"
            )
        return values

    def _node(self, kind: str, *given: str, **about: Any) -> str:
        name = f"{kind}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(given), [name], **about))
        return name

    def _linear(self, values: str, name: str) -> str:
        product = self._node("MatMul", values, self._constant(f"{name}.turned", self._weights[f"{name}.weight"].T))
        return self._node("Add", product, self._weight(f"{name}.bias"))

    def _norm(self, values: str, name: str) -> str:
        given = values, self._weight(f"{name}.weight"), self._weight(f"{name}.bias")
        return self._node("LayerNormalization", *given, axis=-1, epsilon=self._config["layer_norm_eps"])

    def _weight(self, name: str) -> str:
        return self._constant(name, self._weights[name])

    def _number(self, name: str, value: float | list[int]) -> str:
        return self._constant(name, numpy.array(value, numpy.int64 if isinstance(value, list) else numpy.float32))

    def _constant(self, name: str, value: Any) -> str:
        if name not in self._constants:
            self._constants[name] = numpy_helper.from_array(numpy.ascontiguousarray(value), name)
        return name


if __name__ == "__main__":
    print(convert(Path(sys.argv[1]), Path(sys.argv[2])))
