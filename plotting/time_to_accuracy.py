#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Test accuracy, or the loss of a loss target, over train time: a curve per method, and a star at the target."""
from __future__ import annotations

import sys
from typing import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter, PercentFormatter

from shared.comparison import Comparison, Panel
from shared.curves import draw_curves
from shared.dots import annotate
from shared.figure import (
    TimeUnit,
    add_origin,
    first_in_rows,
    legend_below,
    make_room_for_legends,
    mean_time,
    name_of,
    new_figure,
    run_figure,
    state_of,
    time_unit,
)
from shared.method_style import MethodStyle
from shared.rate_trace import add_traces
from shared.report import VERDICT_MARKS
from shared.small_print import OF_CURVES
from shared.target import Target

# If the longest curve takes this many times as long as the shortest, a linear axis shows the shortest too small.
LOG_AXIS_FROM_RATIO = 3.0
LEGEND_CHARACTERS_A_ROW = 50
# A run diverged if its loss is more than this many times the highest loss at the start.
DIVERGED_FROM_RATIO = 2.0
# Margin beyond the lowest and highest levels, as a share of their distance: matplotlib's default.
MARGIN = 0.05


def main(arguments: Sequence[str] | None = None) -> int:
    return run_figure(
        "time_to_accuracy",
        "Draw test accuracy, or the loss if the target is a loss, over train time: one curve per method, with a\n"
        "star where it reaches the target.",
        draw,
        arguments,
    )


def draw(comparison: Comparison) -> Figure:
    figure, axes = new_figure(len(comparison.panels), panel_height_in=3.1, share_x=True, look=comparison.look)
    curves = levels_to_draw(comparison, axes[0])
    for panel, panel_axes in zip(comparison.panels, axes):
        draw_panel(panel_axes, panel, comparison, curves, legend_columns=2 if len(axes) == 1 else 1)
    make_room_for_legends(figure, axes)
    scale_time(axes[0], wants_logarithm(comparison.runs))
    add_traces(axes, comparison, time_unit(comparison.runs).seconds)
    for first_in_row in first_in_rows(axes):
        first_in_row.set_ylabel(comparison.target.axis_label)
    add_origin(figure, comparison, OF_CURVES)
    return figure


def draw_panel(
    axes: Axes, panel: Panel, comparison: Comparison, curves: pd.DataFrame, legend_columns: int
) -> None:
    styles = comparison.styles
    unit, target = time_unit(comparison.runs), comparison.target
    logarithmic = wants_logarithm(comparison.runs)
    curves = curves[curves.train_time_s > 0] if logarithmic else curves
    draw_target(axes, target)
    for place, (method, runs) in enumerate(panel.runs.groupby("method", sort=False)):
        label = f"{name_of(method, runs, comparison)}: {outcome(runs, unit, comparison)}"
        draw_method(axes, runs, curves, unit, styles[method], label, place)
    axes.set_title(panel.title)
    axes.set_xlabel(f"Train time ({unit.symbol})")
    axes.yaxis.set_major_formatter(
        FormatStrFormatter("%g") if target.is_loss else PercentFormatter(xmax=1.0, symbol=" %", decimals=0)
    )
    legend_below(axes, ncols=legend_columns if fits_two_columns(axes) else 1)


def draw_target(axes: Axes, target: Target) -> None:
    """Draws the target's line. Its label is at the left, where curves have not reached it yet, and beyond the line."""
    axes.axhline(target.value, color="0.35", linewidth=0.7, linestyle=(0, (4, 2)), zorder=1.5)
    axes.annotate(
        f"target {target.level_text(target.value)}",
        (0.0, target.value),
        xycoords=("axes fraction", "data"),
        xytext=(2, -1.5 if target.is_loss else 1.5),
        textcoords="offset points",
        ha="left",
        va="top" if target.is_loss else "bottom",
        fontsize="small",
        color="0.25",
    )


def levels_to_draw(comparison: Comparison, axes: Axes) -> pd.DataFrame:
    """Returns the curves with column "level". If a loss diverges, cuts it and sets the limits of the axis."""
    curves = comparison.results.curves
    curves = curves.assign(level=comparison.target.measured(curves))
    if comparison.target.is_loss and diverges(curves):
        curves = curves.assign(level=leave_at_the_top(axes, curves, comparison.target))
    return curves


def diverges(curves: pd.DataFrame) -> bool:
    return bool(curves.level.max() > DIVERGED_FROM_RATIO * curves.level[curves.iteration == 0].max())


def leave_at_the_top(axes: Axes, curves: pd.DataFrame, target: Target) -> pd.Series:
    """Sets the axis so that a diverging curve leaves the picture instead of flattening the others.

    Returns the levels to draw, cut far outside the axis: a dotted line to a huge loss would have too many dots.
    """
    lowest = min(curves.level.min(), target.value)
    highest = max(curves.level[curves.iteration == 0].max(), target.value)
    margin = MARGIN * (highest - lowest)
    axes.set_ylim(lowest - margin, highest + margin)
    return curves.level.clip(upper=2.0 * highest)


def fits_two_columns(axes: Axes) -> bool:
    """Returns whether the legend fits a column of the page in two columns of text."""
    _, labels = axes.get_legend_handles_labels()
    half = (len(labels) + 1) // 2
    widest = [max(map(len, part), default=0) for part in (labels[:half], labels[half:])]
    return sum(widest) <= LEGEND_CHARACTERS_A_ROW


def draw_method(
    axes: Axes,
    runs: pd.DataFrame,
    curves: pd.DataFrame,
    unit: TimeUnit,
    style: MethodStyle,
    label: str,
    place: int,
) -> None:
    """Draws the runs' curves, and a star where a run reaches the target."""
    timed = curves.assign(time=curves.train_time_s / unit.seconds)
    draw_curves(axes, runs, timed, "time", style, label, place)
    for run in runs.assign(verdict=runs["fidelity.verdict"]).itertuples():
        if run.reached:
            curve = curves[curves.key == run.key]
            level = np.interp(run.target_time_s, curve.train_time_s, curve.level)
            axes.plot(
                [run.target_time_s / unit.seconds],
                [level],
                marker="*",
                linestyle="",
                markersize=8 if len(runs) == 1 else 5,
                color=style.colour,
                markeredgecolor="white",
                markeredgewidth=0.5,
                label="_target",
                zorder=5,
            )
            if mark := VERDICT_MARKS.get(run.verdict):
                annotate(axes, run.target_time_s / unit.seconds, level, mark, upright=True)


def outcome(runs: pd.DataFrame, unit: TimeUnit, comparison: Comparison) -> str:
    """Returns the legend's text about a method: its mean time to the target, and why some or all runs have none."""
    time = mean_time(runs, unit, comparison) if runs.reached.any() else ""
    return ", ".join(filter(None, [time, state_of(runs)]))


def wants_logarithm(runs: pd.DataFrame) -> bool:
    """Returns whether methods differ so much in speed that the time axis should be logarithmic.

    Such an axis cannot show the evaluation at time 0, which is the same for all methods.
    """
    ends = runs.end_time_s[runs.end_time_s > 0]
    return bool(len(ends) and ends.max() >= LOG_AXIS_FROM_RATIO * ends.min())


def scale_time(axes: Axes, logarithmic: bool) -> None:
    """Scales the axis of time, which panels may share, when all curves are drawn."""
    if logarithmic:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_xlim(left=0.0)
    axes.xaxis.set_major_formatter(FormatStrFormatter("%g"))


if __name__ == "__main__":
    sys.exit(main())
