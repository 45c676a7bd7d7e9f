#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figure 6 of the PacTrain paper: final accuracy over the share of pruned weights, a panel per model."""
from __future__ import annotations

import math
import sys
from functools import partial
from typing import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FormatStrFormatter, PercentFormatter

from heat_map import check_axes, panel_a_value
from shared.comparison import Comparison, Panel
from shared.dots import RUN_SIZE, annotate
from shared.figure import add_origin, first_in_rows, name_of, new_figure, parser_of, write_figure
from shared.method_style import MethodStyle
from shared.report import VERDICT_MARKS, InputError, Spread
from shared.small_print import OF_DOTS

MODELS, RATIOS = "model", "pruning.ratio"
# Methods stand this far from each other at a ratio, so that their intervals do not hide each other.
BESIDE = 0.008
PANELS_A_ROW = 2
PANEL_HEIGHT_IN = 2.0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(
        "fig6",
        "Draw the accuracy at the end of training over the prune ratio, for each model, like Figure 6 of the PacTrain\n"
        "paper: means over seeds as lines with intervals, single runs as dots. Methods without a prune ratio, such as dense, are\n"
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
        len(comparison.panels), PANEL_HEIGHT_IN, share_x=True, panels_a_row=PANELS_A_ROW, look=comparison.look
    )
    for panel, panel_axes in zip(comparison.panels, axes):
        draw_panel(panel_axes, panel, comparison, ratios)
    for first_in_row in first_in_rows(axes):
        first_in_row.set_ylabel(f"{comparison.target.axis_label} at the end")
    add_origin(figure, comparison, f"curves are means; {OF_DOTS}")
    return figure


def draw_panel(axes: Axes, panel: Panel, comparison: Comparison, ratios: str) -> None:
    styles = comparison.styles
    with_ratio = list(dict.fromkeys(panel.runs.method[[ratios in axes for axes in panel.runs.other_axes]]))
    for method, runs in panel.runs.groupby("method", sort=False):
        runs = runs.assign(
            ratio=[ratio_of(each, ratios) for each in runs.other_axes], verdict=runs["fidelity.verdict"]
        )
        runs = runs[runs.status == "completed"]
        pruned = runs[runs.ratio.notna()]
        unpruned = runs[runs.ratio.isna()]
        if len(pruned):
            spreads = {ratio: final_level(each, comparison) for ratio, each in pruned.groupby("ratio")}
            means = [math.nan if spread.mean is None else spread.mean for spread in spreads.values()]
            shift = BESIDE * (with_ratio.index(method) - (len(with_ratio) - 1) / 2)
            places = [ratio + shift for ratio in spreads]
            axes.plot(places, means, label=name_of(method, runs, comparison), **styles[method].line())
            draw_spread(axes, pruned, spreads, shift, styles[method])
        elif len(unpruned):
            mean = final_level(unpruned, comparison).mean
            axes.axhline(
                math.nan if mean is None else mean,
                color=styles[method].colour,
                linestyle=(0, (4, 2)),
                linewidth=0.8,
                label=f"{name_of(method, runs, comparison)}, not pruned{': not finite' if mean is None else ''}",
            )
    axes.set_title(panel.title)
    axes.set_xlabel("Prune ratio")
    axes.xaxis.set_major_formatter(PercentFormatter(xmax=1.0, symbol=" %", decimals=0))
    axes.yaxis.set_major_formatter(
        FormatStrFormatter("%g")
        if comparison.target.is_loss
        else PercentFormatter(xmax=1.0, symbol=" %")
    )
    axes.legend()


def final_level(runs: pd.DataFrame, comparison: Comparison) -> Spread:
    return comparison.group(runs).spread("final_level")


def draw_spread(axes: Axes, runs: pd.DataFrame, spreads: dict[float, Spread], shift: float, style: MethodStyle) -> None:
    """Draws the interval at each ratio that has one, and the single runs with the marks of theirs."""
    for ratio, spread in spreads.items():
        if spread.count > 1:
            axes.plot([ratio + shift] * 2, spread.ends, color=style.colour, linewidth=1.2, gid="interval", label="_interval")
    if runs.ratio.duplicated().any():
        axes.plot(
            runs.ratio + shift, runs.final_level, color=style.colour, marker="o", linestyle="", markersize=RUN_SIZE, alpha=0.6,
            label="_runs",
        )  # fmt: skip
        for run in runs.itertuples():
            if mark := VERDICT_MARKS.get(run.verdict):
                annotate(axes, run.ratio + shift, run.final_level, mark, upright=True)


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
