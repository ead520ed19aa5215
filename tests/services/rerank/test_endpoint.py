"""A reranking server, over the wire."""

from __future__ import annotations

from typing import Any

import pytest

from services.errors import RerankerError
from services.rerank.endpoint import EndpointReranker

from .conftest import Answer, RerankServer, shortest_first


@pytest.mark.parametrize(
    ("given", "path"),
    [("", "/v1/rerank"), ("/v1/", "/v1/rerank"), ("/api/rerank", "/api/rerank")],
)
def test_what_is_asked(server: RerankServer, given: str, path: str) -> None:
    judge = EndpointReranker(server.url + given, "some-model", "a-key")
    scores = judge.scores("How long?", ["long text", "a", "text"])
    assert scores == [1 / 10, 1 / 2, 1 / 5]
    assert server.paths == [path]
    assert server.keys == ["Bearer a-key"]
    assert server.asked == [
        {
            "query": "How long?",
            "documents": ["long text", "a", "text"],
            "top_n": 3,
            "model": "some-model",
        }
    ]
    assert not judge.hosted


def test_without_model_and_key_none_is_sent(server: RerankServer) -> None:
    EndpointReranker(server.url, None, None).scores("q", ["a"])
    assert "model" not in server.asked[0]
    assert server.keys == [None]


def _result(index: Any, score: Any) -> dict[str, Any]:
    return {"index": index, "relevance_score": score}


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ((500, {"error": "no"}), "reranker_refused"),
        ((401, b""), "reranker_refused"),
        ((302, b""), "reranker_refused"),
        ((200, b"<html>"), "reranker_answer"),
        ((200, []), "reranker_answer"),
        ((200, {"results": []}), "reranker_answer"),
        ((200, {"results": [_result(0, 1.0)]}), "reranker_answer"),
        ((200, {"results": [_result(0, 1.0), _result(7, 1.0)]}), "reranker_answer"),
        ((200, {"results": [_result(0, 1.0), _result(1, None)]}), "reranker_answer"),
        ((200, b'{"results": [{"index": 0, "relevance_score": NaN}]}'), "reranker_answer"),
    ],
)
def test_a_bad_answer_is_a_sentence(server: RerankServer, answer: Answer, code: str) -> None:
    server.answer = lambda _: answer
    with pytest.raises(RerankerError) as caught:
        EndpointReranker(server.url, None, "a-key").scores("q", ["a", "b"])
    assert caught.value.code == code
    assert caught.value.step
    assert "a-key" not in str(caught.value)
    assert len(server.asked) == 1, "a redirect is not followed"


def test_nobody_there_is_a_sentence(server: RerankServer) -> None:
    with pytest.raises(RerankerError) as caught:
        EndpointReranker("http://127.0.0.1:9", None, None).scores("q", ["a"])
    assert caught.value.code == "reranker_unreachable"
    server.answer = shortest_first


@pytest.mark.parametrize("url", ["ftp://host/x", "http://", "http://user:secret@host"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(RerankerError) as caught:
        EndpointReranker(url, None, None)
    assert caught.value.code == "bad_url"
    assert "secret" not in str(caught.value)


def test_an_address_outside_is_known_as_such() -> None:
    assert EndpointReranker("https://api.example.com/v1", None, None).hosted
