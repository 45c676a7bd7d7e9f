#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time to the target of one method after another, and the reduction by each step."""
from __future__ import annotations

import sys
import textwrap
from functools import partial
from typing import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import ScalarFormatter

from shared.comparison import Comparison
from shared.dots import MARK_WIDTH, Dots, dots_of, draw_dots, room_for_marks, verdict_marks
from shared.figure import (
    TimeUnit,
    add_origin,
    mean_time,
    name_of,
    new_figure,
    parser_of,
    state_of,
    time_unit,
    write_figure,
)
from shared.load import Results
from shared.look import PAGE_WIDTH_IN
from shared.number_text import three_digits
from shared.report import InputError, Spread
from shared.small_print import OF_DOTS
from speedup import Speedup, speedup_over

LABEL_CHARACTERS = 30


def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(
        "waterfall",
        "Draw the time to the target of one method after another, and the reduction from each to the next.",
        "results/against-pytorch",
    )
    parser.add_argument(
        "--steps",
        nargs="+",
        metavar="METHOD",
        help="the methods to draw, in this order (default: all)",
    )
    options = parser.parse_args(arguments)
    steps = options.steps
    return write_figure("waterfall", options, partial(draw, steps=steps), over=partial(baselines, steps=steps))


def baselines(results: Results, steps: Sequence[str] | None = None) -> list[str]:
    """Returns the methods that others are compared with: the steps that exist."""
    return [method for method in results.runs.method.unique() if steps is None or method in steps]


def draw(comparison: Comparison, steps: Sequence[str] | None = None) -> Figure:
    if len(comparison.panels) > 1:
        titles = "; ".join(panel.title for panel in comparison.panels)
        raise InputError(f"{comparison.results.directory}: a waterfall has one panel; choose one with --where: {titles}")
    by_method = dict(list(comparison.runs.groupby("method", sort=False)))
    shown = chosen(comparison, by_method, steps)
    figure, (axes,) = new_figure(1, 1.0 + 0.3 * len(shown), look=comparison.look, width_in=PAGE_WIDTH_IN)
    draw_steps(axes, comparison, [by_method[method] for method in shown])
    axes.set_yticks(range(len(shown)), [label_of(method, by_method[method], comparison) for method in shown])
    axes.set_ylim(len(shown) - 0.5, -0.6)
    axes.tick_params(axis="y", length=0)
    add_origin(figure, comparison, OF_DOTS)
    return figure


def chosen(comparison: Comparison, by_method: dict[str, pd.DataFrame], steps: Sequence[str] | None) -> list[str]:
    if steps is None:
        steps = [method for method in comparison.methods if method in by_method]
    for step in steps:
        if step not in by_method:
            raise InputError(f"--steps {step}: no such method; the methods are: {', '.join(by_method)}")
    if not any(by_method[step].reached.any() for step in steps):
        raise InputError(f"{comparison.results.directory}: no run of {', '.join(steps)} reached {comparison.target.phrase}")
    return list(steps)


def label_of(method: str, runs: pd.DataFrame, comparison: Comparison) -> str:
    return textwrap.fill(name_of(method, runs, comparison), LABEL_CHARACTERS)


def draw_steps(axes: Axes, comparison: Comparison, methods: list[pd.DataFrame]) -> None:
    """Draws the times on a logarithmic axis, so that equal factors have equal lengths: each run as a dot, the means with
    their intervals, and the step from each mean to the next as a pale line."""
    unit, target = time_unit(comparison.runs), comparison.target
    drawn = [dots_to_target(runs, comparison, unit) for runs in methods]
    known = [dots.spread.mean for dots in drawn if dots]
    left, longest = min(known) / 2, max(known)
    first, former, former_time = None, None, None
    for row, (runs, dots) in enumerate(zip(methods, drawn)):
        method = runs.method.iloc[0]
        if dots is None:
            best = target.level_text(target.best(runs.best_level)) if runs.best_level.notna().any() else ""
            words = state_of(runs) + (f" (best {best})" if best else "")
            axes.annotate(words, (left, row), xytext=(3, 0), textcoords="offset points", va="center", style="italic")
            continue
        style, time = comparison.styles[method], dots.spread.mean
        if former_time is not None:
            draw_step(axes, row, former_time, time, style.colour)
        draw_dots(axes, row, dots, style, width=0.5)
        end = max(former_time or 0.0, dots.ends[1])
        mark = room_for_marks(dots, end)
        axes.annotate(
            words_for(runs, comparison, mean_time(runs, unit, comparison), former, first),
            (end, row),
            xytext=(6 + MARK_WIDTH * len(mark), 0),
            textcoords="offset points",
            va="center",
        )
        first, former, former_time = first or method, method, time
    axes.set_xscale("log")
    axes.set_xlim(left, longest * (longest / left) ** 0.9)  # room for words
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(f"Time to {target.phrase} ({unit.symbol})")


def dots_to_target(runs: pd.DataFrame, comparison: Comparison, unit: TimeUnit) -> Dots | None:
    """Returns the dots of times to the target; None if no run reached it. If only some did, the others stand where they
    ended, marked ≥."""
    time = comparison.group(runs).to_target("time_to_accuracy_s")
    times_s = runs.restricted_target_time_s if time.sign else runs.target_time_s
    marks = runs.reached.map({True: "", False: "≥"}) + verdict_marks(runs["fidelity.verdict"])
    return dots_of(in_unit(time.spread, unit), times_s / unit.seconds, marks)


def in_unit(spread: Spread, unit: TimeUnit) -> Spread:
    numbers = (spread.mean, spread.ci95_low, spread.ci95_high)
    return Spread(spread.count, *(None if number is None else number / unit.seconds for number in numbers))


def draw_step(axes: Axes, row: int, former: float, time: float, colour: str) -> None:
    """Draws the way from the mean of the row above to this one's."""
    axes.plot([former, former], [row - 1, row], color="0.75", linewidth=0.6, linestyle=(0, (1, 1.5)), zorder=1.5)
    axes.plot([former, time], [row, row], color=colour, alpha=0.3, linewidth=3.0, solid_capstyle="butt", gid="step", zorder=2)


def words_for(runs: pd.DataFrame, comparison: Comparison, time: str, former: str | None, first: str | None) -> str:
    """Returns the time, its speed-ups over the previous step and (after the second step) the first, and how many runs
    missed the target."""
    words = time
    if former is not None and (over_former := speedup_over(former, runs, comparison)):
        words += f", {times_sooner(over_former)}"
    if first != former and (over_first := speedup_over(first, runs, comparison)):
        words += f"; {times_sooner(over_first, ' than the first')}"
    missed = state_of(runs)
    return words + (f", {missed}" if missed else "")


def times_sooner(speedup: Speedup, than: str = "") -> str:
    """Returns a speed-up in words. A lower bound of a speed-up below 1 is an upper bound of a slow-down."""
    if speedup.mean >= 1:
        sign, factor, word = speedup.sign, speedup.mean, "faster"
    else:
        sign, factor, word = {"≥": "≤", "≤": "≥"}.get(speedup.sign, ""), 1 / speedup.mean, "slower"
    missing = f" ({speedup.missing})" if speedup.missing and not sign else ""  # words_for() says how many missed the target
    return f"{sign}{' ' if sign else ''}{three_digits(factor)}× {word}{than}{missing}{speedup.mark}"


if __name__ == "__main__":
    sys.exit(main())
