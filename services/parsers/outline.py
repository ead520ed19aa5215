"""Blocks in reading order, each with the path of headings above it."""

from __future__ import annotations

from services.models import Block


class Outline:
    """Collects blocks and keeps track of the headings they stand under."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._path: list[tuple[int, str]] = []

    @property
    def path(self) -> list[str]:
        """The headings above the next block, outermost first."""
        return [text for _, text in self._path]

    @property
    def first_title(self) -> str:
        """The first heading of level 1 when nothing but notes stands before it, else ""."""
        for block in self.blocks:
            if block.kind == "heading":
                return block.text if block.level == 1 else ""
            if block.kind != "note":
                break
        return ""

    def leave(self) -> None:
        """Stand under no heading from here on (a new slide)."""
        self._path = []

    def heading(self, text: str, level: int, **fields: object) -> None:
        """Add a heading (on one line) of ``level`` 1 or deeper; a blank one is left out."""
        text = " ".join(text.split())
        if not text:
            return
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        self.blocks.append(
            Block.model_validate(
                {"kind": "heading", "text": text, "level": level, "headings": self.path, **fields}
            )
        )
        self._path.append((level, text))

    def add(self, block: Block) -> None:
        """Add a block under the present headings."""
        block.headings = self.path
        self.blocks.append(block)
