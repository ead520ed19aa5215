"""Charts and diagrams of Word, Excel and PowerPoint files as rows of text."""

from __future__ import annotations

from lxml import etree

from services.parsers import formats
from services.parsers.attributes import whole
from services.parsers.ooxml import A, C, Package

_DATA = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"


def chart_rows(root: etree._Element) -> tuple[str, list[list[str]]]:
    """A chart's title, and its series as a table: category | series one | series two ...

    Args:
        root: the root of a chart part (``c:chartSpace``).
    """
    title = root.find(f"{C}chart/{C}title")
    name = _rich(title) if title is not None else ""
    series = list(root.iter(f"{C}ser"))
    columns = [_points(one, ("val", "yVal")) for one in series]
    labels: dict[int, str] = {}
    for one in series:
        labels = _points(one, ("cat", "xVal")) | labels
    if not any(columns):
        return name, []
    heads = [_series_name(one) or f"Series {at}" for at, one in enumerate(series, 1)]
    rows = [[_axis_title(root), *heads]]
    for at in sorted({point for column in columns for point in column}):
        rows.append([labels.get(at, str(at + 1)), *(column.get(at, "") for column in columns)])
    return name, rows


def diagram_lines(package: Package, part: str, frame: etree._Element) -> list[str]:
    """The texts of a SmartArt diagram, one a node; ``frame`` is its graphic frame in ``part``."""
    for relation_id in (
        value for link in frame.iter(f"{_DATA}relIds") for value in link.attrib.values()
    ):
        relation = package.relations(part).get(str(relation_id))
        if relation and relation.type == "diagramData":
            root = package.optional(relation.target)
            if root is not None:
                return [text for point in root.iter(f"{_DATA}pt") if (text := _rich(point))]
    return []


def _rich(element: etree._Element) -> str:
    paragraphs = ("".join(t.text or "" for t in p.iter(f"{A}t")) for p in element.iter(f"{A}p"))
    text = " ".join(filter(None, (p.strip() for p in paragraphs)))
    return text or " ".join(v.text or "" for v in element.iter(f"{C}v")).strip()


def _series_name(series: etree._Element) -> str:
    element = series.find(f"{C}tx")
    return _rich(element) if element is not None else ""


def _axis_title(root: etree._Element) -> str:
    for axis in root.iter(f"{C}catAx", f"{C}dateAx"):
        title = axis.find(f"{C}title")
        if title is not None:
            return _rich(title)
    return ""


def _points(series: etree._Element, names: tuple[str, ...]) -> dict[int, str]:
    found: dict[int, str] = {}
    for name in names:
        element = series.find(f"{C}{name}")
        if element is None:
            continue
        levels = element.findall(f".//{C}lvl")
        code = element.findtext(f".//{C}numCache/{C}formatCode") or ""
        for level in reversed(levels) if levels else [element]:  # outermost label first
            for point in level.iter(f"{C}pt"):
                at = whole(point.get("idx"))
                value = _shown(point.findtext(f"{C}v") or "", point.get("formatCode") or code)
                found[at] = f"{found[at]} {value}" if levels and at in found else value
    return found


def _shown(value: str, code: str) -> str:
    """A stored value as its format says, numbers without the noise of binary fractions."""
    try:
        if code and not formats.is_plain(code):
            return formats.shown(float(value), code)
        return f"{float(value):.12g}" if "." in value and len(value) > 12 else value.strip()
    except ValueError:
        return value.strip()
