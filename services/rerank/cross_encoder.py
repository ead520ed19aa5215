"""A cross-encoder from a folder: ``model.onnx`` (or the one .onnx file there) and
``tokenizer.json``, as sentence-transformers and optimum write them."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from services.embeddings.local import batches
from services.errors import RerankerError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MAX_TOKENS = 512
_BATCH_TOKENS = 2048


class CrossEncoder:
    """See ``Reranker``. Loads nothing until the first question."""

    hosted = False

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder).expanduser()
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None

    def scores(self, question: str, texts: list[str]) -> list[float]:
        with self._lock:
            self._loaded = self._loaded or self._load()
        tokenizer, session = self._loaded
        pairs = tokenizer.encode_batch([(question, text) for text in texts])
        scores = [0.0] * len(texts)
        for batch in batches([len(pair.ids) for pair in pairs], _BATCH_TOKENS):
            values = self._run(session, [pairs[number] for number in batch])
            for number, value in zip(batch, values.tolist(), strict=True):
                scores[number] = value
        return scores

    def _load(self) -> tuple[Any, Any]:
        try:
            import onnxruntime
            from tokenizers import Tokenizer

            tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
            tokenizer.no_padding()
            tokenizer.enable_truncation(_MAX_TOKENS, strategy="longest_first")
            session = onnxruntime.InferenceSession(
                str(self._model_file()), providers=["CPUExecutionProvider"]
            )
        except RerankerError:
            raise
        except Exception as error:  # noqa: BLE001 - tokenizers and onnxruntime raise their own kinds
            raise self._unusable(_said(error)) from None
        return tokenizer, session

    def _model_file(self) -> Path:
        usual = [self._folder / "model.onnx", self._folder / "onnx" / "model.onnx"]
        there = [path for path in usual if path.is_file()] or sorted(self._folder.glob("*.onnx"))
        if not there:
            raise self._unusable("there is no .onnx file in it")
        return there[0]

    def _run(self, session: Any, pairs: list[Any]) -> NDArray[np.float64]:
        """One score a pair: the model's one number, or the second of two less the first."""
        import numpy as np

        shape = (len(pairs), max(len(pair.ids) for pair in pairs))
        inputs = {name: np.zeros(shape, np.int64) for name in _INPUTS}
        for row, pair in enumerate(pairs):
            for name, values in zip(
                _INPUTS, (pair.ids, pair.attention_mask, pair.type_ids), strict=True
            ):
                inputs[name][row, : len(values)] = values
        wanted = {one.name for one in session.get_inputs()}
        try:
            (logits, *_) = session.run(
                None, {key: value for key, value in inputs.items() if key in wanted}
            )
            values = np.asarray(logits, np.float64).reshape(len(pairs), -1)
        except Exception as error:  # noqa: BLE001 - onnxruntime raises kinds of its own
            raise self._unusable(_said(error)) from None
        scores: NDArray[np.float64] = values[:, -1] - (values[:, 0] if values.shape[1] == 2 else 0)
        if not np.isfinite(scores).all():
            raise self._unusable("it gives numbers that make no sense")
        return scores

    def _unusable(self, reason: str) -> RerankerError:
        return RerankerError(
            f"The reranker in {self._folder} cannot be used: {reason}.",
            code="reranker_unusable",
            step="HALO_RERANKER takes a folder with model.onnx and tokenizer.json, or an address.",
            folder=str(self._folder),
            reason=reason,
        )


_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def _said(error: Exception) -> str:
    """The first line of what a library said, or at least what kind of error it was."""
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
