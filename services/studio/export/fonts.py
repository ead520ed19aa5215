"""The open fonts that PDF files embed, from packages: Noto Sans for Latin, Greek, Cyrillic,
Noto Sans Arabic, Arimo for Hebrew, Noto Sans CJK.

Their files are variable fonts whose default is the regular weight; the bold one is cut out of it
once and kept in the cache folder.
"""

from __future__ import annotations

import importlib.util
import io
from functools import cache
from pathlib import Path

from fontTools.ttLib import TTFont
from fontTools.varLib import instancer

from services import settings
from services.jsonfile import write_bytes

FALLBACKS = {
    "arabic": ("fontpkg_noto_sans_arabic", "NotoSansArabic[[]*.ttf"),
    "hebrew": ("fontpkg_arimo", "Arimo[[]*.ttf"),
    "cjk": ("cvttf_NotoSansCJK_Regular", "*.otf"),
}


def _file(package: str, pattern: str) -> Path:
    found = importlib.util.find_spec(package)
    assert found and found.origin, f"{package} is a dependency"
    return next(Path(found.origin).parent.rglob(pattern))


def regular() -> Path:
    return _file("fontpkg_noto_sans", "NotoSans[[]*.ttf")


def italic() -> Path:
    return _file("fontpkg_noto_sans", "NotoSans-Italic[[]*.ttf")


def fallback(name: str) -> Path:
    """The font of ``FALLBACKS`` with this name."""
    return _file(*FALLBACKS[name])


@cache
def bold() -> Path:
    """The bold cut; takes a few seconds the first time. Raises StorageError."""
    source = regular()
    target = settings.cache_dir() / "fonts" / f"NotoSans-Bold-{source.stat().st_size}.ttf"
    if not target.exists():
        font = TTFont(source)
        instancer.instantiateVariableFont(font, {"wght": 700, "wdth": 100}, inplace=True)
        stream = io.BytesIO()
        font.save(stream)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(target, stream.getvalue())
    return target
