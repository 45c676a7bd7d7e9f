#!/usr/bin/env python3
"""Figure 5 of the PacTrain paper: accuracy over time, and each method's iterations per second."""
from __future__ import annotations

import sys
from typing import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from comparison import Comparison, Panel
from figure import add_origin, name_of, new_figure, run_figure
from report import InputError
from time_to_accuracy import draw_panel, levels_to_draw

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
    figure, (curves, speeds) = new_figure(2, PANEL_HEIGHT_IN, share_y=False)
    draw_panel(curves, panel, comparison, levels_to_draw(comparison, curves), legend_columns=1)
    curves.set_ylabel(comparison.target.axis_label)
    draw_speeds(speeds, panel, comparison)
    add_origin(figure, comparison)
    return figure


def draw_speeds(axes: Axes, panel: Panel, comparison: Comparison) -> None:
    """Draws each method's mean over seeds, from the top in the experiment's order."""
    styles = comparison.styles
    by_method = dict(list(panel.runs.groupby("method", sort=False)))
    shown = [method for method in comparison.methods if method in by_method]
    for row, method in enumerate(shown):
        runs = by_method[method]
        speed = comparison.group(runs).spread("iterations_per_s")
        if not speed.count:
            axes.text(0, row, "no iterations", va="center", style="italic")
            continue
        axes.barh(row, speed.mean, height=0.7, color=styles[method].colour)
        axes.annotate(
            f"{speed.mean:.3g}", (speed.ends[1], row), xytext=(2.5, 0), textcoords="offset points", va="center"
        )
        if speed.count > 1:
            axes.plot(speed.ends, [row, row], color="0.2", linewidth=0.8, marker="|", markersize=4)
    axes.set_yticks(range(len(shown)), [name_of(method, by_method[method]) for method in shown])
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_xlim(right=1.15 * axes.get_xlim()[1])
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("Iterations per second")


if __name__ == "__main__":
    sys.exit(main())
