"""Reports: what became of a list."""

from __future__ import annotations

from typing import Any


class Report(dict[str, Any]):
    """What became of a list: the fields that `vkfuse run --json` prints for it. In a notebook it is a picture."""

    def __init__(self, fields: dict[str, Any], svg: str) -> None:
        super().__init__(fields)
        self.svg = svg
        """The list as a picture, with its styles inside."""

    def __repr__(self) -> str:
        return f"<vkfuse.Report, {self['outcome']}, {len(self['kernels'])} kernels in {self['dispatches']} dispatches>"

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return f'<div style="overflow-x:auto">{self.svg}</div>'
