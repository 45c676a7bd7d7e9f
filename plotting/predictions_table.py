#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tabulates, for each way to predict a training run's time, what it leaves out and how far off it was."""
from __future__ import annotations

import statistics
import sys
from dataclasses import dataclass
from typing import Callable, Sequence

import pandas as pd

from replay_table import has_machine, key_of, time_to_target
from shared.destination import write_to_destination
from shared.load import Results, load
from shared.markdown_table import UNKNOWN, grid, in_markdown, noise_notes, records_parser
from shared.origin import whole_origin
from shared.report import InputError, Question

MARKERS = ("<!-- predictions: begin -->", "<!-- predictions: end -->")
ABOUT = (
    "Each row compares times to the target, as ratios to those of the corresponding live runs. plan: the iteration "
    "time in the live runs' records, with the iterations that they needed; it joins the plan's lower bound on the exchange "
    "and rank 0's own time for compute, encoding and decoding, measured in that run."
)


@dataclass(frozen=True)
class Prediction:
    name: str
    leaves_out: str
    is_made_by: Callable[[pd.Series], bool]  # whether a run is such a prediction
    time_s: Callable[[pd.Series], float | None] = time_to_target


def planned_time_s(run: pd.Series) -> float | None:
    iteration_s = run.get("predicted.iteration_time_s")
    if not run.reached or iteration_s is None or pd.isna(iteration_s):
        return None
    return run.target_iteration * iteration_s


PREDICTIONS = (
    Prediction(
        "plan",
        "latency and protocol of the exchange, the network's CPU time, waiting for slower workers",
        lambda run: run["mode"] == "live",
        planned_time_s,
    ),
    Prediction(
        "simulate",
        "competition for CPU cores among workers and with the network, TCP's dynamics, waiting for slower workers",
        lambda run: run["mode"] == "simulate" and not has_machine(run),
    ),
    Prediction(
        "simulate, measured machine",
        "time slices and placement of threads, TCP's dynamics, variation from one iteration to the next",
        lambda run: run["mode"] == "simulate" and has_machine(run),
    ),
    Prediction(
        "replay",
        "the data itself: compute is emulated for its mean time, codes are not computed, evaluations do not happen",
        lambda run: run["mode"] == "replay",
    ),
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = records_parser(
        "predictions_table",
        "Compare the predictions of plan, simulate and replay with the corresponding live runs.",
        "  thinpipe run experiments/replay-against-live.json\n"
        "  python3 plotting/predictions_table.py results/replay-against-live",
        MARKERS,
        "folder of the experiment's results; several folders are repetitions, whose ratios are averaged",
        several=True,
    )
    options = parser.parse_args(arguments)

    def make() -> str:
        return table([load(folder, Question.of(options)) for folder in options.results])

    return write_to_destination("predictions_table", make, options, *MARKERS)


def table(times: Sequence[Results]) -> str:
    completed = [each.runs[each.runs.status == "completed"] for each in times]
    if not any(times_by_key(runs[runs["mode"] == "live"], time_to_target) for runs in completed):
        raise InputError(f"{times[0].directory}: no live run reached its target, so there is nothing to compare with")
    runs = pd.concat(completed, ignore_index=True)
    rows = [row(prediction, completed) for prediction in PREDICTIONS]
    notes = "".join(f"{note}\n" for note in [ABOUT, *noise_notes(runs)])
    return "\n".join([grid(rows), notes, in_markdown(whole_origin(runs[runs["mode"] != "converge"])) + "\n"])


def row(prediction: Prediction, repetitions: Sequence[pd.DataFrame]) -> dict[str, str]:
    """Returns the cells by heading. Each run is compared with the live run of its own repetition."""
    by_key: dict[tuple[str, ...], list[float]] = {}
    for runs in repetitions:
        live = times_by_key(runs[runs["mode"] == "live"], time_to_target)
        made = runs[[prediction.is_made_by(run) for _, run in runs.iterrows()]]
        for key, time_s in times_by_key(made, prediction.time_s).items():
            if key in live:
                by_key.setdefault(key, []).append(time_s / live[key])
    ratios = [statistics.geometric_mean(each) for each in by_key.values()]
    cells = {"prediction": prediction.name, "leaves out": prediction.leaves_out, "rows": str(len(ratios))}
    for percent in (5, 10):
        within = sum(abs(ratio - 1) <= percent / 100 for ratio in ratios)
        cells[f"within {percent} %"] = str(within) if ratios else UNKNOWN
    for name, of in (("smallest ratio", min), ("median ratio", statistics.median), ("largest ratio", max)):
        cells[name] = f"{of(ratios):.2f}" if ratios else UNKNOWN
    return cells


def times_by_key(
    runs: pd.DataFrame, time_s: Callable[[pd.Series], float | None]
) -> dict[tuple[str, ...], float]:
    """Returns each training's time; leaves out trainings without one."""
    times = {key_of(run): time_s(run) for _, run in runs.iterrows()}
    return {key: each for key, each in times.items() if each is not None}


if __name__ == "__main__":
    sys.exit(main())
