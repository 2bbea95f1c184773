"""Figures as SVG, with text as text: the same figure gives the same bytes."""

import io
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure

_NO_METADATA: Final = dict.fromkeys(("Date", "Creator", "Format", "Type"))
_SETTINGS: Any = {"svg.hashsalt": "quietgraph", "svg.fonttype": "none"}


def to_svg(figure: Figure, *, transparent: bool = False) -> str:
    """Return the figure as an SVG document."""
    buffer = io.StringIO()
    with mpl.rc_context(_SETTINGS):
        figure.savefig(buffer, format="svg", transparent=transparent, metadata=_NO_METADATA)
    return buffer.getvalue()
