# SPDX-License-Identifier: Apache-2.0
"""A paper's claim, the expression over committed records that measures it, and the verdict that follows."""
from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping

from noise import decimals
from prose.expression import parse
from prose.measured import Number
from shared.number_text import rounded
from shared.report import InputError

VALUE = "{}"
MEMBERS = {
    "paper": str,
    "page": str,
    "claim": str,
    "claimed": str,
    "source": str,
    "measured": str,
    "shown": str,
    "decimals": int,
    "confirmed": list,
    "in part": list,
    "not testable": str,
    "because": str,
}
NEEDED = ("paper", "page", "claim", "claimed")
# Members of a claim that is measured.
MEASURED = ("source", "measured", "shown", "decimals", "confirmed")


@dataclass(frozen=True)
class Range:
    """Values from low to high, both included; None: unlimited."""

    low: float | None
    high: float | None

    def has(self, value: float) -> bool:
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def text(self, shown: str) -> str:
        """Returns the range in words; `shown` is the text of one value, with {} for the number."""
        low, high = (None if end is None else shown.replace(VALUE, f"{end:.10g}") for end in (self.low, self.high))
        if low and high:
            return f"{low} to {high}"
        return f"≥ {low}" if low else f"≤ {high}" if high else "any value"


@dataclass(frozen=True)
class Claim:
    """claimed: the paper's words. source, expression: as in a mark of a number (plotting/prose_numbers.py --help).
    shown: the cell's text, with {} for the number. confirmed, in_part: the values that confirm the claim, or a part of
    it. untestable: why it cannot be tested here; the claim then has no expression. because: the reason for a difference.
    """

    paper: str
    page: str
    claim: str
    claimed: str
    source: str = ""
    expression: ast.expr | None = None
    shown: str = VALUE
    decimals: int = 0
    confirmed: Range | None = None
    in_part: Range | None = None
    untestable: str | None = None
    because: str = ""

    def verdict(self, value: float) -> str:
        assert self.confirmed is not None
        if self.confirmed.has(value):
            return "confirmed"
        return "confirmed in part" if self.in_part is not None and self.in_part.has(value) else "not confirmed"

    def verdict_on(self, number: Number) -> str:
        """Returns the verdict, and whether another mean within the interval over seeds might have had another."""
        if number.low is None or number.high is None:
            return self.verdict(number.value)
        ranges = [each for each in (self.confirmed, self.in_part) if each is not None]
        limits = [end for each in ranges for end in (each.low, each.high) if end is not None]
        is_open = any(number.low < limit < number.high for limit in limits)
        return self.verdict(number.value) + (", within what seeds vary by" if is_open else "")

    def limits(self) -> str:
        """Returns the values that confirm the claim and, after "in part", those that confirm a part of it."""
        assert self.confirmed is not None
        in_part = f"; in part: {self.in_part.text(self.shown)}" if self.in_part is not None else ""
        return self.confirmed.text(self.shown) + in_part

    def text_of(self, number: Number) -> str:
        """Returns the number with no digits below the machine's noise."""
        places = self.decimals
        if number.noise > 0.0 and number.value:
            places = min(places, decimals(number.value, number.noise / abs(number.value)))
        text = rounded(abs(number.value), places)
        return self.shown.replace(VALUE, f"-{text}" if number.value < 0.0 and float(text) else text)


def read_claims(file: Path) -> list[Claim]:
    """Raises InputError with the place of the first member that is missing, unknown or wrong."""
    try:
        document = json.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: cannot be read as JSON: {error}") from error
    if not isinstance(document, list):
        raise InputError(f"{file}: must be a list of claims")
    return [claim_of(entry, f"{file}: /{at}") for at, entry in enumerate(document)]


def claim_of(entry: Any, place: str) -> Claim:
    if not isinstance(entry, dict):
        raise InputError(f"{place}: must be an object")
    for name, value in entry.items():
        if name not in MEMBERS:
            raise InputError(f"{place}/{name}: is unknown; known: {', '.join(MEMBERS)}")
        if type(value) is not MEMBERS[name]:
            raise InputError(f"{place}/{name}: must be of type {MEMBERS[name].__name__}")
    untestable = entry.get("not testable")
    for name in (*NEEDED, *(() if untestable else MEASURED)):
        if name not in entry:
            raise InputError(f"{place}: has no \"{name}\"")
    common = {name: entry[name] for name in NEEDED}
    if untestable:
        if measured := sorted(entry.keys() & {*MEASURED, "in part"}):
            raise InputError(f"{place}/{measured[0]}: cannot stand beside \"not testable\"")
        return Claim(**common, untestable=untestable)
    return Claim(
        **common,
        source=entry["source"],
        expression=expression_of(entry["measured"], place),
        shown=shown_of(entry["shown"], place),
        decimals=entry["decimals"],
        confirmed=range_of(entry, "confirmed", place),
        in_part=range_of(entry, "in part", place),
        because=entry.get("because", ""),
    )


def expression_of(text: str, place: str) -> ast.expr:
    try:
        return parse(text)
    except InputError as error:
        raise InputError(f"{place}/measured: {error}") from error


def shown_of(text: str, place: str) -> str:
    if text.count(VALUE) != 1:
        raise InputError(f"{place}/shown: must have {VALUE} once, for the number")
    return text


def range_of(entry: Mapping[str, Any], name: str, place: str) -> Range | None:
    ends = entry.get(name)
    if ends is None:
        return None
    if len(ends) != 2 or not all(end is None or type(end) in (int, float) for end in ends):
        raise InputError(f"{place}/{name}: must be the lowest and the highest value, each a number or null")
    return Range(*ends)
