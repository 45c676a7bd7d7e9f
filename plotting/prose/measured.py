# SPDX-License-Identifier: Apache-2.0
"""Numbers with the noise of their measurement, and tables of them that arithmetic joins by the axes they vary in."""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Callable, Iterable, Mapping

from shared.report import VERDICT_MARKS, InputError

# A row's values on the axes in which the table varies.
Key = frozenset[tuple[str, str]]
MOST_NAMED = 4


@dataclass(frozen=True)
class Number:
    """noise: standard deviation by which repetitions of the measurement vary; 0 if it is not known. low, high: ends of
    the 95 % confidence interval over seeds; None if there is none. verdicts: those on the networks of the runs, if the
    network affects the number."""

    value: float
    noise: float = 0.0
    low: float | None = None
    high: float | None = None
    verdicts: frozenset[str] = frozenset()

    @property
    def marks(self) -> str:
        """Those of networks that were degraded or not judged."""
        return "".join(mark for verdict, mark in VERDICT_MARKS.items() if verdict in self.verdicts)

    def __add__(self, other: Number) -> Number:
        return self.joined(other, self.value + other.value, math.hypot(self.noise, other.noise))

    def __sub__(self, other: Number) -> Number:
        return self.joined(other, self.value - other.value, math.hypot(self.noise, other.noise))

    def __mul__(self, other: Number) -> Number:
        noise = math.hypot(self.noise * other.value, other.noise * self.value)
        return self.joined(other, self.value * other.value, noise)

    def __truediv__(self, other: Number) -> Number:
        if other.value == 0.0:
            raise InputError("divides by zero")
        quotient = self.value / other.value
        return self.joined(other, quotient, math.hypot(self.noise, other.noise * quotient) / abs(other.value))

    def __neg__(self) -> Number:
        return Number(-self.value, self.noise, verdicts=self.verdicts)

    def __abs__(self) -> Number:
        return Number(abs(self.value), self.noise, verdicts=self.verdicts)

    def joined(self, other: Number, value: float, noise: float) -> Number:
        return Number(value, noise, verdicts=self.verdicts | other.verdicts)


@dataclass(frozen=True)
class Table:
    """Numbers by row. A row without a number, such as a time to a target that was not reached, is None. modes: of the
    runs that the numbers come from."""

    rows: Mapping[Key, Number | None]
    modes: frozenset[str] = frozenset()

    @staticmethod
    def of(value: float) -> Table:
        return Table({frozenset(): Number(value)})

    @property
    def axes(self) -> frozenset[str]:
        return frozenset(axis for key in self.rows for axis, _ in key)

    def numbers(self) -> list[Number]:
        return [self.number(key) for key in self.rows]

    def number(self, key: Key) -> Number:
        """Returns the row's number. Raises InputError if it has none."""
        number = self.rows[key]
        if number is None:
            raise InputError(f"has no value for {in_words(key) or 'these runs'}")
        return number

    def single(self) -> Number:
        """Returns the number of a table of one row. Raises InputError if it has more."""
        if len(self.rows) != 1:
            named = "; ".join(sorted(map(in_words, self.rows))[:MOST_NAMED])
            raise InputError(
                f"has {len(self.rows)} values where one is needed ({named}, ...): select a row by \"axis=value\", or "
                "use min, max, mean, sum or count"
            )
        return self.number(next(iter(self.rows)))

    def each(self, change: Callable[[Number], Number]) -> Table:
        return Table({key: change(self.number(key)) for key in self.rows}, self.modes)


def join(left: Table, right: Table, operation: Callable[[Number, Number], Number]) -> Table:
    """Applies the operation to each pair of rows that agree on the axes of both. One table may vary in fewer axes."""
    if not left.axes <= right.axes and not right.axes <= left.axes:
        raise InputError(
            f"joins values that vary in {listed(left.axes - right.axes)} with others that vary in "
            f"{listed(right.axes - left.axes)}: select a value of one of these axes"
        )
    common = left.axes & right.axes
    coarse, fine = (left, right) if left.axes <= right.axes else (right, left)
    partner = {key: frozenset(pair for pair in key if pair[0] in common) for key in fine.rows}
    if lonely := [key for key in fine.rows if partner[key] not in coarse.rows] + [
        key for key in coarse.rows if key not in partner.values()
    ]:
        raise InputError(f"joins values of which only one side has {in_words(lonely[0])}: select the same for both")
    modes = left.modes | right.modes
    if coarse is left:
        return Table({key: operation(left.number(partner[key]), right.number(key)) for key in fine.rows}, modes)
    return Table({key: operation(left.number(key), right.number(partner[key])) for key in fine.rows}, modes)


def in_words(key: Key) -> str:
    return ", ".join(f"{axis}={value}" for axis, value in sorted(key))


def listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
