#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figure 5 of the PacTrain paper: accuracy over time, and each method's iterations per second."""
from __future__ import annotations

import sys
from typing import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shared.comparison import Comparison, Panel
from shared.dots import dots_of, draw_dots, scale, verdict_marks
from shared.figure import (
    add_origin,
    legend_label,
    make_room_for_legends,
    marks_of,
    new_figure,
    run_figure,
    time_unit,
)
from shared.number_text import three_digits
from shared.rate_trace import add_traces
from shared.report import InputError
from shared.small_print import OF_CURVES, OF_DOTS
from time_to_accuracy import draw_panel, levels_to_draw, scale_time, wants_logarithm

PANEL_HEIGHT_IN = 2.6


def main(arguments: Sequence[str] | None = None) -> int:
    return run_figure(
        "fig5",
        "Draw accuracy over train time and iterations per second, like Figure 5 of the PacTrain paper.",
        draw,
        arguments,
    )


def draw(comparison: Comparison) -> Figure:
    if len(comparison.panels) > 1:
        raise InputError(
            f"{comparison.results.directory}: sweeps other axes than the method; choose a value of each with --where"
        )
    panel = comparison.panels[0]
    figure, (curves, speeds) = new_figure(2, PANEL_HEIGHT_IN, share_y=False, look=comparison.look)
    draw_panel(curves, panel, comparison, levels_to_draw(comparison, curves), legend_columns=2)
    make_room_for_legends(figure, [curves])
    scale_time(curves, wants_logarithm(comparison.runs))
    add_traces([curves], comparison, time_unit(comparison.runs).seconds)
    curves.set_ylabel(comparison.target.axis_label)
    draw_speeds(speeds, panel, comparison)
    add_origin(figure, comparison, f"{OF_CURVES}; {OF_DOTS}")
    return figure


def draw_speeds(axes: Axes, panel: Panel, comparison: Comparison) -> None:
    """Draws each method's runs and their mean, from the top in the experiment's order."""
    by_method = dict(list(panel.runs.groupby("method", sort=False)))
    shown = [method for method in comparison.methods if method in by_method]
    ends: list[float] = []
    for row, method in enumerate(shown):
        runs = by_method[method]
        spread = comparison.group(runs).spread("iterations_per_s")
        speed = dots_of(spread, runs.iterations_per_s, verdict_marks(runs["fidelity.verdict"]))
        if speed is None:
            axes.text(
                0.02, row, "no iterations", transform=axes.get_yaxis_transform(), va="center", style="italic"
            )
            continue
        draw_dots(axes, row, speed, comparison.styles[method], width=0.4)
        axes.annotate(
            f"{three_digits(speed.spread.mean)}{marks_of(runs)}",
            (speed.ends[1], row),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
        )
        ends += speed.ends
    axes.set_yticks(range(len(shown)), [legend_label(comparison.shown(method)) for method in shown])
    axes.set_ylim(len(shown) - 0.5, -0.5)
    if ends:
        scale(axes, ends)
        low, high = axes.get_xlim()
        axes.set_xlim(low, high * (high / low) ** 0.12 if axes.get_xscale() == "log" else 1.12 * high)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("Iterations per second")


if __name__ == "__main__":
    sys.exit(main())
