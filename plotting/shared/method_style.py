# SPDX-License-Identifier: Apache-2.0
"""The colour, marker and dash of each method: the same in every figure and on the report page, whose table it reads.

harness/reports/page/styles.js does the same for the page; a test compares them.
"""
from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterable, Mapping

TABLE = Path(__file__).resolve().parents[2] / "harness" / "reports" / "page" / "method_styles.json"
HOLLOW_EDGE_WIDTH = 0.8


@dataclass(frozen=True)
class MethodStyle:
    """colour: as "#rrggbb". marker: matplotlib's letter. dash: lengths of lines and gaps in line widths; empty if solid."""

    colour: str
    marker: str
    filled: bool = True
    dash: tuple[float, ...] = ()

    @property
    def linestyle(self) -> Any:
        return (0, self.dash) if self.dash else "-"

    def marks(self) -> dict[str, Any]:
        """Returns matplotlib's arguments for markers, filled or hollow."""
        edge = {} if self.filled else {"markerfacecolor": "white", "markeredgewidth": HOLLOW_EDGE_WIDTH}
        return {"color": self.colour, "marker": self.marker, "markeredgecolor": self.colour, **edge}

    def line(self) -> dict[str, Any]:
        """Returns matplotlib's arguments for a line with markers."""
        return {**self.marks(), "linestyle": self.linestyle}


@functools.cache
def styles_table() -> dict[str, Any]:
    return json.loads(TABLE.read_text(encoding="utf-8"))


def styles_of(methods: Mapping[str, str]) -> dict[str, MethodStyle]:
    """Returns the style of each curve, by its label. `methods` has the name of each curve's method.

    The colour and the marker are the method's, and the dash of the first curve. Several curves of one method are its
    variants: in the order of their labels, they differ in fill, shade and dash.
    """
    bases = looks_of(methods.values())
    styles = {}
    for method, base in bases.items():
        variants = sorted(label for label, own in methods.items() if own == method)
        styles |= {label: variant(*base, place) for place, label in enumerate(variants)}
    return {label: styles[label] for label in methods}


def short_name(name: str) -> str:
    """Returns the name of a method; that of one in a Python file without the folder, such as my_method.py:MyTopK."""
    return name.rpartition("/")[2] if ".py:" in name else name


def looks_of(methods: Iterable[str]) -> dict[str, tuple[str, str, int]]:
    """Returns the name of each method's colour, its marker, and the place of its dash in the list of dashes.

    A method that the table lacks has one of the remaining colours, chosen by a hash of its name, and a marker: the next
    free one if another such method in the picture has both.
    """
    table = styles_table()
    known, others = table["methods"], table["others"]
    colours, markers = others["colours"], others["markers"]
    looks: dict[str, tuple[str, str, int]] = {}
    taken: set[tuple[str, str]] = set()
    for method in sorted(set(methods)):
        if method in known:
            looks[method] = known[method]["colour"], known[method]["marker"], known[method]["dash"]
            continue
        place = hash_of(method)
        colour, first = colours[place % len(colours)], place // len(colours)
        candidates = [(colour, markers[(first + step) % len(markers)]) for step in range(len(markers))]
        look = next((each for each in candidates if each not in taken), candidates[0])
        taken.add(look)
        looks[method] = *look, first % len(table["variants"]["dashes"])
    return looks


def variant(colour: str, marker: str, dash: int, place: int) -> MethodStyle:
    table = styles_table()
    variants = table["variants"]
    filled, dashes, shades = variants["filled"], variants["dashes"], variants["shades"]
    shade = shades[place // len(filled) % len(shades)]
    mixed_colour = mixed(table["colours"][colour]["light"], shade["towards"]["light"], shade["share"])
    return MethodStyle(mixed_colour, marker, filled[place % len(filled)], tuple(dashes[(dash + place) % len(dashes)]))


def mixed(colour: str, other: str, share: float) -> str:
    """Returns the colour with this share of another one."""
    channels = [(int(colour[at : at + 2], 16), int(other[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{int(one + (two - one) * share + 0.5):02x}" for one, two in channels)


def hash_of(name: str) -> int:
    """Returns the FNV-1a hash of the name, in 32 bits."""
    value = 0x811C9DC5
    for byte in name.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value
