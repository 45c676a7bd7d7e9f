#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compute utilisation over the rate of the bottlenecks: a curve per method."""
from __future__ import annotations

import math
import sys
from typing import Sequence

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from shared.comparison import Comparison, Panel
from shared.figure import (
    add_origin,
    legend_below,
    make_room_for_legends,
    name_of,
    new_figure,
    parser_of,
    write_figure,
)
from shared.rate_trace import bit_per_s, rate_text
from shared.report import InputError
from shared.small_print import OF_MEANS

RATE = "bottleneck.rate"
MARKED = (0.5, 0.9)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(
        "utilisation",
        "Draw compute utilisation, the share of an iteration in which a worker does not wait for the exchange, over the\n"
        "rate of the bottlenecks: one curve per method. Needs runs that sweep bottleneck.rate.",
        "results/utilisation",
    )
    return write_figure("utilisation", parser.parse_args(arguments), draw, of_all_rates)


def of_all_rates(runs: pd.DataFrame) -> tuple[Panel, ...]:
    """Groups the runs by rate: within one, methods must not differ in anything else."""
    return tuple(Panel(rate_text(rate), own) for rate, own in with_utilisation(runs).groupby("rate_bit_per_s"))


def with_utilisation(runs: pd.DataFrame) -> pd.DataFrame:
    """Returns the completed runs with their rate in bit/s and their utilisation, by rate. Raises InputError if one has other
    swept axes, or no rate."""
    done = runs[runs.status == "completed"]
    if done.empty:
        raise InputError("no run is complete")
    for axes in done.other_axes:
        if set(axes) != {RATE}:
            raise InputError(f"every run must sweep {RATE} and the method only, but one has {', '.join(axes) or 'neither'}")
    waiting = done["iteration_time_s.exposed_exchange"] / done["iteration_time_s.mean"]
    rates = [bit_per_s(axes[RATE]) for axes in done.other_axes]
    return done.assign(rate_bit_per_s=rates, utilisation=1.0 - waiting).sort_values("rate_bit_per_s", kind="stable")


def by_rate(runs: pd.DataFrame) -> pd.Series:
    """Returns one method's utilisation by rate, the mean over seeds, at the rates at which it is known."""
    return runs.groupby("rate_bit_per_s").utilisation.mean().dropna()


def rate_for(utilisation: pd.Series, share: float) -> float:
    """Returns the rate from which on utilisation is at least that share, interpolated by the rate's logarithm: -inf if it
    is at all measured rates, and inf if it is not at the highest."""
    rates, values = utilisation.index.to_list(), utilisation.to_list()
    last_below = max((place for place, value in enumerate(values) if value < share), default=None)
    if last_below is None:
        return -math.inf
    if last_below == len(values) - 1:
        return math.inf
    (low, high), (start, end) = (each[last_below : last_below + 2] for each in (values, rates))
    return start * (end / start) ** ((share - low) / (high - low))


def draw(comparison: Comparison) -> Figure:
    figure, (axes,) = new_figure(1, panel_height_in=3.1, look=comparison.look)
    for share in MARKED:
        axes.axhline(share, color="0.35", linewidth=0.7, linestyle=(0, (4, 2)), zorder=1.5, label="_marked")
    by_method = dict(list(pd.concat(panel.runs for panel in comparison.panels).groupby("method", sort=False)))
    for method in (method for method in comparison.methods if method in by_method):
        runs = by_method[method]
        curve = by_rate(runs)
        name = name_of(method, runs, comparison)
        axes.plot(curve.index, curve, **comparison.styles[method].line(), label=name, zorder=3)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda rate, _: rate_text(rate)))
    axes.set_xlabel("Rate of the bottlenecks")
    axes.set_ylim(0.0, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_ylabel("Compute utilisation")
    legend_below(axes)
    make_room_for_legends(figure, [axes])
    add_origin(figure, comparison, OF_MEANS)
    return figure


if __name__ == "__main__":
    sys.exit(main())
