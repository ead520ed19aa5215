"""lancedb imported without what HALO never calls.

Most of ``import lancedb`` builds pydantic models of ``lance_namespace``, a REST catalogue that a
table in a folder or a bucket never calls, and lets ``overrides`` read the bytecode of its callers
(from Python 3.12 on lancedb goes without). While lancedb is imported, placeholders stand in for
both; afterwards whoever wants the real ones can import them.
"""

from __future__ import annotations

import os
import sys
import threading
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

_REPLACED = ("lance_namespace", "lance_namespace_urllib3_client", "overrides")
_lock = threading.Lock()


def import_lancedb() -> Any:
    """The lancedb module."""
    with _lock:
        if "lancedb" not in sys.modules:
            # Lance warns on stderr of every compaction that met a write; it is tried again later.
            os.environ.setdefault("LANCE_LOG", "error")
            placeholders = _Placeholders()
            _put_first(placeholders)
            try:
                import lancedb
            finally:
                sys.meta_path = [finder for finder in sys.meta_path if finder is not placeholders]
                placed = [n for n, m in sys.modules.items() if isinstance(m, _Placeholder)]
                for name in placed:
                    del sys.modules[name]
    import lancedb

    return lancedb


def spare_pandas() -> None:
    """Let pandas seem absent: pyarrow imports it (0.4 s) when it is there, used or not.

    For a process of one command; where Streamlit runs, pandas is needed.
    """
    _put_first(_Absent())


def _put_first(finder: Any) -> None:
    """As a new list: another thread that imports something may be walking along the old one."""
    sys.meta_path = [finder, *sys.meta_path]


class _Absent:
    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("pandas is left out of this process", name=fullname)


class _Placeholders:
    """Finds the modules that are replaced, empty."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        loader: Any = self  # importlib.abc, which has the base class, takes 0.1 s to import
        if fullname.split(".")[0] in _REPLACED:
            return ModuleSpec(fullname, loader, is_package=True)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Placeholder(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


_OVERRIDES = {"override": lambda method: method, "EnforceOverrides": object}


class _Placeholder(ModuleType):
    """``override`` changes nothing; any other name asked for is a class: of errors for the names of
    errors, else of plain records, which is all that lancedb makes of them for a table in a folder.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in _OVERRIDES:
            return _OVERRIDES[name]
        base = Exception if name.endswith("Error") else SimpleNamespace
        made = type(name, (base,), {})
        setattr(self, name, made)
        return made
