#!/usr/bin/env python3
"""Whether replays predict what live runs of the same training take, and simulations what replays do: a table."""
from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

import pandas as pd

from comparison import quantity_key
from load import InputError, Results, load
from markdown_table import (
    MARKERS_OF_NAME,
    UNKNOWN,
    add_destination,
    grid,
    in_markdown,
    markers_of,
    three_digits,
    write_to_destination,
)

# Each is held against the one before it.
MODES = ("live", "replay", "simulate")
SAME_SPEED = "time to target at the same speed"
TOLERANCES = {"time to target": 0.05, SAME_SPEED: 0.05, "iteration": 0.1}
ABOUT = (
    "Time to target: train time until the first of the run's targets was reached. Iteration: mean time; of a replay or "
    "simulation, over the training's steps. Exchange: time inside collectives; its least is what their bytes take over "
    "the most loaded link. Fidelity: of the emulated network."
)
ABOUT_SAME_SPEED = (
    "Processor: of a core, what a worker's computing took, or what stood for it. Computing that was profiled minutes after "
    "the live run may be as much faster or slower as the machine has become; at the same speed: had the replay's computing "
    "taken the processor time of the live run's, shared by as many workers a core."
)


@dataclass(frozen=True)
class Pair:
    """A run, and another of the same labels but for the mode that is held against it."""

    title: str
    reference: pd.Series
    other: pd.Series


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="replay_table.py",
        description="Hold replays against live runs of the same trainings over the same networks, or simulations against "
        "replays.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example:\n  thinpipe run experiments/replay-against-live.json\n"
        "  python3 plotting/replay_table.py results/replay-against-live\n\n"
        "exit codes: 0 made, 1 the table could not be written, 2 wrong input",
    )
    parser.add_argument("results", type=Path, help="folder of the experiment's results")
    parser.add_argument(
        "--of", choices=MODES[1:], help="the mode to judge (default: replay where there are live runs, else simulate)"
    )
    parser.add_argument(
        "--again",
        type=Path,
        metavar="DIR",
        help="folder of results in which the runs that are the measure were made a second time: how far they are from "
        "themselves is then told",
    )
    add_destination(parser, *MARKERS_OF_NAME)
    options = parser.parse_args(arguments)
    return write_to_destination(
        "replay_table",
        lambda: table(load(options.results), options.of, load(options.again) if options.again else None),
        options,
        *markers_of(options.results),
    )


def table(results: Results, judged: str | None = None, again: Results | None = None) -> str:
    if judged is None:
        judged = "replay" if (results.runs["mode"] == "live").any() else "simulate"
    pairs = pairs_of(results, MODES[MODES.index(judged) - 1], judged)
    if not pairs:
        raise InputError(
            f'{results.directory}: no training was run in both of two modes to compare; sweep "mode": ["live", "replay"] '
            'or ["replay", "simulate"], as experiments/replay-against-live.json does'
        )
    parts, deviations = [], {name: [] for name in TOLERANCES}
    for title in sorted({pair.title for pair in pairs}, key=quantity_key):
        if title:
            parts.append(f"**{in_markdown(title)}**\n")
        parts.append(grid([row(results, pair, deviations) for pair in pairs if pair.title == title]))
    about = [ABOUT, ABOUT_SAME_SPEED] if deviations[SAME_SPEED] else [ABOUT]
    summaries = [summary(name, each, judged) for name, each in deviations.items() if each or name != SAME_SPEED]
    summaries += weights(pairs)
    if again is not None:
        summaries += repeatability(results, again, pairs)
    parts.append("".join(f"{line}\n" for line in [*about, *summaries]))
    parts.append(in_markdown(origin(pairs)) + "\n")
    return "\n".join(parts)


def pairs_of(results: Results, reference: str, judged: str) -> list[Pair]:
    """In order of method."""
    others = runs_by_key(results, judged)
    return [
        Pair(title_of(run), run, others[key])
        for key, run in runs_by_key(results, reference).items()
        if key in others
    ]


def runs_by_key(results: Results, mode: str) -> dict[tuple[str, str, str], pd.Series]:
    """The completed ones of that mode."""
    runs = results.runs[(results.runs.status == "completed") & (results.runs["mode"] == mode)]
    return {key_of(run): run for _, run in runs.iterrows()}


def axes_of(run: pd.Series) -> dict[str, str]:
    return {axis: value for axis, value in run.other_axes.items() if axis != "mode"}


def key_of(run: pd.Series) -> tuple[str, str, str]:
    return title_of(run), run.method, str(run["config.seed"])


def title_of(run: pd.Series) -> str:
    return ", ".join(f"{axis} = {value}" for axis, value in axes_of(run).items())


def row(results: Results, pair: Pair, deviations: dict[str, list[float]]) -> dict[str, str]:
    """The cells by heading; `deviations` gets what the judged run's times differ by, as shares."""
    modes = (pair.reference["mode"], pair.other["mode"])
    ratio_heading = f"{modes[1]} / {modes[0]}"
    cells = {"method": pair.reference.method}
    for name, unit, times in (
        ("time to target", "s", [time_to_target(results, run) for run in (pair.reference, pair.other)]),
        ("iteration", "ms", [1e3 * mean_iteration_s(run) for run in (pair.reference, pair.other)]),
    ):
        for mode, time in zip(modes, times):
            cells[f"{mode}, {name} ({unit})"] = UNKNOWN if time is None else three_digits(time)
        cells[f"{name}, {ratio_heading}"] = UNKNOWN
        if None not in times:
            cells[f"{name}, {ratio_heading}"] = f"{times[1] / times[0]:.3f}"
            deviations[name].append(times[1] / times[0] - 1)
    if (time_s := time_at_same_speed(results, pair)) is not None:
        ratio = time_s / time_to_target(results, pair.reference)
        for run in (pair.reference, pair.other):
            cells[f"{run['mode']}, processor (ms)"] = three_digits(1e3 * run["iteration_time_s.processor"])
        cells[f"{SAME_SPEED}, {ratio_heading}"] = f"{ratio:.3f}"
        deviations[SAME_SPEED].append(ratio - 1)
    for run in (pair.reference, pair.other):
        cells[f"{run['mode']}, exchange over its least"] = exchange_over_least(run)
    verdicts = [run["fidelity.verdict"] for run in (pair.reference, pair.other)]
    return cells | {"fidelity": " / ".join(UNKNOWN if pd.isna(each) else str(each) for each in verdicts)}


def exchange_over_least(run: pd.Series) -> str:
    least_s = run.get("predicted.exchange_time_s")
    if least_s is None or pd.isna(least_s) or least_s == 0:
        return UNKNOWN
    return f"{run['iteration_time_s.exchange'] / least_s:.2f}"


def time_to_target(results: Results, run: pd.Series) -> float | None:
    """Of the first target, where it was reached."""
    own = results.targets[results.targets.run_id == run.run_id]
    return float(own.train_time_s.iloc[0]) if len(own) and bool(own.reached.iloc[0]) else None


def time_at_same_speed(results: Results, pair: Pair) -> float | None:
    """The judged run's time to the target, had its workers' processors been as fast as the other run's."""
    processor_s = [run.get("iteration_time_s.processor") for run in (pair.reference, pair.other)]
    times = [time_to_target(results, run) for run in (pair.reference, pair.other)]
    if None in times or any(each is None or pd.isna(each) for each in processor_s):
        return None
    own = results.targets[results.targets.run_id == pair.other.run_id]
    workers_a_core = max(1.0, pair.other["config.workers"] / pair.other["provenance.cores"])
    return times[1] + own.iteration.iloc[0] * workers_a_core * (processor_s[0] - processor_s[1])


def mean_iteration_s(run: pd.Series) -> float:
    return float(run.train_time_s) / float(run.iterations)


def summary(name: str, deviations: Sequence[float], judged: str, how: str = "") -> str:
    if not deviations:
        return f"{name.capitalize()}: no pair has one."
    largest = max(deviations, key=abs)
    within = sum(abs(each) <= TOLERANCES[name] for each in deviations)
    return (
        f"{name.capitalize()}: {within} of {len(deviations)} of mode {judged}{how} are within {100 * TOLERANCES[name]:.0f} %; "
        f"the largest deviation is {100 * largest:+.1f} %."
    )


def weights(pairs: Sequence[Pair]) -> list[str]:
    """Whether live runs and those that were replayed are one training, or the same but for rounding."""
    hashes = [
        tuple(run.get("parameters_hash") for run in (pair.reference, pair.other))
        for pair in pairs
        if pair.reference["mode"] == "live"
    ]
    hashes = [each for each in hashes if all(isinstance(one, str) for one in each)]
    if not hashes:
        return []
    same = sum(live == replayed for live, replayed in hashes)
    return [f"Weights at the end, of live runs and of the trainings that were replayed: {same} of {len(hashes)} are equal to the bit."]


def repeatability(results: Results, again: Results, pairs: Sequence[Pair]) -> list[str]:
    """How far the reference runs are from themselves, which no prediction of them can be expected to undercut."""
    mode = pairs[0].reference["mode"]
    second = runs_by_key(again, mode)
    both = [(pair.reference, second[key]) for pair in pairs if (key := key_of(pair.reference)) in second]
    if not both:
        raise InputError(f"{again.directory}: no run of mode {mode} is also in {results.directory}")
    lines = []
    for name, time_of in (
        ("time to target", time_to_target),
        ("iteration", lambda _, run: mean_iteration_s(run)),
    ):
        times = [(time_of(results, first), time_of(again, other)) for first, other in both]
        deviations = [other / first - 1 for first, other in times if None not in (first, other)]
        lines.append(summary(name, deviations, mode, ", run a second time,"))
    return lines


def origin(pairs: Sequence[Pair]) -> str:
    runs = [run for pair in pairs for run in (pair.reference, pair.other)]

    def listed(column: str, digits: int | None = None) -> str:
        return ", ".join(sorted({str(run[column])[:digits] for run in runs}))

    return (
        f"modes {listed('mode')} · data {listed('config.dataset.name')} · {listed('config.workers')} workers · "
        f"cpu {listed('provenance.cpu')} ({listed('provenance.cores')} cores) · "
        f"commit {listed('provenance.git_commit', 10)} · run on {listed('provenance.started_at', 10)}"
    )


if __name__ == "__main__":
    sys.exit(main())
