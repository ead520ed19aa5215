"""Converts the bundled weights, once, into what the local embedder runs: a graph and a tokenizer.

The result is a folder in the cache: ``model.onnx``, ``tokenizer.model`` and ``manifest.json``,
which names the recipe and the size and hash of both files. It is built beside its place and
renamed into it, under a lock between processes: there is a whole folder or none.

Choices, all measured (``python -m benchmarks.embedding``):

- The word table, two thirds of the model, stays at 4 bits and is spelled out after the look-up.
- The matrices go from 4 to 8 bits, one scale an output, and activations are quantised as they
  come. The quantised graph is written directly: the general quantiser takes longer, needs the
  float model on disk and warns about a graph that it cannot improve.
- Query, key and value are one matrix, so their input is quantised once.
- In nine of twelve layers one inner channel is ten times as loud as all others, at the first
  or last token of every text, and would leave too few of the 256 steps for the rest. It is taken
  out and computed in float: the error in the vectors halves, the cost is not measurable.
- The tokenizer becomes a SentencePiece model, with the normalisation rules ``nmt_nfkc`` the
  original was trained with. It loads in half the time and a quarter of the memory of a
  ``tokenizer.json``.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import filelock

from services.embeddings import e5_format
from services.embeddings.e5_format import Weights
from services.errors import from_os_error
from services.settings import cache_dir

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Progress = Callable[[float, str], None]
"""Called with a fraction 0..1 and the stage, one of ``STAGES``."""
STAGES = ("waiting", "checking", "converting", "saving", "done")

RECIPE = 2
"""Raised whenever a change here must rebuild what earlier versions left in the cache."""
FOLDER = "multilingual-e5-small"
MODEL, TOKENIZER, MANIFEST = "model.onnx", "tokenizer.model", "manifest.json"
_CONTRIB = "com.microsoft"
_DOING = "preparing the language model"


def model_dir() -> Path:
    """The folder of the converted model, whether it is there or not."""
    return cache_dir() / FOLDER


def is_converted() -> bool:
    """True when this version's conversion is there, with files of the right size. Fast."""
    return _intact(model_dir(), thorough=False)


def ensure_converted(progress: Progress | None = None, *, thorough: bool = False) -> Path:
    """The folder of the converted model; converts when it is missing, outdated or damaged.

    Safe to call from several processes and threads at once: one converts, the others wait.

    Args:
        progress: told the fraction done and the stage.
        thorough: check the hashes of the files too, about 0.1 s.

    Raises:
        EmbedderError: the weights are missing or damaged.
        DiskFullError, StorageError: the cache folder cannot be written.
    """
    tell = progress or (lambda fraction, stage: None)
    target = model_dir()
    if not _intact(target, thorough=thorough):
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            tell(0.0, "waiting")
            with filelock.FileLock(target.with_name(f".{FOLDER}.lock")):
                if not _intact(target, thorough=True):
                    _convert(target, tell)
        except OSError as error:
            raise from_os_error(error, _DOING) from error
    tell(1.0, "done")
    return target


def _intact(folder: Path, *, thorough: bool) -> bool:
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        if manifest["recipe"] != RECIPE or manifest["weights"] != e5_format.SHA256:
            return False
        return all(
            (folder / name).stat().st_size == manifest["files"][name]["size"]
            and (not thorough or _sha256(folder / name) == manifest["files"][name]["sha256"])
            for name in (MODEL, TOKENIZER)
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _convert(target: Path, tell: Progress) -> None:
    """Build the folder; the caller holds the lock, so leftovers beside it belong to the dead."""
    prefix = f".{FOLDER}-"
    for leftover in target.parent.glob(f"{prefix}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    tell(0.05, "checking")
    source = e5_format.weights_path()
    e5_format.verify(source)
    weights = Weights(source)
    building = Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))
    try:
        _write(building / TOKENIZER, sentencepiece_model(weights))
        tell(0.2, "converting")
        model = onnx_model(weights, lambda done: tell(0.2 + 0.6 * done, "converting"))
        tell(0.8, "saving")
        _write(building / MODEL, model)
        files = {
            name: {"size": (building / name).stat().st_size, "sha256": _sha256(building / name)}
            for name in (MODEL, TOKENIZER)
        }
        manifest = {"recipe": RECIPE, "weights": e5_format.SHA256, "files": files}
        _write(building / MANIFEST, json.dumps(manifest, indent=1).encode())
        building.chmod(0o755)  # mkdtemp's folders are private; a cache may be shared
        with _moved_aside(target):
            building.replace(target)
    finally:
        shutil.rmtree(building, ignore_errors=True)


@contextlib.contextmanager
def _moved_aside(target: Path) -> Iterator[None]:
    """A folder cannot be renamed onto a full one: put the old one away first, then remove it."""
    old = target.with_name(f".{FOLDER}-old")
    if target.exists():
        target.replace(old)
    yield
    shutil.rmtree(old, ignore_errors=True)


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sentencepiece_model(weights: Weights) -> bytes:
    """The tokenizer as a SentencePiece model whose ids are the original ids.

    Special tokens cannot be written in a text: ``<s>`` in a source is three ordinary characters.
    """
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2

    proto: Any = sentencepiece_model_pb2  # its names are made at run time

    special = weights.special
    rules = proto.ModelProto()
    rules.ParseFromString(
        sentencepiece.SentencePieceNormalizer(rule_name="nmt_nfkc").serialized_model_proto()
    )
    model = proto.ModelProto()
    model.normalizer_spec.CopyFrom(rules.normalizer_spec)
    model.trainer_spec.model_type = proto.TrainerSpec.UNIGRAM
    model.trainer_spec.bos_id, model.trainer_spec.eos_id = special.begin, special.end
    model.trainer_spec.pad_id, model.trainer_spec.unk_id = special.pad, special.unknown
    kinds = dict.fromkeys(
        (special.begin, special.end, special.pad, weights.pieces.index("<mask>")),
        proto.ModelProto.SentencePiece.CONTROL,
    )
    kinds[special.unknown] = proto.ModelProto.SentencePiece.UNKNOWN
    for number, (piece, score) in enumerate(zip(weights.pieces, weights.scores, strict=True)):
        model.pieces.add(
            piece=piece,
            score=score,
            type=kinds.get(number, proto.ModelProto.SentencePiece.NORMAL),
        )
    serialized: bytes = model.SerializeToString()
    return serialized


def onnx_model(
    weights: Weights,
    progress: Callable[[float], None] = lambda done: None,
    *,
    quantised: bool = True,
) -> bytes:
    """The model as a serialised ONNX graph; not ``quantised``, what the error is measured against.

    Inputs ``input_ids`` and ``attention_mask``, int64 of shape (texts, tokens); output
    ``embedding``, float32 of shape (texts, 384), rows of length 1.
    """
    graph = _Graph(quantised)
    state = _embed_tokens(graph, weights)
    graph.node("Cast", ["attention_mask"], "mask", to=graph.types.INT32)
    for layer in range(weights.layers):
        state = _encode(graph, weights, f"l{layer}.", state)
        progress((layer + 1) / weights.layers)
    # The mean over the tokens, but for its length, which the normalisation sets to 1 anyway.
    graph.node("Cast", ["attention_mask"], "kept", to=graph.types.FLOAT)
    graph.node("Unsqueeze", ["kept", graph.constant("last", [-1])], "kept_column")
    graph.node("Mul", [state, "kept_column"], "kept_states")
    graph.node("ReduceSum", ["kept_states", graph.constant("one", [1])], "sum", keepdims=0)
    graph.node("LpNormalization", ["sum"], "embedding", axis=-1, p=2)
    return graph.serialize(weights.hidden)


def _embed_tokens(graph: _Graph, weights: Weights) -> str:
    import numpy as np

    hidden = weights.hidden
    nibbles, scales = weights.packed("emb.word", weights.words, hidden)
    values = np.concatenate([nibbles & 15, nibbles >> 4], axis=2).reshape(weights.words, hidden)
    graph.weight("words", values[:, 0::2] | (values[:, 1::2] << 4))
    graph.weight("words.scale", scales)
    graph.node(
        "GatherBlockQuantized",
        ["words", "input_ids", "words.scale"],
        "word16",
        domain=_CONTRIB,
        bits=4,
        block_size=e5_format.BLOCK,
        gather_axis=0,
        quantize_axis=1,
    )
    graph.node("Cast", ["word16"], "word", to=graph.types.FLOAT)
    places = weights.floats("emb.pos", weights.positions, hidden)
    graph.weight("places", places + weights.floats("emb.type", 1, hidden))
    zero, one, two = (graph.constant(f"from{n}", [n]) for n in range(3))
    graph.node("Shape", ["input_ids"], "shape")
    graph.node("Slice", ["shape", one, two], "length")
    graph.node("Slice", ["places", zero, "length", zero], "place")
    graph.node("Add", ["word", "place"], "placed")
    norm = [
        graph.weight(f"emb.ln.{part}", weights.floats(f"emb.ln.{part}", hidden)) for part in "wb"
    ]
    graph.node("LayerNormalization", ["placed", *norm], "start", axis=-1, epsilon=weights.epsilon)
    return "start"


def _encode(graph: _Graph, weights: Weights, layer: str, state: str) -> str:
    """One transformer layer; returns the name of its output."""
    import numpy as np

    hidden, inner = weights.hidden, weights.inner

    def matrix(name: str, rows: int, columns: int) -> NDArray[np.float32]:
        return weights.matrix(f"{layer}{name}.w", rows, columns)

    def bias(name: str, rows: int) -> NDArray[np.float32]:
        return weights.floats(f"{layer}{name}.b", rows)

    def add_and_norm(name: str, source: str, residual: str) -> str:
        norm = [
            graph.weight(f"{layer}{name}.{part}", weights.floats(f"{layer}{name}.{part}", hidden))
            for part in "wb"
        ]
        return graph.node(
            "SkipLayerNormalization",
            [source, residual, *norm],
            f"{layer}{name}",
            domain=_CONTRIB,
            epsilon=weights.epsilon,
        )

    joined = graph.linear(
        f"{layer}qkv",
        state,
        np.concatenate([matrix(part, hidden, hidden) for part in "qkv"]),
        np.concatenate([bias(part, hidden) for part in "qkv"]),
    )
    parts = [f"{layer}{part}" for part in "qkv"]
    graph.node("Split", [joined], *parts, axis=-1, num_outputs=3)
    context = graph.node(
        "MultiHeadAttention",
        [*parts, "", "mask"],
        f"{layer}context",
        domain=_CONTRIB,
        num_heads=weights.heads,
    )
    projected = graph.linear(
        f"{layer}ao", context, matrix("ao", hidden, hidden), bias("ao", hidden)
    )
    attended = add_and_norm("aln", projected, state)

    up, up_bias = matrix("fi", inner, hidden), bias("fi", inner).copy()
    down = matrix("fo", hidden, inner)
    residual = attended
    loud = _loud_channel(down)
    if loud is not None:
        residual = _loud_path(
            graph, f"{layer}loud", attended, up[loud], up_bias[loud], down[:, loud]
        )
        up[loud], up_bias[loud], down[:, loud] = 0, 0, 0
    wide = graph.linear(f"{layer}fi", attended, up, up_bias)
    active = graph.node("Gelu", [wide], f"{layer}active", domain=_CONTRIB)
    narrow = graph.linear(f"{layer}fo", active, down, bias("fo", hidden))
    return add_and_norm("oln", narrow, residual)


def _loud_channel(down: NDArray[np.float32]) -> int | None:
    """The inner channel whose weights stand out, or None. Loud weights go with loud values."""
    import numpy as np

    peaks = np.abs(down).max(axis=0)
    second, first = np.argsort(peaks)[-2:]
    return int(first) if peaks[first] > 2 * peaks[second] else None


def _loud_path(
    graph: _Graph,
    name: str,
    source: str,
    up: NDArray[np.float32],
    up_bias: np.float32,
    down: NDArray[np.float32],
) -> str:
    """``source`` plus what one inner channel adds to it, in float."""
    import numpy as np

    graph.node("MatMul", [source, graph.weight(f"{name}.up", up[:, None])], f"{name}.in")
    bias = graph.weight(f"{name}.bias", np.array([up_bias], np.float32))
    graph.node("Add", [f"{name}.in", bias], f"{name}.wide")
    graph.node("Gelu", [f"{name}.wide"], f"{name}.active", domain=_CONTRIB)
    graph.node(
        "MatMul", [f"{name}.active", graph.weight(f"{name}.down", down[None, :])], f"{name}.out"
    )
    return graph.node("Add", [f"{name}.out", source], f"{name}.residual")


class _Graph:
    """Collects nodes and weights of an ONNX graph; names are the edges."""

    def __init__(self, quantised: bool) -> None:
        import onnx

        self._quantised = quantised
        self.types = onnx.TensorProto
        self._nodes: list[Any] = []
        self._weights: dict[str, Any] = {}

    def node(
        self, kind: str, inputs: list[str], *outputs: str, domain: str = "", **attributes: Any
    ) -> str:
        """Add an operation; returns the name of its first output."""
        import onnx

        self._nodes.append(
            onnx.helper.make_node(kind, inputs, list(outputs), domain=domain, **attributes)
        )
        return outputs[0]

    def weight(self, name: str, values: NDArray[Any]) -> str:
        import numpy as np
        import onnx

        self._weights[name] = onnx.numpy_helper.from_array(np.ascontiguousarray(values), name)
        return name

    def constant(self, name: str, values: list[int]) -> str:
        import numpy as np

        return self.weight(name, np.array(values, np.int64))

    def linear(
        self, name: str, source: str, matrix: NDArray[np.float32], bias: NDArray[np.float32]
    ) -> str:
        """``source`` times the matrix (out, in) plus bias; in int8, one scale an output."""
        import numpy as np

        if not self._quantised:
            self.node("MatMul", [source, self.weight(f"{name}.w", matrix.T)], f"{name}.product")
            self.weight(f"{name}.b", bias)
            return self.node("Add", [f"{name}.product", f"{name}.b"], f"{name}.out")
        scale = np.abs(matrix).max(axis=1) / 127
        scale[scale == 0] = 1
        return self.node(
            "DynamicQuantizeMatMul",
            [
                source,
                self.weight(f"{name}.w", np.rint(matrix.T / scale).astype(np.int8)),
                self.weight(f"{name}.scale", scale),
                self.weight(f"{name}.zero", np.zeros(len(scale), np.int8)),
                self.weight(f"{name}.b", bias),
            ],
            f"{name}.out",
            domain=_CONTRIB,
        )

    def serialize(self, dimension: int) -> bytes:
        from onnx import helper

        shape = ["texts", "tokens"]
        graph = helper.make_graph(
            self._nodes,
            FOLDER,
            [
                helper.make_tensor_value_info(name, self.types.INT64, shape)
                for name in ("input_ids", "attention_mask")
            ],
            [helper.make_tensor_value_info("embedding", self.types.FLOAT, ["texts", dimension])],
            list(self._weights.values()),
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid(_CONTRIB, 1)],
            ir_version=9,
            producer_name="halo",
        )
        serialized: bytes = model.SerializeToString()
        return serialized
