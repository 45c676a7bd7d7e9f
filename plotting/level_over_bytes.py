#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Test accuracy, or the loss of a loss target, over the bytes that a worker has sent: a curve per method."""
from __future__ import annotations

import sys
from typing import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter, PercentFormatter

from shared.comparison import Comparison, Panel
from shared.curves import draw_curves
from shared.figure import (
    add_origin,
    first_in_rows,
    legend_below,
    make_room_for_legends,
    name_of,
    new_figure,
    parser_of,
    state_of,
    write_figure,
)
from shared.small_print import OF_CURVES
from time_to_accuracy import draw_target, levels_to_draw

MEGABYTE = 1e6


def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(
        "level_over_bytes",
        "Draw test accuracy, or the loss if the target is a loss, over the bytes that a worker has sent: one curve per\n"
        "method. A run's bytes count as spread evenly over its iterations. Records of mode converge are enough, because\n"
        "bytes do not depend on the network.",
    )
    return write_figure("level_over_bytes", parser.parse_args(arguments), draw, needs_time=False)


def draw(comparison: Comparison) -> Figure:
    figure, axes = new_figure(len(comparison.panels), panel_height_in=3.1, share_x=True, look=comparison.look)
    curves = levels_to_draw(comparison, axes[0])
    for panel, panel_axes in zip(comparison.panels, axes):
        draw_panel(panel_axes, panel, comparison, curves)
    make_room_for_legends(figure, axes)
    axes[0].set_xscale("log")
    axes[0].xaxis.set_major_locator(LogLocator())
    axes[0].xaxis.set_minor_formatter(NullFormatter())
    axes[0].xaxis.set_major_formatter(FormatStrFormatter("%g"))
    for first_in_row in first_in_rows(axes):
        first_in_row.set_ylabel(comparison.target.axis_label)
    add_origin(figure, comparison, OF_CURVES)
    return figure


def draw_panel(axes: Axes, panel: Panel, comparison: Comparison, curves: pd.DataFrame) -> None:
    target = comparison.target
    draw_target(axes, target)
    for place, (method, runs) in enumerate(panel.runs.groupby("method", sort=False)):
        name = ": ".join(filter(None, [name_of(method, runs, comparison), state_of(runs)]))
        draw_curves(axes, runs, with_bytes(curves, runs), "sent_mb", comparison.styles[method], name, place)
    axes.set_title(panel.title)
    axes.set_xlabel("Sent per worker (MB)")
    axes.yaxis.set_major_formatter(
        FormatStrFormatter("%g") if target.is_loss else PercentFormatter(xmax=1.0, symbol=" %", decimals=0)
    )
    legend_below(axes, ncols=2 if len(comparison.panels) == 1 else 1)


def with_bytes(curves: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Returns the runs' points after the first iteration, with the column "sent_mb". A logarithmic axis cannot show 0."""
    mb_per_iteration = runs["traffic.sent_bytes_per_worker"] / runs.iterations.clip(lower=1) / MEGABYTE
    points = curves.merge(runs[["key"]].assign(mb_per_iteration=mb_per_iteration), on="key")
    return points.assign(sent_mb=points.iteration * points.mb_per_iteration)[lambda sent: sent.sent_mb > 0]


if __name__ == "__main__":
    sys.exit(main())
