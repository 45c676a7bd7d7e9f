#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares times of the same training in two modes in a table: replays with live runs, simulations with replays, or live
runs with those of a cluster."""
from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Callable, Sequence

import pandas as pd

from noise import noise_of
from shared.comparison import in_words, quantity_key
from shared.destination import MARKERS_OF_NAME, markers_of, write_to_destination
from shared.load import Results, load
from shared.markdown_table import UNKNOWN, grid, in_markdown, noise_notes, records_parser
from shared.number_text import ratio_text, three_digits, time_text
from shared.origin import whole_origin
from shared.report import InputError, Question

# Each mode, with the one that it stands for.
REFERENCES = {"live": "cluster", "replay": "live", "simulate": "replay"}
SAME_SPEED = "time to target at the same speed"
TOLERANCES = {"time to target": 0.05, SAME_SPEED: 0.05, "iteration": 0.1}
ABOUT = (
    "Time to target: train time until the run reached its target. Iteration: mean time; for a replay or "
    "simulation, over the steps of the training run. Exchange: time inside collectives, without the production of codes "
    "during them; its lower bound is the transfer time of its bytes over the most loaded link. Fidelity: of the emulated "
    "network."
)
ABOUT_REPETITIONS = "Times are means over {} runs of each training and mode, which alternated."
ABOUT_SAME_SPEED = (
    "CPU: a worker's CPU time per iteration for compute or, in a replay, for its emulation. The profile is measured minutes "
    "after the live run, when the machine may be faster or slower. At the same speed: the replay's time if its compute "
    "had taken the live run's CPU time, given the number of workers per core."
)


# A run, and the run of another mode that has the same labels otherwise.
Turn = tuple[pd.Series, pd.Series]
# Returns a run's value; None if it has none.
Quantity = Callable[[pd.Series], float | None]


@dataclass(frozen=True)
class Pair:
    """The runs of a training in two modes to compare, with one turn from each results folder."""

    title: str
    method: str
    turns: Sequence[Turn]

    @property
    def modes(self) -> tuple[str, str]:
        return tuple(run["mode"] for run in self.turns[0])

    @property
    def runs(self) -> pd.DataFrame:
        return pd.DataFrame([run for turn in self.turns for run in turn])

    def means(self, quantity: Quantity) -> list[float | None]:
        """Returns the means over the turns, of the reference and the other; None if a run lacks the quantity."""
        return [mean([quantity(run) for run in runs]) for runs in zip(*self.turns)]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = records_parser(
        "replay_table",
        "Compare replays with live runs of the same training over the same network, simulations with replays, or emulated\n"
        "networks with the real one of a cluster.",
        "  thinpipe run experiments/replay-against-live.json\n"
        "  python3 plotting/replay_table.py results/replay-against-live\n\n"
        "example with several repetitions:\n"
        "  for turn in 1 2 3; do\n"
        "    thinpipe run experiments/replay-against-live.json --results results/turn-$turn\n"
        "  done\n"
        "  python3 plotting/replay_table.py results/turn-*/replay-against-live",
        MARKERS_OF_NAME,
        "folder of the experiment's results; several folders are repetitions: times are then their means, and the "
        "deviations of single runs are listed",
        several=True,
    )
    parser.add_argument(
        "--of",
        choices=list(REFERENCES),
        help="the mode to judge (default: replay if there are live runs, else simulate; with runs of mode cluster, live)",
    )
    options = parser.parse_args(arguments)

    def make() -> str:
        return table([load(folder, Question.of(options)) for folder in options.results], options.of)

    return write_to_destination("replay_table", make, options, *markers_of(options.results[0]))


def table(times: Sequence[Results], judged: str | None = None) -> str:
    present = {mode for results in times for mode in results.runs["mode"]}
    if judged is None:
        judged = "live" if "cluster" in present else "replay" if "live" in present else "simulate"
    reference = REFERENCES[judged]
    pairs = pairs_of(times, reference, judged)
    if not pairs:
        raise InputError(
            f'{times[0].directory}: no training has runs in two modes to compare; sweep "mode": ["live", "replay"], '
            '["replay", "simulate"] or ["cluster", "live"], as experiments/replay-against-live.json does'
        )
    parts, deviations = [], {name: [] for name in TOLERANCES}
    for title in sorted({pair.title for pair in pairs}, key=quantity_key):
        if title:
            parts.append(f"**{in_markdown(title)}**\n")
        parts.append(grid(with_equal_headings([row(pair, deviations) for pair in pairs if pair.title == title])))
    about = [ABOUT]
    if len(times) > 1:
        about.append(ABOUT_REPETITIONS.format(len(times)))
    if deviations[SAME_SPEED]:
        about.append(ABOUT_SAME_SPEED)
    summaries = [
        summary(name, each, f"times in mode {judged}", f"mode {reference}")
        for name, each in deviations.items()
        if each or name != SAME_SPEED
    ]
    summaries += weights(pairs)
    if len(times) > 1:
        summaries += repeatability(pairs)
    runs = pd.concat([pair.runs for pair in pairs])
    parts.append("".join(f"{line}\n" for line in [*about, *summaries, *noise_notes(runs)]))
    parts.append(in_markdown(whole_origin(runs)) + "\n")
    return "\n".join(parts)


def pairs_of(times: Sequence[Results], reference: str, judged: str) -> list[Pair]:
    """Returns the pairs in order of method. Raises InputError if one is missing in some of the folders."""
    turns: dict[tuple[str, str, str], list[Turn]] = {}
    for results in times:
        others = runs_by_key(results, judged)
        for key, run in runs_by_key(results, reference).items():
            if key in others:
                turns.setdefault(key, []).append((run, others[key]))
    incomplete = [key for key, each in turns.items() if len(each) < len(times)]
    if incomplete:
        title, method, seed = incomplete[0]
        raise InputError(
            f"{', '.join(str(results.directory) for results in times)}: not each has completed runs of {method} ({title}, "
            f"seed {seed}) in modes {reference} and {judged}; do the missing ones with thinpipe run"
        )
    return [Pair(title, method, each) for (title, method, _), each in turns.items()]


def runs_by_key(results: Results, mode: str) -> dict[tuple[str, str, str], pd.Series]:
    """Returns the completed runs of that mode; simulations only of ideal workers."""
    runs = results.runs[(results.runs.status == "completed") & (results.runs["mode"] == mode)]
    return {key_of(run): run for _, run in runs.iterrows() if not has_machine(run)}


def has_machine(run: pd.Series) -> bool:
    """Returns whether the run is a simulation of workers that share a machine's cores."""
    cores = run.get("replay.machine.cores")
    return cores is not None and not pd.isna(cores)


def axes_of(run: pd.Series) -> dict[str, str]:
    return {axis: value for axis, value in run.other_axes.items() if axis != "mode"}


def key_of(run: pd.Series) -> tuple[str, str, str]:
    return title_of(run), run.method, str(run["config.seed"])


def title_of(run: pd.Series) -> str:
    return in_words(axes_of(run))


def row(pair: Pair, deviations: dict[str, list[float]]) -> dict[str, str]:
    """Returns the cells by heading. Adds to `deviations` by how much the judged runs' times differ, as shares."""
    ratio_heading = f"{pair.modes[1]} / {pair.modes[0]}"
    cells = {"method": pair.method}
    noise = noise_of(pair.runs)
    of_iterations = noise.iteration_time if noise else 0.0
    of_targets = noise.time_to_target or of_iterations if noise else 0.0
    for name, unit, factor, quantity, varying in (
        ("time to target", "s", 1, time_to_target, of_targets),
        ("iteration", "ms", 1e3, mean_iteration_s, of_iterations),
    ):
        times = pair.means(quantity)
        for mode, time in zip(pair.modes, times):
            shown = UNKNOWN if time is None else time_text(varying)(factor * time, factor * time)
            cells[f"{mode}, {name} ({unit})"] = shown
        cells[f"{name}, {ratio_heading}"] = UNKNOWN
        if None not in times:
            cells[f"{name}, {ratio_heading}"] = of_two(varying, times[1] / times[0])
            deviations[name].append(times[1] / times[0] - 1)
    if (time_s := mean([time_at_same_speed(turn) for turn in pair.turns])) is not None:
        ratio = time_s / pair.means(time_to_target)[0]
        for mode, processor_s in zip(pair.modes, pair.means(processor_time_s)):
            cells[f"{mode}, CPU (ms)"] = three_digits(1e3 * processor_s)
        cells[f"{SAME_SPEED}, {ratio_heading}"] = of_two(of_targets, ratio)
        deviations[SAME_SPEED].append(ratio - 1)
    for mode, factor in zip(pair.modes, pair.means(exchange_over_least)):
        cells[f"{mode}, exchange / lower bound"] = UNKNOWN if factor is None else f"{factor:.2f}"
    return cells | {"fidelity": " / ".join(verdicts(runs) for runs in zip(*pair.turns))}


def of_two(noise: float, ratio: float) -> str:
    """Returns the text of a ratio of two times that vary."""
    return ratio_text(math.sqrt(2.0) * noise)(ratio, ratio)


def with_equal_headings(rows: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Fills the cells of rows without a CPU time, whose run did not reach the target."""
    return [{heading: each.get(heading, UNKNOWN) for heading in max(rows, key=len)} for each in rows]


def verdicts(runs: Sequence[pd.Series]) -> str:
    """Returns the verdict of all runs or, if they differ, that of each."""
    each = [UNKNOWN if pd.isna(run["fidelity.verdict"]) else str(run["fidelity.verdict"]) for run in runs]
    return each[0] if len(set(each)) == 1 else ", ".join(each)


def mean(values: Sequence[float | None]) -> float | None:
    return None if None in values else sum(values) / len(values)


def exchange_over_least(run: pd.Series) -> float | None:
    least_s = run.get("predicted.exchange_time_s")
    if least_s is None or pd.isna(least_s) or least_s == 0:
        return None
    exchange_s = run["iteration_time_s.exchange"]  # external trainers, such as pytorch-ddp, do not know it
    return None if pd.isna(exchange_s) else exchange_s / least_s


def processor_time_s(run: pd.Series) -> float | None:
    time_s = run.get("iteration_time_s.cpu")
    return None if time_s is None or pd.isna(time_s) else float(time_s)


def time_to_target(run: pd.Series) -> float | None:
    return run.target_time_s if run.reached else None


def time_at_same_speed(turn: Turn) -> float | None:
    """Returns the judged run's time to the target at the reference run's CPU speed; None if a value is missing."""
    times, processor_s = ([quantity(run) for run in turn] for quantity in (time_to_target, processor_time_s))
    if None in times or None in processor_s:
        return None
    judged = turn[1]
    workers_a_core = max(1.0, judged["config.workers"] / judged["provenance.cores"])
    return times[1] + judged.target_iteration * workers_a_core * (processor_s[0] - processor_s[1])


def mean_iteration_s(run: pd.Series) -> float:
    return float(run.train_time_s) / float(run.iterations)


def summary(name: str, deviations: Sequence[float], of: str, reference: str) -> str:
    if not deviations:
        return f"{name.capitalize()}: none was measured."
    largest = max(deviations, key=abs)
    within = sum(abs(each) <= TOLERANCES[name] for each in deviations)
    return (
        f"{name.capitalize()}: {within} of {len(deviations)} {of} are within {100 * TOLERANCES[name]:.0f} % of {reference}; "
        f"the largest deviation is {100 * largest:+.1f} %."
    )


def weights(pairs: Sequence[Pair]) -> list[str]:
    """Returns a line that counts the live runs with the same final weights as the run that was replayed, or as that of the
    cluster."""
    hashes = [
        tuple(run.get("parameters_hash") for run in turn)
        for pair in pairs
        for turn in pair.turns
        if "live" in pair.modes
    ]
    hashes = [each for each in hashes if all(isinstance(one, str) for one in each)]
    if not hashes:
        return []
    same = sum(one == other for one, other in hashes)
    other = "run on the cluster" if pairs[0].modes[0] == "cluster" else "replayed training run"
    return [f"Final weights: {same} of {len(hashes)} live runs are equal, bit for bit, to the {other}."]


def repeatability(pairs: Sequence[Pair]) -> list[str]:
    """Returns lines on the deviations of single runs, which show how much of the deviations is chance."""
    lines = []
    reference, judged = pairs[0].modes
    for name, quantity in (("time to target", time_to_target), ("iteration", mean_iteration_s)):
        single, from_others = [], []
        for pair in pairs:
            times = [[quantity(run) for run in turn] for turn in pair.turns]
            if any(None in each for each in times):
                continue
            single += [other / own - 1 for own, other in times]
            references = [own for own, _ in times]
            from_others += [own / mean_of_others(references, i) - 1 for i, own in enumerate(references)]
        lines.append(summary(name, single, f"single runs of mode {judged}", f"the run of mode {reference} beside them"))
        lines.append(summary(name, from_others, f"single runs of mode {reference}", "the mean of their repetitions"))
    return lines


def mean_of_others(values: Sequence[float], which: int) -> float:
    return (sum(values) - values[which]) / (len(values) - 1)


if __name__ == "__main__":
    sys.exit(main())
