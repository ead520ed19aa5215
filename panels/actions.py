"""Widget callbacks that call a service: an error is a sentence, never a traceback."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec

import streamlit as st

from panels.text import error, label, t
from services.errors import HaloError, NotFoundError, from_os_error

P = ParamSpec("P")


def action(callback: Callable[P, None]) -> Callable[P, None]:
    """Wrap a callback: a thing that is gone (another tab deleted it) or a refusal is a toast."""

    @functools.wraps(callback)
    def careful(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            callback(*args, **kwargs)
        except NotFoundError as problem:
            gone = problem.code.startswith(("no_such_source", "not_found"))
            st.toast(t("gone") if gone else label(error(problem)), icon=":material/info:")
        except HaloError as problem:
            st.toast(label(error(problem)), icon=":material/error:", duration="long")
        except OSError as problem:  # what a service did not foresee is a sentence too
            sentence = error(from_os_error(problem, "what you asked for"))
            st.toast(label(sentence), icon=":material/error:", duration="long")

    return careful
