#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The measured network of a run on several machines: the rate and the round trip between each two workers."""
from __future__ import annotations

import sys
from typing import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from shared.comparison import Comparison
from shared.figure import add_origin, new_figure, parser_of, write_figure
from shared.report import InputError

PANEL_HEIGHT_IN = 3.0
RATES = "cluster.before.bit_per_s"
ROUND_TRIPS = "cluster.before.round_trips_s"
# More numbers than this cannot be read.
MOST_WORKERS_WITH_NUMBERS = 12
MBIT, MS = 1e6, 1e-3


def main(arguments: Sequence[str] | None = None) -> int:
    summary = (
        "Draw the rate from each worker to each other one, and the time of a message there and back, as they were measured\n"
        "before training. Needs runs of mode cluster; of several, the first is drawn."
    )
    parser = parser_of("network_matrix", summary, "results/cluster")
    return write_figure("network_matrix", parser.parse_args(arguments), draw, needs_time=False)


def draw(comparison: Comparison) -> Figure:
    run = first_on_machines(comparison)
    hosts = [node["host"] for node in run["cluster.nodes"]]
    figure, axes = new_figure(2, PANEL_HEIGHT_IN, look=comparison.look)
    draw_matrix(axes[0], without_diagonal(run[RATES]) / MBIT, hosts, "Payload rate (Mbit/s)", "viridis")
    draw_matrix(axes[1], without_diagonal(run[ROUND_TRIPS]) / MS, hosts, "Round trip (ms)", "viridis_r")
    for each in axes:
        draw_islands(each, run["cluster.islands"])
    axes[0].set_ylabel("From")
    add_origin(figure, comparison, "drawn of the first run")
    return figure


def first_on_machines(comparison: Comparison) -> pd.Series:
    runs = comparison.runs
    measured = runs[runs[RATES].map(lambda rates: isinstance(rates, list))] if RATES in runs.columns else runs.iloc[:0]
    if measured.empty:
        raise InputError(f'{comparison.results.directory}: no run measured a real network; runs of mode "cluster" do')
    return measured.iloc[0]


def without_diagonal(matrix: list[list[float]]) -> np.ndarray:
    """Returns the values between different workers; NaN from a worker to itself."""
    values = np.array(matrix, dtype=float)
    np.fill_diagonal(values, np.nan)
    return values


def draw_matrix(axes: Axes, values: np.ndarray, hosts: list[str], title: str, colours: str) -> None:
    axes.imshow(values, cmap=colours)
    axes.set_title(title)
    axes.set_xlabel("To")
    axes.set_xticks(range(len(hosts)), hosts, rotation=90 if len(hosts) > 6 else 0)
    axes.set_yticks(range(len(hosts)), hosts)
    axes.tick_params(length=0)
    axes.grid(False)
    if len(hosts) > MOST_WORKERS_WITH_NUMBERS:
        return
    for (row, column), value in np.ndenumerate(values):
        if not np.isnan(value):
            outline = {"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "boxstyle": "round,pad=0.15"}
            axes.text(column, row, f"{value:.3g}", ha="center", va="center", fontsize="x-small", bbox=outline)


def draw_islands(axes: Axes, islands: list[list[int]]) -> None:
    """Frames the pairs of an island whose ranks follow each other."""
    if len(islands) == 1:
        return
    for island in islands:
        if island[-1] - island[0] + 1 == len(island):
            corner, size = island[0] - 0.5, len(island)
            axes.add_patch(Rectangle((corner, corner), size, size, fill=False, edgecolor="black", linewidth=1.5))


if __name__ == "__main__":
    sys.exit(main())
