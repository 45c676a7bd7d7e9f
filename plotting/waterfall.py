#!/usr/bin/env python3
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

from comparison import Comparison
from figure import (
    PAGE_WIDTH_IN,
    add_origin,
    name_of,
    new_figure,
    parser_of,
    state_of,
    time_unit,
    write_figure,
)
from load import Results
from report import Group, InputError

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
    figure, (axes,) = new_figure(1, panel_height_in=1.0 + 0.3 * len(shown))
    figure.set_figwidth(PAGE_WIDTH_IN)
    draw_steps(axes, comparison, [by_method[method] for method in shown])
    axes.set_yticks(range(len(shown)), [label_of(method, by_method[method]) for method in shown])
    axes.set_ylim(len(shown) - 0.5, -0.6)
    axes.tick_params(axis="y", length=0)
    add_origin(figure, comparison)
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


def label_of(method: str, runs: pd.DataFrame) -> str:
    return textwrap.fill(name_of(method, runs), LABEL_CHARACTERS)


def draw_steps(axes: Axes, comparison: Comparison, methods: list[pd.DataFrame]) -> None:
    """Draws the times on a logarithmic axis, so that equal factors have equal lengths."""
    styles, unit, target = comparison.styles, time_unit(comparison.runs), comparison.target
    groups = [comparison.group(runs) for runs in methods]
    times = [group.spread("time_to_accuracy_s") for group in groups]
    known = [time.mean for time in times if time.count]
    left, longest = min(known) / 2 / unit.seconds, max(known) / unit.seconds
    first, former, former_s = None, None, 0.0
    for row, (runs, group, time) in enumerate(zip(methods, groups, times)):
        method, time_s = runs.method.iloc[0], time.mean
        if time_s is None:
            best = target.level_text(target.best(runs.best_level)) if runs.best_level.notna().any() else ""
            words = state_of(runs) + (f" (best {best})" if best else "")
            axes.annotate(words, (left, row), xytext=(3, 0), textcoords="offset points", va="center", style="italic")
            continue
        width = time_s / unit.seconds
        colour = styles[method].colour
        axes.barh(row, width - left, left=left, height=0.55, color=colour)
        if former_s > time_s:
            axes.barh(row, (former_s - time_s) / unit.seconds, left=width, height=0.55, color=colour, alpha=0.18)
        low, high = (max(end / unit.seconds, left) for end in time.ends)
        if time.count > 1:
            axes.plot([low, high], [row, row], color="0.2", linewidth=0.8, marker="|", markersize=4)
        axes.annotate(
            words_for(runs, group, unit.text(time_s), former, first),
            (max(width, former_s / unit.seconds, high), row),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
        )
        first, former, former_s = first or method, method, time_s
    axes.set_xscale("log")
    axes.set_xlim(left, longest * (longest / left) ** 0.9)  # room for words
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(f"Time to {target.phrase} ({unit.symbol})")


def words_for(runs: pd.DataFrame, group: Group, time: str, former: str | None, first: str | None) -> str:
    """Returns the time, its speed-ups over the previous step and (after the second step) the first, and how many runs
    missed the target."""
    words = time
    if former is not None and (ratio := group.spread(f"speed_up_over_{former}").mean):
        words += ", " + times_sooner(ratio) + group.mark(former)
    if first != former and (ratio := group.spread(f"speed_up_over_{first}").mean):
        words += f"; {times_sooner(ratio)} than the first{group.mark(first)}"
    missed = state_of(runs)
    return words + (f", {missed}" if missed else "")


def times_sooner(ratio: float) -> str:
    return f"{ratio:.3g}× faster" if ratio >= 1 else f"{1 / ratio:.3g}× slower"


if __name__ == "__main__":
    sys.exit(main())
