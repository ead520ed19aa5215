"""Rerankers that are real but know one thing only: how often the question's words are there."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

Answer = tuple[int, Any]
"""Status and body: JSON, or bytes as they are."""


@dataclass
class RerankServer:
    """A reranking server on loopback. ``answer`` decides; the rest is what it was sent."""

    url: str
    answer: Callable[[dict[str, Any]], Answer]
    asked: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)


def shortest_first(request: dict[str, Any]) -> Answer:
    """The shorter a text, the better; told best first, as servers do."""
    results = [
        {"index": n, "relevance_score": 1 / (1 + len(text))}
        for n, text in enumerate(request["documents"])
    ]
    results.sort(key=lambda item: -item["relevance_score"])
    return 200, {"results": results[: request["top_n"]]}


@pytest.fixture
def server() -> Iterator[RerankServer]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            running.asked.append(request)
            running.paths.append(self.path)
            running.keys.append(self.headers["Authorization"])
            status, body = running.answer(request)
            sent = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(sent)))
            if 300 <= status < 400:
                self.send_header("Location", f"{running.url}/elsewhere")
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *args: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    running = RerankServer(f"http://127.0.0.1:{http.server_port}", shortest_first)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield running
    http.shutdown()
    thread.join()
    http.server_close()


WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "nitrate", "well", "pump", "rain"]


def cross_encoder(folder: Path, *, outputs: int = 1, types: bool = True) -> Path:
    """A folder with a cross-encoder whose score is the weight of the passage's words: "pump" is
    worth 5, "nitrate" 1, everything else nothing. With two ``outputs`` they are the classes
    "no" and "yes"; with ``types`` the model tells question and passage apart."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(models.WordLevel({w: n for n, w in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    worth = np.zeros((len(WORDS), outputs), np.float32)
    worth[WORDS.index("pump"), -1], worth[WORDS.index("nitrate"), -1] = 5, 1
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if types else [])]
    counted = "token_type_ids" if types else "attention_mask"
    nodes = [
        helper.make_node("Gather", ["worth", "input_ids"], ["each"]),
        helper.make_node("Cast", [counted], ["counts"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["counts", "last"], ["column"]),
        helper.make_node("Mul", ["each", "column"], ["of_passage"]),
        helper.make_node("ReduceSum", ["of_passage", "tokens"], ["logits"], keepdims=0),
    ]
    graph = helper.make_graph(
        nodes,
        "cross-encoder",
        [helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "length"]) for n in names],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", outputs])],
        [
            numpy_helper.from_array(worth, "worth"),
            numpy_helper.from_array(np.array([2], np.int64), "last"),
            numpy_helper.from_array(np.array([1], np.int64), "tokens"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, str(folder / "model.onnx"))
    return folder
