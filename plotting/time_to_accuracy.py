#!/usr/bin/env python3
"""Test accuracy over train time, one curve a method, with a mark where each reaches the target."""
from __future__ import annotations

import sys
from typing import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter, PercentFormatter

from comparison import Comparison, Panel
from figure import (
    PANELS_A_ROW,
    TimeUnit,
    add_origin,
    legend_below,
    method_styles,
    name_of,
    new_figure,
    percent,
    run_figure,
    state_of,
    time_unit,
)

# From here on the shortest curve would fill less than a third of a linear axis.
LOG_AXIS_FROM_RATIO = 3.0
LEGEND_CHARACTERS_A_ROW = 50


def main(arguments: Sequence[str] | None = None) -> int:
    return run_figure(
        "time_to_accuracy",
        "Draw test accuracy over train time, one curve a method, with a star where "
        "each reaches the target.",
        draw,
        arguments,
    )


def draw(comparison: Comparison) -> Figure:
    figure, axes = new_figure(len(comparison.panels), panel_height_in=3.1)
    for panel, panel_axes in zip(comparison.panels, axes):
        draw_panel(panel_axes, panel, comparison, legend_columns=2 if len(axes) == 1 else 1)
    for first_in_row in axes[::PANELS_A_ROW]:
        first_in_row.set_ylabel("Test accuracy")
    add_origin(figure, comparison)
    return figure


def draw_panel(axes: Axes, panel: Panel, comparison: Comparison, legend_columns: int) -> None:
    styles = method_styles(comparison.methods)
    unit = time_unit(comparison.runs)
    logarithmic = wants_logarithm(panel.runs)
    curves = comparison.results.curves
    curves = curves[curves.train_time_s > 0] if logarithmic else curves
    axes.axhline(comparison.target, color="0.35", linewidth=0.7, linestyle=(0, (4, 2)), zorder=1.5)
    for place, (method, runs) in enumerate(panel.runs.groupby("method", sort=False)):
        label = f"{name_of(method, runs)}: {outcome(runs, unit)}"
        draw_method(axes, runs, curves, unit, styles[method], label, place)
    scale_time(axes, logarithmic)
    axes.set_title(panel.title)
    axes.set_xlabel(f"Train time ({unit.symbol})")
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1.0, symbol=" %", decimals=0))
    # At the left, where curves are still below the target.
    axes.annotate(
        f"target {percent(comparison.target)}",
        (0.0, comparison.target),
        xycoords=("axes fraction", "data"),
        xytext=(2, 1.5),
        textcoords="offset points",
        ha="left",
        va="bottom",
        fontsize="small",
        color="0.25",
    )
    legend_below(axes, ncols=legend_columns if fits_two_columns(axes) else 1)


def fits_two_columns(axes: Axes) -> bool:
    """Whether the legend's two columns of text, filled one after the other, fit a column of the page."""
    _, labels = axes.get_legend_handles_labels()
    half = (len(labels) + 1) // 2
    widest = [max(map(len, part), default=0) for part in (labels[:half], labels[half:])]
    return sum(widest) <= LEGEND_CHARACTERS_A_ROW


def draw_method(
    axes: Axes,
    runs: pd.DataFrame,
    curves: pd.DataFrame,
    unit: TimeUnit,
    style: dict[str, str],
    label: str,
    place: int,
) -> None:
    """One line a seed. A run without a single point still gets its line, empty, for the legend's sake."""
    for index, run in enumerate(runs.itertuples()):
        curve = curves[curves.run_id == run.run_id]
        first = index == 0
        axes.plot(
            curve.train_time_s / unit.seconds,
            curve.test_accuracy,
            color=style["color"],
            marker=style["marker"] if first else "",
            markevery=(0.04 * place % 0.2, 0.2),
            linestyle="-" if run.status == "completed" else ":",
            linewidth=None if len(runs) == 1 else 0.7,
            label=label if first else f"_{label}",
            zorder=3,
        )
        if run.reached:
            level = np.interp(run.target_time_s, curve.train_time_s, curve.test_accuracy)
            axes.plot(
                [run.target_time_s / unit.seconds],
                [level],
                marker="*",
                linestyle="",
                markersize=8 if len(runs) == 1 else 6,
                color=style["color"],
                markeredgecolor="white",
                markeredgewidth=0.5,
                label="_target",
                zorder=5,
            )


def outcome(runs: pd.DataFrame, unit: TimeUnit) -> str:
    """What the legend says of a method: its (median) time to the target, or why there is none."""
    state = state_of(runs)
    if not runs.reached.any():
        return state
    time = unit.text(runs.target_time_s.median())
    return f"{time}, {state}" if state else time


def wants_logarithm(runs: pd.DataFrame) -> bool:
    """Whether methods differ so much in speed that equal ratios of time should be equal distances.

    A logarithmic axis has no place for the evaluation at time 0, the accuracy that all methods start from.
    """
    ends = runs.end_time_s[runs.end_time_s > 0]
    return bool(len(ends) and ends.max() >= LOG_AXIS_FROM_RATIO * ends.min())


def scale_time(axes: Axes, logarithmic: bool) -> None:
    if logarithmic:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_xlim(left=0.0)
    axes.xaxis.set_major_formatter(FormatStrFormatter("%g"))


if __name__ == "__main__":
    sys.exit(main())
