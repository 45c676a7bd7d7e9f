#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figure 3 of the PacTrain paper: time to the target relative to dense, as dots by cap and method; a panel per model."""
from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from typing import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from heat_map import at, axis_values, check_axes
from shared.comparison import Comparison, Panel, check_comparable
from shared.dots import Dots, draw_dots, ratio_dots, scale
from shared.figure import (
    add_origin,
    first_in_rows,
    legend_label,
    marks_of,
    new_figure,
    parser_of,
    state_of,
    write_figure,
)
from shared.report import InputError
from shared.small_print import OF_RATIOS

MODELS, CAPS = "model", "bottleneck.rate"
GROUP_WIDTH = 0.86  # of the distance between caps
PANELS_A_ROW = 2
PANEL_HEIGHT_IN = 2.2
LEGEND_COLUMNS, LEGEND_LINE_IN = 6, 0.18
# Words hide the grid lines and the line at 1.
ON_WHITE = {"facecolor": "white", "edgecolor": "none", "pad": 0.3}
# The number of a method stands beyond its dots, within this share of the axis.
ROOM_FOR_NUMBERS = 0.22


@dataclass(frozen=True)
class Entry:
    """The method's time relative to dense, and its words; without dots if it has no time, and the words say why."""

    dots: Dots | None
    words: str


def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(
        "fig3",
        "Draw each method's time to the target relative to dense, for each model and cap, like Figure 3 of the\n"
        "PacTrain paper: runs as dots, means as markers with their intervals.",
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
    figure, axes = new_figure(len(names), PANEL_HEIGHT_IN, panels_a_row=PANELS_A_ROW, look=comparison.look)
    shown = [method for method in comparison.methods if (comparison.runs.method == method).any()]
    entries = {
        (name, cap, method): entry_of(at(of_model[of_model.method == method], {CAPS: cap}), comparison)
        for name in names
        for of_model in [at(comparison.runs, {models: name})]
        for cap in caps
        for method in shown
    }
    for name, panel_axes in zip(names, axes):
        own = {(cap, method): entry for (model, cap, method), entry in entries.items() if model == name}
        draw_panel(panel_axes, own, caps, shown, comparison)
        panel_axes.set_title(name)
    scale_to(axes[0], [entry.dots for entry in entries.values() if entry.dots])
    for panel_axes in first_in_rows(axes):
        panel_axes.set_ylabel(f"Time to {comparison.target.phrase},\nrelative to dense")
    add_legend(figure, axes[0], shown, comparison)
    add_origin(figure, comparison, OF_RATIOS)
    return figure


def scale_to(axes: Axes, drawn: Sequence[Dots]) -> None:
    """Scales the axis that the panels share, with room for numbers beyond the dots."""
    if not drawn:
        return
    scale(axes, [end for dots in drawn for end in dots.ends], upright=True, also=[1.0])
    low, high = axes.get_ylim()
    is_log = axes.get_yscale() == "log"
    axes.set_ylim(low, high * (high / low) ** ROOM_FOR_NUMBERS if is_log else high + ROOM_FOR_NUMBERS * (high - low))


def add_legend(figure: Figure, axes: Axes, shown: Sequence[str], comparison: Comparison) -> None:
    columns = max(1, min(LEGEND_COLUMNS, int(LEGEND_COLUMNS * figure.get_figwidth() / 7.0)))
    handles = [axes.plot([], [], **comparison.styles[method].marks(), linestyle="")[0] for method in shown]
    labels = [legend_label(comparison.shown(method)) for method in shown]
    figure.legend(handles, labels, loc="upper left", ncols=columns)
    lines = -(-len(labels) // columns)
    figure.get_layout_engine().set(rect=(0, 0, 1, 1 - lines * LEGEND_LINE_IN / figure.get_figheight()))


def draw_panel(
    axes: Axes, entries: dict[tuple[str, str], Entry], caps: list[str], methods: list[str], comparison: Comparison
) -> None:
    width = GROUP_WIDTH / len(methods)
    for group, cap in enumerate(caps):
        for place, method in enumerate(methods):
            x = group - GROUP_WIDTH / 2 + (place + 0.5) * width
            entry = entries[cap, method]
            if entry.dots is None:
                axes.text(
                    x, 0.02, entry.words, transform=axes.get_xaxis_transform(), rotation=90, ha="center", va="bottom",
                    fontsize="x-small", style="italic",
                )  # fmt: skip
                continue
            draw_dots(axes, x, entry.dots, comparison.styles[method], 0.4 * width, upright=True)
            axes.annotate(
                entry.words, (x, entry.dots.ends[1]), xytext=(0, 4), textcoords="offset points", ha="center", va="bottom",
                fontsize="x-small", rotation=90, bbox=ON_WHITE,
            )  # fmt: skip
    for between in range(1, len(caps)):
        axes.axvline(between - 0.5, color="0.85", linewidth=0.6, zorder=1)
    axes.axhline(1.0, color="0.35", linewidth=0.7, zorder=1.5)
    axes.set_xlim(-0.5, len(caps) - 0.5)
    axes.set_xticks(range(len(caps)), caps)
    axes.tick_params(axis="x", length=0)
    axes.grid(visible=False, axis="x")


def entry_of(runs: pd.DataFrame, comparison: Comparison) -> Entry:
    if runs.empty:
        return Entry(None, "not run")
    group = comparison.group(runs)
    dots = ratio_dots(runs, comparison, "relative_time_to", "dense")
    if dots is None:
        if runs.reached.any() and runs.baseline_dense.isna().all():
            raise InputError(f"{group.entry['label']}: no dense run to compare with")
        return Entry(None, state_of(runs) + marks_of(runs))
    bound = group.ratio("relative_time_to", "dense").before
    state = f", {state_of(runs)}" if state_of(runs) else ""
    return Entry(dots, f"{bound}{dots.spread.mean:.2f}{group.mark('dense')}{state}")


if __name__ == "__main__":
    sys.exit(main())
