#!/usr/bin/env python3
"""Figure 3 of the PacTrain paper: time to the target relative to dense, as bars by cap and method; a panel per model."""
from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from functools import partial
from typing import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from comparison import Comparison, Panel, check_comparable
from figure import add_origin, legend_label, name_of, new_figure, parser_of, state_of, write_figure
from heat_map import at, axis_values, check_axes
from method_style import MethodStyle
from report import InputError

MODELS, CAPS = "model", "bottleneck.rate"
GROUP_WIDTH = 0.86  # of the distance between caps
PANELS_A_ROW = 2
PANEL_HEIGHT_IN = 1.9
LEGEND_COLUMNS, LEGEND_LINE_IN = 6, 0.18


@dataclass(frozen=True)
class Bar:
    """The method's time relative to dense: mean and spread over seeds. NaN if there is none; `words` say why."""

    ratio: float = math.nan
    low: float = math.nan
    high: float = math.nan
    words: str = ""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(
        "fig3",
        "Draw each method's time to the target relative to dense, for each model and cap, like Figure 3 of the\n"
        "PacTrain paper.",
        "results/paper-fig3",
    )
    parser.add_argument("--models", default=MODELS, metavar="AXIS", help=f"the panels' axis (default: {MODELS})")
    options = parser.parse_args(arguments)
    return write_figure(
        "fig3", options, partial(draw, models=options.models), partial(panel_a_cell, models=options.models)
    )


def panel_a_cell(runs: pd.DataFrame, models: str) -> tuple[Panel, ...]:
    """Groups runs by model and cap; times are compared only within a group."""
    cells = [
        Panel(f"{model}, {cap}", at(runs, {models: model, CAPS: cap}))
        for model in axis_values(runs, models)
        for cap in axis_values(runs, CAPS)
    ]
    panels = tuple(cell for cell in cells if len(cell.runs))
    for panel in panels:
        check_comparable(panel)
    return panels


def draw(comparison: Comparison, models: str = MODELS) -> Figure:
    check_axes(comparison, models, CAPS)
    caps, names = axis_values(comparison.runs, CAPS), axis_values(comparison.runs, models)
    figure, axes = new_figure(len(names), PANEL_HEIGHT_IN, panels_a_row=PANELS_A_ROW)
    styles = comparison.styles
    shown = [method for method in comparison.methods if (comparison.runs.method == method).any()]
    for name, panel_axes in zip(names, axes):
        draw_panel(panel_axes, at(comparison.runs, {models: name}), caps, shown, styles, comparison)
        panel_axes.set_title(name)
    for panel_axes in axes[::PANELS_A_ROW]:
        panel_axes.set_ylabel(f"Time to {comparison.target.phrase},\nrelative to dense")
    labels = [name_of(method, comparison.runs[comparison.runs.method == method]) for method in shown]
    handles, _ = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper left", ncols=LEGEND_COLUMNS)
    lines = -(-len(labels) // LEGEND_COLUMNS)
    figure.get_layout_engine().set(rect=(0, 0, 1, 1 - lines * LEGEND_LINE_IN / figure.get_figheight()))
    add_origin(figure, comparison)
    return figure


def draw_panel(
    axes: Axes,
    runs: pd.DataFrame,
    caps: list[str],
    methods: list[str],
    styles: dict[str, MethodStyle],
    comparison: Comparison,
) -> None:
    width = GROUP_WIDTH / len(methods)
    for place, method in enumerate(methods):
        left = [group - GROUP_WIDTH / 2 + (place + 0.5) * width for group in range(len(caps))]
        bars = [bar_of(at(runs[runs.method == method], {CAPS: cap}), comparison) for cap in caps]
        heights = [0.0 if math.isnan(bar.ratio) else bar.ratio for bar in bars]
        axes.bar(left, heights, width=0.92 * width, color=styles[method].colour, label=legend_label(method))
        for x, bar in zip(left, bars):
            annotate(axes, x, bar)
    axes.axhline(1.0, color="0.35", linewidth=0.7, zorder=1.5)
    axes.margins(y=0.16)  # for the numbers over the highest bars
    axes.set_xticks(range(len(caps)), caps)
    axes.tick_params(axis="x", length=0)
    axes.grid(visible=False, axis="x")


def annotate(axes: Axes, x: float, bar: Bar) -> None:
    if math.isnan(bar.ratio):
        axes.text(x, 0.02, bar.words, rotation=90, ha="center", va="bottom", fontsize="x-small", style="italic")
        return
    if bar.high > bar.low:
        axes.plot([x, x], [bar.low, bar.high], color="0.2", linewidth=0.8, marker="_", markersize=3, markeredgewidth=0.8)
    axes.annotate(
        bar.words, (x, bar.high), xytext=(0, 1.5), textcoords="offset points", ha="center", va="bottom",
        fontsize="x-small", rotation=90,
    )  # fmt: skip


def bar_of(runs: pd.DataFrame, comparison: Comparison) -> Bar:
    if runs.empty:
        return Bar(words="not run")
    group = comparison.group(runs)
    ratio = group.spread("relative_time_to_dense")
    if not ratio.count:
        if runs.reached.any() and runs.baseline_dense.isna().all():
            raise InputError(f"{group.entry['label']}: no dense run to compare with")
        return Bar(words=state_of(runs))
    bound = "≤ " if group.is_bound("dense") else ""
    return Bar(ratio.mean, *ratio.ends, f"{bound}{ratio.mean:.2f}{group.mark('dense')}")


if __name__ == "__main__":
    sys.exit(main())
