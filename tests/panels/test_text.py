"""The catalogues hold the same sentences in both languages, and are all that the panels ask for."""

from __future__ import annotations

import ast
import json
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st

from panels import text
from services import errors
from services.errors import NotFoundError
from services.models import Finding

PROJECT = Path(__file__).resolve().parents[2]
CLASSES = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, errors.HaloError)
}
CALL = re.compile(r"""\b(?:t|has)\(\s*"([^"{}]+)\"""")


def placeholders(entry: str | dict[str, str]) -> set[str]:
    forms = entry.values() if isinstance(entry, dict) else [entry]
    return {
        name
        for form in forms
        for _, name, _, _ in string.Formatter().parse(form)
        if name is not None
    }


@pytest.fixture(params=text.LANGUAGES)
def language(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    chosen: str = request.param
    monkeypatch.setattr(text, "language", lambda: chosen)
    return chosen


@pytest.fixture
def german(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "language", lambda: "de")


@pytest.fixture
def english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "language", lambda: "en")


def test_both_languages_have_the_same_keys_forms_and_placeholders() -> None:
    english, german = text.catalogue("en"), text.catalogue("de")
    assert english.keys() == german.keys()
    for key, entry in english.items():
        assert isinstance(entry, dict) is isinstance(german[key], dict), key
        assert placeholders(entry) == placeholders(german[key]), key
        if isinstance(entry, dict):
            assert entry.keys() == {"one", "other"}, key
            assert "n" in placeholders(entry), key


def test_no_key_stands_in_two_files() -> None:
    for language in text.LANGUAGES:
        seen: dict[str, str] = {}
        for path in sorted(text.TEXTS.glob(f"{language}*.json")):
            for key in json.loads(path.read_text(encoding="utf-8")):
                assert key not in seen, f"{key} is in {seen.get(key)} and {path.name}"
                seen[key] = path.name


def test_every_sentence_asked_for_is_there() -> None:
    asked = {
        key
        for folder in ("panels", "pages")
        for path in (PROJECT / folder).glob("*.py")
        for key in CALL.findall(path.read_text(encoding="utf-8"))
    }
    assert asked <= text.catalogue("en").keys() | {"chat.claims"}


def raised() -> Iterator[tuple[str, str, set[str] | None]]:
    """("error" or "finding", code, names of its params) of everything that services say; the names
    are None where the place does not show them."""
    nodes = [
        node
        for path in (PROJECT / "services").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    ]
    handed_on = {  # functions that are told the code, and at which place
        node.name: [argument.arg for argument in node.args.args].index("code")
        for node in nodes
        if isinstance(node, ast.FunctionDef) and "code=code" in ast.unparse(node)
        and "code" in [argument.arg for argument in node.args.args]
    }  # fmt: skip
    defaults = [line for node in nodes if isinstance(node, ast.ClassDef) for line in node.body]
    for node in nodes:
        if isinstance(node, ast.Assign) and node not in defaults:  # said, code = "...", "..."
            yield from (("error", code, None) for code in assigned(node))
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func).rpartition(".")[2]
        given = {keyword.arg or "**": keyword.value for keyword in node.keywords}
        if name in ("note", "Finding", "Notice"):
            told = given.get("code") or (node.args[0] if name == "note" else None)
            params = set(given) if name == "note" else keys_of(given.get("params"))
            yield from (("finding", code, params) for code in constants(told))
        elif name in handed_on:
            yield from (("error", code, None) for code in constants(node.args[handed_on[name]]))
        elif name in CLASSES and node.args:
            codes = constants(given["code"]) if "code" in given else [CLASSES[name].code]
            yield from (("error", code, None if "**" in given else set(given)) for code in codes)


def constants(told: ast.expr | None) -> list[str]:
    """The texts that an expression may be."""
    if isinstance(told, ast.IfExp):
        return constants(told.body) + constants(told.orelse)
    return [told.value] if isinstance(told, ast.Constant) and isinstance(told.value, str) else []


def assigned(node: ast.Assign) -> list[str]:
    """The texts that are assigned to ``code``."""
    pairs = [(node.targets[0], node.value)]
    if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
        pairs = list(zip(node.targets[0].elts, node.value.elts, strict=True))
    return [text for target, value in pairs if ast.unparse(target) == "code"
            for text in constants(value) if text]  # fmt: skip


def keys_of(params: ast.expr | None) -> set[str] | None:
    """The keys of a mapping, where it is written out."""
    if isinstance(params, ast.Dict):
        return {code for key in params.keys for code in constants(key)}
    return set() if params is None else None


def test_every_error_and_finding_of_the_services_has_its_sentence() -> None:
    """A code without one, or with a placeholder that is not filled, is shown in English to all."""
    found = list(raised())
    assert len(found) > 120, "this test still finds what services say"
    for group, code, params in found:
        if code == "unsupported_kind":
            continue  # only its own sentence names what was found
        assert f"{group}.{code}" in text.catalogue("en"), f"{group}.{code} has no sentence"
        wanted = placeholders(text.catalogue("en")[f"{group}.{code}"])
        assert params is None or wanted <= params, f"{group}.{code} is raised without {wanted}"


def test_language_follows_the_setting_then_the_browser() -> None:
    assert text.choose("de", "en-US") == "de"
    assert text.choose("auto", "de-AT") == "de"
    assert text.choose(None, "fr-FR") == "en"
    assert text.choose("xx", None) == "en"


def test_numbers(english: None) -> None:
    assert text.number(1240) == "1,240"
    assert text.number(9.8) == "9.8"
    assert text.percent(0.629) == "62\u00a0%"
    assert text.size(312_400) == "312\u00a0KB"
    assert text.size(8_400_000) == "8.4\u00a0MB"
    assert text.size(1) == "1\u00a0KB"


def test_german_numbers(german: None) -> None:
    assert text.number(1240) == "1.240"
    assert text.size(8_400_000) == "8,4\u00a0MB"


def test_plural_forms(english: None) -> None:
    assert text.t("extent.pages", n=1) == "1 page"
    assert text.t("extent.pages", n=1140) == "1,140 pages"


def test_dates(monkeypatch: pytest.MonkeyPatch, language: str) -> None:
    class Context:
        timezone_offset = -60

    monkeypatch.setattr(st, "context", Context)
    wanted = {"en": "13\u00a0Nov 2026", "de": "13.\u00a0Nov. 2026"}
    assert text.date("2026-11-12T23:30:00+00:00") == wanted[language]


def test_an_error_without_a_sentence_keeps_its_own(language: str) -> None:
    stored = {"code": "never_heard_of", "message": "It broke.", "params": {}}
    assert text.error(stored) == "It broke."
    assert text.short(stored) == "It broke."
    assert text.finding(Finding(code="never_heard_of", message="Odd.")) == "Odd."


def test_an_error_with_other_params_keeps_its_own(german: None) -> None:
    assert text.error(NotFoundError("No folder.", code="no_such_folder")) == "No folder."
    known = NotFoundError("No folder.", code="no_such_folder", path="/x")
    assert text.error(known).startswith("Den Ordner „/x“ gibt es nicht.")


@pytest.mark.parametrize("name", ["a_b*c", "[x](http://y)", "$5", ":red[x]", "# h", "1. x", "<b>"])
def test_labels_are_escaped(name: str) -> None:
    escaped = text.label(name)
    assert re.sub(r"\\(.)", r"\1", escaped) == name
    assert not re.search(r"(?<!\\)[*_\[\]$:#<>]", escaped)


def test_labels_never_become_icons_or_pictures() -> None:
    assert ":material/" not in text.label(":material/home:")
    assert "![" not in text.spoken("![x](http://example.com/x.png)")
