# SPDX-License-Identifier: Apache-2.0
"""Draws one quantity of the runs of a method: each run as a dot, their mean as the method's marker, its interval as a line."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

from shared.comparison import Comparison
from shared.method_style import MethodStyle
from shared.report import RESTRICTED, VERDICT_MARKS, Spread

MEAN_SIZE, RUN_SIZE = 3.9, 1.7
MARK_WIDTH = 10  # in points, with the space after it
# A mark beside a value of this share of the end of the dots may reach the words behind them.
NEAR = 0.7
# The axis is logarithmic if the values differ by this ratio.
LOG_AXIS_FROM_RATIO = 3.0


@dataclass(frozen=True)
class Dots:
    """values: of single runs, in their order, each with its mark or "". spread: the report's, of the group."""

    spread: Spread
    values: tuple[float, ...]
    marks: tuple[str, ...]

    @property
    def ends(self) -> tuple[float, float]:
        """Returns the lowest and the highest place that is drawn."""
        return min(self.spread.ends[0], *self.values), max(self.spread.ends[1], *self.values)


def room_for_marks(dots: Dots, axis_end: float) -> str:
    """Returns the longest mark of the runs that end near the place `axis_end`, where words begin that it must not touch."""
    near = [mark for value, mark in zip(dots.values, dots.marks) if value >= NEAR * axis_end]
    return max(near, key=len, default="") if len(dots.values) > 1 else ""


def dots_of(spread: Spread, values: pd.Series, marks: pd.Series) -> Dots | None:
    """Returns the dots of runs that differ only in their seed, with the report's spread; None if no run has a value."""
    known = values.notna()
    if not spread.count or not known.any():
        return None
    return Dots(spread, tuple(map(float, values[known])), tuple(marks[known]))


def verdict_marks(verdicts: pd.Series) -> pd.Series:
    """Returns the mark of each verdict; "" if the network was faithful."""
    return verdicts.map(lambda verdict: VERDICT_MARKS.get(verdict, ""))


def ratio_dots(runs: pd.DataFrame, comparison: Comparison, quantity: str, baseline: str) -> Dots | None:
    """Returns the dots of a ratio of times to the baseline's, marked if they are bounds or either network was not faithful."""
    ratio = comparison.group(runs).ratio(quantity, baseline)
    if ratio.name not in runs.columns:
        return None
    is_bound = runs.get(f"speed_up_over_{baseline}_is_{'upper' if ratio.name.startswith(RESTRICTED) else 'lower'}_bound")
    signs = is_bound.eq(True).map({True: ratio.sign, False: ""})
    return dots_of(ratio.spread, runs[ratio.name], signs + verdict_marks(runs[f"speed_up_over_{baseline}_fidelity"]))


def draw_dots(
    axes: Axes, place: float, dots: Dots, style: MethodStyle, width: float, upright: bool = False, pale: bool = False
) -> None:
    """Draws them at the place on the axis of methods, single runs within `width` of it. `upright`: values go up."""

    def plot(places: Sequence[float], values: Sequence[float], **looks: object) -> None:
        axes.plot(*((places, values) if upright else (values, places)), alpha=0.45 if pale else 1.0, **looks)

    if len(dots.values) > 1:
        if dots.spread.ci95_low is not None:
            plot([place, place], dots.spread.ends, color=style.colour, linewidth=1.2, gid="interval", zorder=3)
        steps = [width * (index / (len(dots.values) - 1) - 0.5) for index in range(len(dots.values))]
        places = [place + step for step in steps]
        plot(places, dots.values, color=style.colour, marker="o", markersize=RUN_SIZE, linestyle="", gid="runs", zorder=3.5)
        for where, value, mark in zip(places, dots.values, dots.marks):
            if mark:
                annotate(axes, where, value, mark, upright)
    plot([place], [dots.spread.mean], **style.marks(), markersize=MEAN_SIZE, linestyle="", gid="mean", zorder=4)


def annotate(axes: Axes, place: float, value: float, mark: str, upright: bool) -> None:
    axes.annotate(
        mark,
        (place, value) if upright else (value, place),
        xytext=(1.5, 0.5),
        textcoords="offset points",
        fontsize="x-small",
        gid="mark",
    )


def scale(axes: Axes, values: Sequence[float], upright: bool = False, also: Sequence[float] = ()) -> None:
    """Scales the axis of values: logarithmic if they differ much, so that equal ratios have equal lengths, or else from
    zero. `also`: further values to include, such as 1 for ratios."""
    low, high = min([*values, *also]), max([*values, *also])
    axis, set_limits = (axes.yaxis, axes.set_ylim) if upright else (axes.xaxis, axes.set_xlim)
    if low > 0.0 and high >= LOG_AXIS_FROM_RATIO * low:
        (axes.set_yscale if upright else axes.set_xscale)("log")
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 1e3 * low else (1.0,)))
        axis.set_minor_formatter(NullFormatter())
        set_limits(low / 1.25, high * 1.25)
    else:
        set_limits(0.0, 1.08 * high)
    axis.set_major_formatter(FormatStrFormatter("%g"))
