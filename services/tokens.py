"""How many tokens a text has for a model whose tokenizer is not here."""

from __future__ import annotations

import re

_TOKENS = re.compile(r"[A-Za-z]{1,3}|[!-@\[-`{-~]|\n|[^\x00-\x7f]")
_WIDE = re.compile(r"[^\x00-\u07ff]+")


def estimated(text: str) -> int:
    """An estimate from above, the same with and without a network.

    The real tokenizer of a server is unknown, and OpenAI's would have to be downloaded. So three
    Latin letters count as a token (four is usual), every digit, sign and accented letter as one,
    and every character of a script further on as two.
    """
    return len(_TOKENS.findall(text)) + sum(map(len, _WIDE.findall(text)))
