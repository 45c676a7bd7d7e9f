#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the capped links did during one run: the curve, the workers' compute and exchange, and each direction's rate and queue."""
from __future__ import annotations

import argparse
import functools
import json
import sys
from pathlib import Path
from typing import Any, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from shared.comparison import Comparison
from shared.figure import add_origin, parser_of, write_figure
from shared.iteration_parts import COMPUTE, WAIT, WHOLE, Part
from shared.link_series import FILE_NAME, LinkSeries, read_link_series
from shared.load import Results
from shared.look import PAGE_WIDTH_IN
from shared.report import InputError
from shared.worker_times import FILE_NAME as WORKERS_FILE
from shared.worker_times import WorkerIteration, read_worker_times

MBIT, KB = 1e6, 1e3
SAME_MOMENT_S = 1e-3
CURVE_HEIGHT_IN, NO_CURVE_HEIGHT_IN, LINK_HEIGHT_IN, MARGINS_IN = 1.2, 0.05, 0.75, 1.4
# Of a worker's strip; a single one is higher.
STRIP_HEIGHT_IN, SINGLE_STRIP_HEIGHT_IN, MOST_STRIPS_HEIGHT_IN = 0.11, 0.25, 3.0
MOST_LABELLED_STRIPS = 12
# Of more iterations, the parts would be narrower than a line.
MOST_ITERATIONS = 80
RATE_COLOUR, QUEUE_COLOUR, DROP_COLOUR = "#66aa99", "#333333", "#cc3311"


def main(arguments: Sequence[str] | None = None) -> int:
    summary = (
        "Draw what the capped links did during one run, over the time since training began: the curve; how each worker's\n"
        "iterations divide into compute and waiting for the exchange; and of each direction the rate in use below its cap,\n"
        "the longest queue in each sample, and lost frames. Of several runs, the first is drawn."
    )
    parser = parser_of("links", summary)
    parser.add_argument("--run", metavar="ID", help="the run to draw (default: the first that has a time series)")
    parser.add_argument("--from", dest="from_s", type=float, default=0.0, metavar="SECONDS", help="where to begin")
    parser.add_argument("--to", dest="to_s", type=float, metavar="SECONDS", help="where to end (default: with the run)")
    options = parser.parse_args(arguments)
    return write_figure(
        "links", options, functools.partial(draw, options=options), needs_time=False,
        narrow=functools.partial(only_run, run_id=options.run),
    )


def only_run(results: Results, run_id: str | None) -> Results:
    """Returns the run with this id alone; all runs if it is None."""
    if run_id is None:
        return results
    if run_id not in results.runs.run_id.values:
        raise InputError(f"--run {run_id}: no run has this id; the runs are: {', '.join(results.runs.run_id)}")
    return results.only(results.runs.run_id == run_id)


def draw(comparison: Comparison, options: argparse.Namespace) -> Figure:
    run, series = run_with_series(comparison)
    to_s = series.end_s if options.to_s is None else options.to_s
    if not 0 <= options.from_s < to_s:
        raise InputError(f"--from {options.from_s:g}, --to {to_s:g}: must be times of the run, which took {series.end_s:.1f} s")
    workers = workers_of(comparison, run, series)
    strips_height_in = min(max(SINGLE_STRIP_HEIGHT_IN, STRIP_HEIGHT_IN * len(workers)), MOST_STRIPS_HEIGHT_IN)
    heights = [CURVE_HEIGHT_IN if series.evaluations else NO_CURVE_HEIGHT_IN, strips_height_in, *[LINK_HEIGHT_IN] * len(series.directions)]
    figure = Figure(figsize=(comparison.look.width_in or PAGE_WIDTH_IN, sum(heights) + MARGINS_IN))
    axes = figure.subplots(len(heights), 1, sharex=True, gridspec_kw={"height_ratios": heights})
    draw_curve(axes[0], run, series, comparison)
    draw_iterations(axes[1], workers, options.from_s, to_s)
    caps = caps_of(run)
    for column, name in enumerate(series.directions):
        draw_direction(axes[2 + column], series, column, caps.get(name, []))
        axes[2 + column].set_title(name, loc="left", fontsize="small", pad=2)
    axes[0].set_xlim(options.from_s, to_s)
    axes[-1].set_xlabel("Time since training began (s)")
    add_origin(figure, comparison, "drawn of one run")
    return figure


def run_with_series(comparison: Comparison) -> tuple[pd.Series, LinkSeries]:
    runs = comparison.runs
    for _, run in runs.iterrows():
        path = folder_of(comparison, run) / FILE_NAME
        if path.exists() or len(runs) == 1:
            return run, read_link_series(path)
    raise InputError(f"{comparison.results.directory}: no run has a {FILE_NAME}: exported records leave it out")


def folder_of(comparison: Comparison, run: pd.Series) -> Path:
    """Returns the run's folder; the results may be the experiment's folder or the one above."""
    directory = comparison.results.directory
    inside = directory / run.run_id
    return inside if inside.is_dir() else directory / run.experiment / run.run_id


def workers_of(comparison: Comparison, run: pd.Series, series: LinkSeries) -> dict[int, dict[int, WorkerIteration]]:
    """Returns the iterations of each worker; of worker 0 only, up to the arrival of its reports, if the others' were not kept."""
    folder = folder_of(comparison, run)
    if workers := read_worker_times(folder / WORKERS_FILE):
        return workers
    path = folder / "iterations.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    iterations = {}
    for event in map(json.loads, lines):
        if event["event"] in ("iteration", "replayed_iteration") and event["iteration"] in series.iterations:
            end_s = series.iterations[event["iteration"]]
            whole_s = event.get("iteration_time_s") or 0.0
            iterations[event["iteration"]] = WorkerIteration(end_s, whole_s, event.get("exposed_exchange_s"))
    return {0: iterations}


def caps_of(run: pd.Series) -> dict[str, list[tuple[float, float]]]:
    """Returns the caps of each direction in bit/s, with the time from which each held."""
    caps = {}
    for check in run.get("fidelity.checks") or []:
        kind, _, name = check["name"].partition(" ")
        if kind == "shaper":
            caps[name] = [(0.0, check["specified"]["rate_bit_per_s"])]
    rates = {name: held[0][1] for name, held in caps.items()}  # also of a link that is down
    down = set()
    for event in run["network_events"] if isinstance(run["network_events"], list) else []:
        for name, applied in (event["applied"] or {}).items():
            if name not in caps or not {"rate_bit_per_s", "state"} & applied.keys():
                continue
            rates[name] = applied.get("rate_bit_per_s", rates[name])
            if "state" in applied:
                (down.add if applied["state"] == "down" else down.discard)(name)
            caps[name].append((event["confirmed_s"], 0.0 if name in down else rates[name]))
    return caps


def draw_curve(axes: Axes, run: pd.Series, series: LinkSeries, comparison: Comparison) -> None:
    curve = comparison.results.curves
    curve = curve[curve.key == run.key]
    levels = comparison.target.measured(curve)
    times = [series.evaluations.get(int(iteration), np.nan) for iteration in curve.iteration]
    axes.plot(times, levels, color="0.2", marker=".", markersize=4, linewidth=1.0)
    axes.set_title(comparison.shown(run.method), loc="left")
    # Without it, nobody could tell workers that wait for a core from workers that wait for the network.
    pressure = run.get("cpu_pressure.machine")
    if not pd.isna(pressure):
        axes.set_title(f"threads waited for a CPU core in {100 * pressure:.0f} % of the time", loc="right", fontsize="small")
    if not series.evaluations:  # as in a replay
        axes.set_axis_off()
    axes.set_ylabel(comparison.target.axis_label)
    if not comparison.target.is_loss:
        axes.yaxis.set_major_formatter(PercentFormatter(xmax=1.0, symbol=" %", decimals=0))


def draw_iterations(
    axes: Axes, workers: dict[int, dict[int, WorkerIteration]], from_s: float, to_s: float
) -> None:
    """Draws a strip per worker: of each iteration the exchange that the worker waited for at its end, and what came before."""
    axes.set_ylim(max(workers) + 0.5, min(workers) - 0.5)
    axes.grid(False)
    if len(workers) == 1:
        axes.set_yticks([])
        axes.set_ylabel("worker 0", rotation=0, ha="right", va="center", fontsize="small")
    else:
        axes.set_yticks(list(workers)[:: -(-len(workers) // MOST_LABELLED_STRIPS)])
        axes.tick_params(axis="y", labelsize="x-small", length=0)
        axes.set_ylabel("worker", fontsize="small")
    shown = {
        rank: [each for each in iterations.values() if each.end_s > from_s and each.end_s - each.whole_s < to_s]
        for rank, iterations in workers.items()
    }
    most = max(map(len, shown.values()))
    if most > MOST_ITERATIONS:
        text = f"{most} iterations: choose at most {MOST_ITERATIONS} with --from and --to to see their parts"
        axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", fontsize="small", color="0.4")
        return
    labelled: set[Part] = set()
    for rank, iterations in shown.items():
        spans: dict[Part, list[tuple[float, float]]] = {COMPUTE: [], WAIT: [], WHOLE: []}
        for each in iterations:
            if each.exposed_s is None:
                spans[WHOLE].append((each.end_s - each.whole_s, each.whole_s))
            else:
                spans[COMPUTE].append((each.end_s - each.whole_s, each.whole_s - each.exposed_s))
                spans[WAIT].append((each.end_s - each.exposed_s, each.exposed_s))
        for part in (part for part, bars in spans.items() if bars):
            looks = {"facecolors": part.colour, "edgecolors": "white", "linewidth": 0.3}
            label = None if part in labelled else part.label
            axes.broken_barh(spans[part], (rank - 0.45, 0.9), **looks, label=label, gid=f"worker {rank}")
            labelled.add(part)
    if any(shown.values()):
        legend = axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, fontsize="x-small", borderpad=0.0)
        legend.set_in_layout(False)  # it has room beside the next title


def draw_direction(axes: Axes, series: LinkSeries, column: int, caps: list[tuple[float, float]]) -> None:
    """Draws the rate of each sample below the cap, the longest queue on an axis of its own, and samples with lost frames."""
    draw_samples(axes, series, series.rates_bit_per_s()[:, column] / MBIT, gid="rate", fill=True, color=RATE_COLOUR, alpha=0.6)
    if caps:
        moments, heights = zip(*caps)
        in_mbit = np.array([*heights, heights[-1]]) / MBIT
        axes.step([*moments, series.end_s], in_mbit, where="post", color="0.4", linewidth=0.8, gid="cap")
    axes.set_ylim(bottom=0.0)
    axes.set_ylabel("Mbit/s", fontsize="small")
    queue = axes.twinx()
    draw_samples(queue, series, series.max_queue_bytes[:, column] / KB, gid="queue", color=QUEUE_COLOUR)
    queue.set_ylim(0.0, 1.05 * max(series.max_queue_bytes.max(initial=0.0) / KB, 1.0))
    queue.set_ylabel("queue (kB)", fontsize="small")
    queue.grid(False)
    lost = series.to_s[series.drops[:, column] > 0]
    if len(lost):
        marks = {"marker": "x", "linestyle": "", "color": DROP_COLOUR, "markersize": 4}
        axes.plot(lost, np.full(len(lost), 0.06), transform=axes.get_xaxis_transform(), **marks, gid="drops")


def draw_samples(axes: Axes, series: LinkSeries, values: np.ndarray, **looks: Any) -> None:
    """Draws one step per sample, and zero between samples that do not follow each other: a pause has only its first one."""
    gaps = np.flatnonzero(series.from_s[1:] - series.to_s[:-1] > SAME_MOMENT_S) + 1
    edges = np.insert(np.append(series.from_s, series.to_s[-1:]), gaps, series.to_s[gaps - 1])
    axes.stairs(np.insert(values, gaps, 0.0), edges, linewidth=0.6, **looks)


if __name__ == "__main__":
    sys.exit(main())
