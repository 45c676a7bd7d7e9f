#!/usr/bin/env python3
"""Figure 6 of the PacTrain paper: final accuracy over the share of pruned weights, a panel per model."""
from __future__ import annotations

import sys
from functools import partial
from typing import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FormatStrFormatter, PercentFormatter

from comparison import Comparison, Panel
from figure import add_origin, name_of, new_figure, parser_of, write_figure
from heat_map import check_axes, panel_a_value
from report import InputError

MODELS, RATIOS = "model", "pruning.ratio"
PANELS_A_ROW = 2
PANEL_HEIGHT_IN = 2.0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(
        "fig6",
        "Draw the accuracy at the end of training over the prune ratio, for each model, like Figure 6 of the PacTrain\n"
        "paper: means over seeds as lines, single runs as dots. Methods without a prune ratio, such as dense, are\n"
        "horizontal lines.",
        "results/paper-fig6",
    )
    for place, axis in (("models", MODELS), ("ratios", RATIOS)):
        parser.add_argument(f"--{place}", default=axis, metavar="AXIS", help=f"axis of the {place} (default: {axis})")
    options = parser.parse_args(arguments)
    return write_figure(
        "fig6",
        options,
        partial(draw, models=options.models, ratios=options.ratios),
        partial(panel_a_value, axis=options.models),
        needs_time=False,
    )


def draw(comparison: Comparison, models: str = MODELS, ratios: str = RATIOS) -> Figure:
    check_axes(comparison, models, ratios)
    figure, axes = new_figure(
        len(comparison.panels), PANEL_HEIGHT_IN, share_y=False, panels_a_row=PANELS_A_ROW
    )
    for panel, panel_axes in zip(comparison.panels, axes):
        draw_panel(panel_axes, panel, comparison, ratios)
    for first_in_row in axes[::PANELS_A_ROW]:
        first_in_row.set_ylabel(f"{comparison.target.axis_label} at the end")
    add_origin(figure, comparison)
    return figure


def draw_panel(axes: Axes, panel: Panel, comparison: Comparison, ratios: str) -> None:
    styles = comparison.styles
    for method, runs in panel.runs.groupby("method", sort=False):
        runs = runs.assign(ratio=[ratio_of(each, ratios) for each in runs.other_axes])
        runs = runs[runs.status == "completed"]
        pruned = runs[runs.ratio.notna()]
        unpruned = runs[runs.ratio.isna()]
        if len(pruned):
            means = [(ratio, mean_level(each, comparison)) for ratio, each in pruned.groupby("ratio")]
            axes.plot(*zip(*means), label=name_of(method, runs), **styles[method].line())
            if pruned.ratio.duplicated().any():
                dots = {**styles[method].marks(), "linestyle": "", "markersize": 2, "alpha": 0.5, "label": "_runs"}
                axes.plot(pruned.ratio, pruned.final_level, **dots)
        elif len(unpruned):
            axes.axhline(
                mean_level(unpruned, comparison),
                color=styles[method].colour,
                linestyle=(0, (4, 2)),
                linewidth=0.8,
                label=f"{name_of(method, runs)}, not pruned",
            )
    axes.set_title(panel.title)
    axes.set_xlabel("Prune ratio")
    axes.xaxis.set_major_formatter(PercentFormatter(xmax=1.0, symbol=" %", decimals=0))
    axes.yaxis.set_major_formatter(
        FormatStrFormatter("%g")
        if comparison.target.is_loss
        else PercentFormatter(xmax=1.0, symbol=" %", decimals=1)
    )
    axes.legend()


def mean_level(runs: pd.DataFrame, comparison: Comparison) -> float | None:
    return comparison.group(runs).spread("final_level").mean


def ratio_of(axes: dict[str, str], name: str) -> float | None:
    """Returns the run's value on the axis `name`, or None if it has none. Raises InputError if it is not a number."""
    value = axes.get(name)
    if value is None:
        return None
    try:
        return float(pd.to_numeric(value))
    except ValueError as error:
        raise InputError(f"the axis {name} has the value '{value}', which is not a number") from error


if __name__ == "__main__":
    sys.exit(main())
