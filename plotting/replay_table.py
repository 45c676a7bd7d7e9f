#!/usr/bin/env python3
"""Whether replays predict what live runs of the same training take, and simulations what replays do: a table."""
from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Sequence

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
    "simulation, over the training's steps. Exchange: time inside collectives, but for codes that are made "
    "meanwhile; its least is what their bytes take over the most loaded link. Fidelity: of the emulated network."
)
ABOUT_REPETITIONS = "Times are means over {} runs of each training and mode, which took turns."
ABOUT_SAME_SPEED = (
    "Processor: of a core, what a worker's computing took, or what stood for it. Computing that was profiled minutes after "
    "the live run may be as much faster or slower as the machine has become; at the same speed: had the replay's computing "
    "taken the processor time of the live run's, shared by as many workers a core."
)


@dataclass(frozen=True)
class Turn:
    """A run, and the one of the same labels but for the mode that was made next to it."""

    results: Results
    reference: pd.Series
    other: pd.Series


@dataclass(frozen=True)
class Pair:
    """The runs of a training in two modes, of which one is held against the other, each turn from a folder of its own."""

    title: str
    method: str
    turns: Sequence[Turn]

    @property
    def modes(self) -> tuple[str, str]:
        return self.turns[0].reference["mode"], self.turns[0].other["mode"]

    def runs(self) -> list[pd.Series]:
        return [run for turn in self.turns for run in (turn.reference, turn.other)]

    def means(self, quantity: Callable[[Results, pd.Series], float | None]) -> list[float | None]:
        """Of the reference and of the other, over the turns; None where a run has no such quantity."""
        return [
            mean([quantity(turn.results, run) for turn, run in zip(self.turns, runs)])
            for runs in zip(*((turn.reference, turn.other) for turn in self.turns))
        ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="replay_table.py",
        description="Hold replays against live runs of the same trainings over the same networks, or simulations against "
        "replays.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example:\n  thinpipe run experiments/replay-against-live.json\n"
        "  python3 plotting/replay_table.py results/replay-against-live\n\n"
        "example of runs that were made several times:\n"
        "  for turn in 1 2 3; do\n"
        "    thinpipe run experiments/replay-against-live.json --results results/turn-$turn\n"
        "  done\n"
        "  python3 plotting/replay_table.py results/turn-*/replay-against-live\n\n"
        "exit codes: 0 made, 1 the table could not be written, 2 wrong input",
    )
    parser.add_argument(
        "results",
        type=Path,
        nargs="+",
        help="folder of the experiment's results; several, of as many times it was run: times are then means, and how far "
        "runs are from their repetitions is told",
    )
    parser.add_argument(
        "--of", choices=MODES[1:], help="the mode to judge (default: replay where there are live runs, else simulate)"
    )
    add_destination(parser, *MARKERS_OF_NAME)
    options = parser.parse_args(arguments)
    return write_to_destination(
        "replay_table",
        lambda: table([load(folder) for folder in options.results], options.of),
        options,
        *markers_of(options.results[0]),
    )


def table(times: Sequence[Results], judged: str | None = None) -> str:
    if judged is None:
        judged = "replay" if any((results.runs["mode"] == "live").any() for results in times) else "simulate"
    pairs = pairs_of(times, MODES[MODES.index(judged) - 1], judged)
    if not pairs:
        raise InputError(
            f'{times[0].directory}: no training was run in both of two modes to compare; sweep "mode": ["live", "replay"] '
            'or ["replay", "simulate"], as experiments/replay-against-live.json does'
        )
    parts, deviations = [], {name: [] for name in TOLERANCES}
    for title in sorted({pair.title for pair in pairs}, key=quantity_key):
        if title:
            parts.append(f"**{in_markdown(title)}**\n")
        parts.append(grid([row(pair, deviations) for pair in pairs if pair.title == title]))
    about = [ABOUT]
    if len(times) > 1:
        about.append(ABOUT_REPETITIONS.format(len(times)))
    if deviations[SAME_SPEED]:
        about.append(ABOUT_SAME_SPEED)
    summaries = [
        summary(name, each, f"mode {judged}") for name, each in deviations.items() if each or name != SAME_SPEED
    ]
    summaries += weights(pairs)
    if len(times) > 1:
        summaries += repeatability(pairs)
    parts.append("".join(f"{line}\n" for line in [*about, *summaries]))
    parts.append(in_markdown(origin(pairs)) + "\n")
    return "\n".join(parts)


def pairs_of(times: Sequence[Results], reference: str, judged: str) -> list[Pair]:
    """In order of method. Of runs that were made several times, those that were made so both ways each time."""
    turns: dict[tuple[str, str, str], list[Turn]] = {}
    for results in times:
        others = runs_by_key(results, judged)
        for key, run in runs_by_key(results, reference).items():
            if key in others:
                turns.setdefault(key, []).append(Turn(results, run, others[key]))
    incomplete = [key for key, each in turns.items() if len(each) < len(times)]
    if incomplete:
        title, method, seed = incomplete[0]
        raise InputError(
            f"{', '.join(str(results.directory) for results in times)}: {method} ({title}, seed {seed}) is not completed "
            f"in modes {reference} and {judged} in each; thinpipe run makes what is missing"
        )
    return [Pair(title, method, each) for (title, method, _), each in turns.items()]


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


def row(pair: Pair, deviations: dict[str, list[float]]) -> dict[str, str]:
    """The cells by heading; `deviations` gets what the judged runs' times differ by, as shares."""
    ratio_heading = f"{pair.modes[1]} / {pair.modes[0]}"
    cells = {"method": pair.method}
    for name, unit, factor, quantity in (
        ("time to target", "s", 1, time_to_target),
        ("iteration", "ms", 1e3, mean_iteration_s),
    ):
        times = pair.means(quantity)
        for mode, time in zip(pair.modes, times):
            cells[f"{mode}, {name} ({unit})"] = UNKNOWN if time is None else three_digits(factor * time)
        cells[f"{name}, {ratio_heading}"] = UNKNOWN
        if None not in times:
            cells[f"{name}, {ratio_heading}"] = f"{times[1] / times[0]:.3f}"
            deviations[name].append(times[1] / times[0] - 1)
    if (time_s := mean([time_at_same_speed(turn) for turn in pair.turns])) is not None:
        ratio = time_s / pair.means(time_to_target)[0]
        for mode, processor_s in zip(pair.modes, pair.means(processor_time_s)):
            cells[f"{mode}, processor (ms)"] = three_digits(1e3 * processor_s)
        cells[f"{SAME_SPEED}, {ratio_heading}"] = f"{ratio:.3f}"
        deviations[SAME_SPEED].append(ratio - 1)
    for mode, factor in zip(pair.modes, pair.means(exchange_over_least)):
        cells[f"{mode}, exchange over its least"] = UNKNOWN if factor is None else f"{factor:.2f}"
    return cells | {"fidelity": " / ".join(verdicts(runs) for runs in zip(*((turn.reference, turn.other) for turn in pair.turns)))}


def verdicts(runs: Sequence[pd.Series]) -> str:
    """The one of all, or each that there is."""
    each = [UNKNOWN if pd.isna(run["fidelity.verdict"]) else str(run["fidelity.verdict"]) for run in runs]
    return each[0] if len(set(each)) == 1 else ", ".join(each)


def mean(values: Sequence[float | None]) -> float | None:
    return None if None in values else sum(values) / len(values)


def exchange_over_least(_: Results, run: pd.Series) -> float | None:
    least_s = run.get("predicted.exchange_time_s")
    if least_s is None or pd.isna(least_s) or least_s == 0:
        return None
    return run["iteration_time_s.exchange"] / least_s


def processor_time_s(_: Results, run: pd.Series) -> float | None:
    time_s = run.get("iteration_time_s.processor")
    return None if time_s is None or pd.isna(time_s) else float(time_s)


def time_to_target(results: Results, run: pd.Series) -> float | None:
    """Of the first target, where it was reached."""
    own = results.targets[results.targets.run_id == run.run_id]
    return float(own.train_time_s.iloc[0]) if len(own) and bool(own.reached.iloc[0]) else None


def time_at_same_speed(turn: Turn) -> float | None:
    """The judged run's time to the target, had its workers' processors been as fast as the other run's."""
    runs = (turn.reference, turn.other)
    processor_s = [processor_time_s(turn.results, run) for run in runs]
    times = [time_to_target(turn.results, run) for run in runs]
    if None in times or None in processor_s:
        return None
    own = turn.results.targets[turn.results.targets.run_id == turn.other.run_id]
    workers_a_core = max(1.0, turn.other["config.workers"] / turn.other["provenance.cores"])
    return times[1] + own.iteration.iloc[0] * workers_a_core * (processor_s[0] - processor_s[1])


def mean_iteration_s(_: Results, run: pd.Series) -> float:
    return float(run.train_time_s) / float(run.iterations)


def summary(name: str, deviations: Sequence[float], of: str) -> str:
    if not deviations:
        return f"{name.capitalize()}: no pair has one."
    largest = max(deviations, key=abs)
    within = sum(abs(each) <= TOLERANCES[name] for each in deviations)
    return (
        f"{name.capitalize()}: {within} of {len(deviations)} of {of} are within {100 * TOLERANCES[name]:.0f} %; "
        f"the largest deviation is {100 * largest:+.1f} %."
    )


def weights(pairs: Sequence[Pair]) -> list[str]:
    """Whether live runs and those that were replayed are one training, or the same but for rounding."""
    hashes = [
        tuple(run.get("parameters_hash") for run in (turn.reference, turn.other))
        for pair in pairs
        for turn in pair.turns
        if turn.reference["mode"] == "live"
    ]
    hashes = [each for each in hashes if all(isinstance(one, str) for one in each)]
    if not hashes:
        return []
    same = sum(live == replayed for live, replayed in hashes)
    return [f"Weights at the end, of live runs and of the trainings that were replayed: {same} of {len(hashes)} are equal to the bit."]


def repeatability(pairs: Sequence[Pair]) -> list[str]:
    """How far single runs are from what they are judged by: which of the deviations is chance."""
    lines = []
    reference, judged = pairs[0].modes
    for name, quantity in (("time to target", time_to_target), ("iteration", mean_iteration_s)):
        single, from_others = [], []
        for pair in pairs:
            times = [[quantity(turn.results, run) for run in (turn.reference, turn.other)] for turn in pair.turns]
            if any(None in each for each in times):
                continue
            single += [other / own - 1 for own, other in times]
            references = [own for own, _ in times]
            from_others += [own / mean_of_others(references, i) - 1 for i, own in enumerate(references)]
        lines.append(summary(name, single, f"the single runs of mode {judged}, by the run of mode {reference} beside them,"))
        lines.append(summary(name, from_others, f"the single runs of mode {reference}, by the mean of their repetitions,"))
    return lines


def mean_of_others(values: Sequence[float], which: int) -> float:
    return (sum(values) - values[which]) / (len(values) - 1)


def origin(pairs: Sequence[Pair]) -> str:
    runs = [run for pair in pairs for run in pair.runs()]

    def listed(column: str, digits: int | None = None) -> str:
        return ", ".join(sorted({str(run[column])[:digits] for run in runs}))

    return (
        f"modes {listed('mode')} · data {listed('config.dataset.name')} · {listed('config.workers')} workers · "
        f"cpu {listed('provenance.cpu')} ({listed('provenance.cores')} cores) · "
        f"commit {listed('provenance.git_commit', 10)} · run on {listed('provenance.started_at', 10)}"
    )


if __name__ == "__main__":
    sys.exit(main())
