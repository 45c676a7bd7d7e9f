#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each layer's share of the entries that a method exchanges, over the steps of a training run."""
from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from typing import Any, Sequence

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shared.comparison import Comparison
from shared.figure import add_origin, first_in_rows, name_of, new_figure, parser_of, write_figure
from shared.report import InputError

PANEL_HEIGHT_IN = 2.6
# More layers than this cannot be told apart: those that exchange the fewest entries are joined.
MOST_LAYERS = 10
COLOURS = "viridis"


@dataclass(frozen=True)
class LayerTraffic:
    """The layers' names, their shares of the weights, and their shares of the exchanged entries between `edges` (steps).

    shares: one row per layer, one column per interval; a column without entries is 0.
    """

    names: tuple[str, ...]
    weights: np.ndarray
    edges: np.ndarray
    shares: np.ndarray


def main(arguments: Sequence[str] | None = None) -> int:
    summary = (
        "Draw each layer's share of the exchanged entries over the steps of training, with a panel per method that counts\n"
        "them, such as iwp. Several seeds: of the first."
    )
    parser = parser_of("layer_traffic", summary, "results/iwp")
    parser.add_argument("--methods", nargs="+", metavar="METHOD", help="the methods to draw (default: all that count)")
    options = parser.parse_args(arguments)
    return write_figure("layer_traffic", options, partial(draw, methods=options.methods), needs_time=False)


def draw(comparison: Comparison, methods: Sequence[str] | None = None) -> Figure:
    counted = counting_runs(comparison, methods)
    if not counted:
        raise InputError(
            f"{comparison.results.directory}: no run counts the entries of its layers; runs of the method iwp do"
        )
    figure, axes = new_figure(len(counted), PANEL_HEIGHT_IN, look=comparison.look)
    for place, (title, run) in enumerate(counted):
        draw_layers(axes[place], joined(traffic_of(run)))
        axes[place].set_title(title)
        axes[place].set_xlabel("Step")
    for first_in_row in first_in_rows(axes):
        first_in_row.set_ylabel("Share of exchanged entries")
    add_origin(figure, comparison, "drawn of the first seed")
    return figure


def counting_runs(comparison: Comparison, methods: Sequence[str] | None = None) -> list[tuple[str, pd.Series]]:
    """Returns the first run of each panel and method that counted entries, with a title. Raises InputError if one of
    the chosen methods did not."""
    if "synchroniser.layers" not in comparison.runs.columns:
        return []
    counting = comparison.runs[comparison.runs["synchroniser.layers"].map(has_entries)].method.unique()
    if unknown := [method for method in methods or [] if method not in counting]:
        raise InputError(f"--methods: no run of {unknown[0]} counts the entries of its layers; known: {', '.join(counting)}")
    found = []
    for panel in comparison.panels:
        for method, runs in panel.runs.groupby("method", sort=False):
            counted = runs[runs["synchroniser.layers"].map(has_entries)]
            if len(counted) and (methods is None or method in methods):
                titles = [panel.title, name_of(method, runs, comparison)]
                found.append(("\n".join(filter(None, titles)), counted.iloc[0]))
    return found


def has_entries(layers: Any) -> bool:
    return isinstance(layers, list) and any(sum(layer["exchanged"]) > 0 for layer in layers)


def traffic_of(run: pd.Series) -> LayerTraffic:
    layers = run["synchroniser.layers"]
    counts = np.array([layer["exchanged"] for layer in layers], dtype=float)
    totals = counts.sum(axis=0)
    weights = np.array([layer["weights"] for layer in layers], dtype=float)
    edges = np.arange(counts.shape[1] + 1) * run["synchroniser.steps_per_interval"]
    return LayerTraffic(
        tuple(layer["name"] for layer in layers),
        weights / weights.sum(),
        np.minimum(edges, run["synchroniser.steps"]),
        np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0),
    )


def joined(traffic: LayerTraffic) -> LayerTraffic:
    """Joins the layers with the fewest entries if there are too many; the others keep their order."""
    if len(traffic.names) <= MOST_LAYERS:
        return traffic
    order = np.argsort(-traffic.shares.sum(axis=1), kind="stable")
    kept, others = np.sort(order[: MOST_LAYERS - 1]), order[MOST_LAYERS - 1 :]
    return LayerTraffic(
        (*(traffic.names[place] for place in kept), f"{len(others)} other layers"),
        np.append(traffic.weights[kept], traffic.weights[others].sum()),
        traffic.edges,
        np.vstack([traffic.shares[kept], traffic.shares[others].sum(axis=0)]),
    )


def draw_layers(axes: Axes, traffic: LayerTraffic) -> None:
    """Draws the shares on top of each other, the first layer at the bottom. The legend has each layer's share of weights."""
    colours = matplotlib.colormaps[COLOURS](np.linspace(0.0, 1.0, len(traffic.names)))
    labels = [f"{name} ({100 * share:.2g} % of weights)" for name, share in zip(traffic.names, traffic.weights)]
    heights = np.hstack([traffic.shares, traffic.shares[:, -1:]])  # "post" needs a value at the last edge
    axes.stackplot(traffic.edges, heights, labels=labels, colors=colours, step="post", linewidth=0.0)
    axes.set_xlim(traffic.edges[0], traffic.edges[-1])
    axes.set_ylim(0.0, 1.0)
    handles, texts = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], texts[::-1], loc="upper center", bbox_to_anchor=(0.5, -0.25), fontsize="xx-small")


if __name__ == "__main__":
    sys.exit(main())
