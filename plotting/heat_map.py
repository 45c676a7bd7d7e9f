#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Speed-up in time to the target over two swept axes, such as pruning ratio and cap, with a panel per method."""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass
from functools import partial
from typing import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from shared.comparison import MOST_PANELS, Comparison, Panel, check_comparable, quantity_key, swept_axes
from shared.figure import (
    TimeUnit,
    add_origin,
    first_in_rows,
    legend_label,
    marks_of,
    mean_time,
    new_figure,
    parser_of,
    state_of,
    time_unit,
    write_figure,
)
from shared.report import InputError
from shared.small_print import OF_MEANS
from speedup import BASELINES, baseline_runs, speedup_over

ROWS, COLUMNS = "pruning.ratio", "bottleneck.rate"
# Distinguishable with any colour vision: blue is faster than the baseline, red slower, white equal.
COLOURS = "RdBu"
# Above this share of the scale's end, the background is dark and words are white.
DARK_FROM = 0.55
BOUND = {"facecolor": "none", "edgecolor": "white", "hatch": "////", "linewidth": 0.0, "alpha": 0.3}
NO_TIME = {"facecolor": "0.93", "edgecolor": "0.78", "hatch": "////", "linewidth": 0.0}


@dataclass(frozen=True)
class Cell:
    """ratio: the baseline's time over the method's, mean over seeds; NaN if there is none, and `words` say why. at_most: it is
    an upper bound, because some runs did not reach the target."""

    ratio: float
    words: str
    at_most: bool = False


def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(
        "heat_map",
        "Draw each method's speed-up over a baseline in time to the target, over two swept axes.",
        "results/bandwidth-by-prune-ratio",
    )
    add_choices(parser)
    options = parser.parse_args(arguments)
    return write_figure(
        "heat_map",
        options,
        partial(draw, over=options.over, rows=options.rows, columns=options.columns),
        partial(panel_a_value, axis=options.columns),
    )


def add_choices(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--over", choices=BASELINES, default="dense", help="the baseline (default: dense)")
    for place, axis in (("rows", ROWS), ("columns", COLUMNS)):
        parser.add_argument(
            f"--{place}", default=axis, metavar="AXIS", help=f"swept axis of the {place} (default: {axis})"
        )


def panel_a_value(runs: pd.DataFrame, axis: str) -> tuple[Panel, ...]:
    """Groups runs by the value of one axis; times are compared only within a group."""
    values = axis_values(runs, axis)
    panels = tuple(
        Panel(value, runs[[axes.get(axis) == value for axes in runs.other_axes]]) for value in values
    )
    for panel in panels:
        check_comparable(panel)
    return panels


def axis_values(runs: pd.DataFrame, axis: str) -> list[str]:
    values = sorted({axes[axis] for axes in runs.other_axes if axis in axes}, key=quantity_key)
    if not values:
        swept = sorted({each for axes in runs.other_axes for each in axes})
        raise InputError(
            f"no run has the swept axis {axis}; choose axes with --rows and --columns, from: {', '.join(swept) or 'none'}"
        )
    return values


def draw(comparison: Comparison, over: str = "dense", rows: str = ROWS, columns: str = COLUMNS) -> Figure:
    check_axes(comparison, rows, columns)
    baselines = {panel.title: baseline_runs(panel.runs, over, comparison.runs) for panel in comparison.panels}
    if all(runs.empty for runs in baselines.values()):
        raise InputError(
            f"{comparison.results.directory}: no speed-up can be drawn, because no run has a baseline: a completed {over} "
            "run of its seed that differs only in method and pruning"
        )
    row_values = axis_values(comparison.runs, rows)
    grids = {
        method: [
            [cell_of(at(runs, {rows: row, columns: column}), comparison, over) for column in baselines]
            for row in row_values
        ]
        for method, runs in shown_methods(comparison, rows).items()
    }
    figure, axes = new_figure(len(grids), panel_height_in=1.15 + 0.27 * len(row_values), look=comparison.look)
    limit = largest_logarithm(grids)
    for place, (method, grid) in enumerate(grids.items()):
        mesh = draw_grid(axes[place], grid, limit)
        axes[place].set_title(legend_label(comparison.shown(method)))
        label_axes(
            axes[place], row_values, baselines, rows if axes[place] in first_in_rows(axes) else "", columns, over, comparison
        )
    add_scale(figure, axes, mesh, limit, f"Speed-up over {over}\nin time to {comparison.target.phrase}")
    add_origin(figure, comparison, f"geometric {OF_MEANS}")
    return figure


def check_axes(comparison: Comparison, rows: str, columns: str) -> None:
    others = [axis for axis in swept_axes(comparison.results) if axis not in (rows, columns)]
    several = [axis for axis in others if len(axis_values(comparison.runs, axis)) > 1]
    if several:
        raise InputError(
            f"{comparison.results.directory}: also sweeps {', '.join(several)}; choose a value of each, for example with "
            f"--where '{several[0]}={axis_values(comparison.runs, several[0])[0]}'"
        )


def shown_methods(comparison: Comparison, rows: str) -> dict[str, pd.DataFrame]:
    """Returns the methods with more than one row. The others, usually the baselines, are not drawn."""
    by_method = {
        method: runs
        for method, runs in comparison.runs.groupby("method", sort=False)
        if len(axis_values(runs, rows)) > 1
    }
    if not by_method:
        raise InputError(f"{comparison.results.directory}: no method was run with several values of {rows}")
    if len(by_method) > MOST_PANELS:
        raise InputError(
            f"{len(by_method)} methods are too many for one figure (at most {MOST_PANELS} panels)"
        )
    return {method: by_method[method] for method in comparison.methods if method in by_method}


def at(runs: pd.DataFrame, place: dict[str, str]) -> pd.DataFrame:
    return runs[[all(axes.get(axis) == value for axis, value in place.items()) for axes in runs.other_axes]]


def cell_of(runs: pd.DataFrame, comparison: Comparison, over: str) -> Cell:
    if runs.empty:
        return Cell(math.nan, "not run")
    speedup = speedup_over(over, runs, comparison)
    if speedup is not None:
        words = speedup.text(), state_of(runs).replace(" in ", "\nin ")
        return Cell(speedup.mean, "\n".join(filter(None, words)), speedup.sign == "≤")
    if runs.reached.any():
        return Cell(math.nan, f"in {mean_time(runs, time_unit(comparison.runs), comparison)}{marks_of(runs)}")
    return Cell(math.nan, state_of(runs) + marks_of(runs))


def largest_logarithm(grids: dict[str, list[list[Cell]]]) -> float:
    """Returns the end of the scale in both directions from 1, as a binary logarithm: at least a factor of two. An upper bound
    does not extend it, so that the darkest cell is one whose runs all reached the target."""
    ratios = [
        cell.ratio for grid in grids.values() for row in grid for cell in row if cell.ratio > 0 and not cell.at_most
    ]
    return max([1.0, *(abs(math.log2(ratio)) for ratio in ratios)])


def draw_grid(axes: Axes, grid: list[list[Cell]], limit: float) -> QuadMesh:
    logarithms = np.array(
        [[math.log2(cell.ratio) if cell.ratio > 0 else math.nan for cell in row] for row in grid]
    )
    mesh = axes.pcolormesh(
        np.ma.masked_invalid(logarithms),
        cmap=COLOURS,
        norm=Normalize(-limit, limit),
        edgecolors="white",
        linewidth=0.8,
    )
    for row, cells in enumerate(grid):
        for column, cell in enumerate(cells):
            has_time = not math.isnan(cell.ratio)
            if not has_time:
                axes.add_patch(Rectangle((column, row), 1, 1, **NO_TIME))
            elif cell.at_most:
                axes.add_patch(Rectangle((column, row), 1, 1, **BOUND))
            axes.text(
                column + 0.5,
                row + 0.5,
                cell.words,
                ha="center",
                va="center",
                fontsize="small" if has_time and "\n" not in cell.words else "x-small",
                style="normal" if has_time else "italic",
                color="white" if abs(logarithms[row, column]) > DARK_FROM * limit else "0.1",
            )
    return mesh


def label_axes(
    axes: Axes,
    row_values: list[str],
    baselines: dict[str, pd.DataFrame],
    rows: str,
    columns: str,
    over: str,
    comparison: Comparison,
) -> None:
    """Labels the axes. Below each column stands also the baseline's time, to which its ratios refer."""
    unit = time_unit(pd.concat(baselines.values()))
    axes.set_xticks(
        [place + 0.5 for place in range(len(baselines))],
        [f"{value}\n{time_words(runs, unit, comparison)}" for value, runs in baselines.items()],
    )
    axes.set_yticks([place + 0.5 for place in range(len(row_values))], row_values)
    axes.set_ylim(len(row_values), 0)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.set_xlabel(f"{columns}, time of {over}")
    axes.set_ylabel(rows)


def time_words(baseline: pd.DataFrame, unit: TimeUnit, comparison: Comparison) -> str:
    if baseline.group.nunique() != 1:
        return "several" if len(baseline) else "no run"
    words = mean_time(baseline, unit, comparison) if baseline.reached.any() else state_of(baseline)
    return words + marks_of(baseline)


def add_scale(figure: Figure, axes: list[Axes], mesh: QuadMesh, limit: float, label: str) -> None:
    bar = figure.colorbar(mesh, ax=axes, location="right", aspect=30, fraction=0.05, pad=0.02)
    bar.solids.set_rasterized(False)  # a raster image would be a file of its own beside PGF
    bar.solids.set_edgecolor("face")  # without it, lines show between the steps of the scale
    powers = range(-math.floor(limit), math.floor(limit) + 1)
    bar.set_ticks(list(powers), labels=[f"{2.0 ** power:g}×" for power in powers])
    bar.ax.axhline(0.0, color="0.35", linewidth=0.7)
    bar.outline.set_visible(False)
    bar.set_label(label)


if __name__ == "__main__":
    sys.exit(main())
