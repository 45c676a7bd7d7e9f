#!/usr/bin/env python3
"""Whether replays predict what live runs of the same training take: a table."""
from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Sequence

import pandas as pd

from comparison import quantity_key
from load import InputError, Results, load
from markdown_table import UNKNOWN, in_markdown, three_digits, write_whole

HEADINGS = (
    "method",
    "live, time to target (s)",
    "replay, time to target (s)",
    "replay / live",
    "live, iteration (ms)",
    "replay, iteration (ms)",
    "replay / live",
    "fidelity",
)
ABOUT = (
    "Time to target: train time until the first of the run's targets was reached. Iteration: mean time; of a replay, over "
    "the training's steps. Fidelity: of the live run and of the replay."
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="replay_table.py",
        description="Hold replays against live runs of the same trainings over the same networks.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example:\n  thinpipe run experiments/replay-against-live.json\n"
        "  python3 plotting/replay_table.py results/replay-against-live\n\n"
        "exit codes: 0 made, 1 the table could not be written, 2 wrong input",
    )
    parser.add_argument("results", type=Path, help="folder of the experiment's results")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write it there (default: to standard output)")
    options = parser.parse_args(arguments)
    try:
        text = table(load(options.results))
        if options.output:
            write_whole(options.output, text)
        else:
            sys.stdout.write(text)
    except InputError as error:
        print(f"replay_table: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"replay_table: cannot write the table: {error}", file=sys.stderr)
        return 1
    return 0


def table(results: Results) -> str:
    pairs = pairs_of(results)
    if not pairs:
        raise InputError(
            f"{results.directory}: no training was run both live and as a replay; sweep \"mode\": "
            '["live", "replay"], as experiments/replay-against-live.json does'
        )
    parts, deviations = [], []
    for title in sorted({title for title, _, _ in pairs}, key=quantity_key):
        if title:
            parts.append(f"**{in_markdown(title)}**\n")
        lines = [list(HEADINGS), [":---"] + ["---:"] * (len(HEADINGS) - 1)]
        for each, live, replay in pairs:
            if each != title:
                continue
            cells, deviation = row(results, live, replay)
            lines.append(cells)
            deviations += [deviation] if deviation is not None else []
        parts.append("".join(f"| {' | '.join(line)} |\n" for line in lines))
    parts.append(f"{ABOUT}\n{summary(deviations)}\n")
    parts.append(in_markdown(origin(pairs)) + "\n")
    return "\n".join(parts)


def pairs_of(results: Results) -> list[tuple[str, pd.Series, pd.Series]]:
    """Panel title, live run and replay with the same labels but for the mode, in order of method."""
    completed = results.runs[results.runs.status == "completed"]
    by_mode = {
        mode: {key_of(run): run for _, run in completed[completed["mode"] == mode].iterrows()}
        for mode in ("live", "replay")
    }
    return [
        (title_of(run), run, by_mode["replay"][key])
        for key, run in by_mode["live"].items()
        if key in by_mode["replay"]
    ]


def axes_of(run: pd.Series) -> dict[str, str]:
    return {axis: value for axis, value in run.other_axes.items() if axis != "mode"}


def key_of(run: pd.Series) -> tuple[str, str, str]:
    return title_of(run), run.method, str(run["config.seed"])


def title_of(run: pd.Series) -> str:
    return ", ".join(f"{axis} = {value}" for axis, value in axes_of(run).items())


def row(results: Results, live: pd.Series, replay: pd.Series) -> tuple[list[str], float | None]:
    """The cells, and the replay's time to the target over the live run's, less 1."""
    times = [time_to_target(results, run) for run in (live, replay)]
    iterations = [1e3 * mean_iteration_s(run) for run in (live, replay)]
    ratio = times[1] / times[0] if None not in times else None
    cells = [
        in_markdown(live.method),
        *(UNKNOWN if time is None else three_digits(time) for time in times),
        UNKNOWN if ratio is None else f"{ratio:.3f}",
        *(three_digits(time) for time in iterations),
        f"{iterations[1] / iterations[0]:.3f}",
        " / ".join(str(run["fidelity.verdict"]) for run in (live, replay)),
    ]
    return cells, None if ratio is None else ratio - 1


def time_to_target(results: Results, run: pd.Series) -> float | None:
    """Of the first target, where it was reached."""
    own = results.targets[results.targets.run_id == run.run_id]
    return float(own.train_time_s.iloc[0]) if len(own) and bool(own.reached.iloc[0]) else None


def mean_iteration_s(run: pd.Series) -> float:
    return float(run.train_time_s) / float(run.iterations)


def summary(deviations: Sequence[float]) -> str:
    if not deviations:
        return "No target was reached by both of a pair."
    largest = max(deviations, key=abs)
    within = sum(abs(each) <= 0.05 for each in deviations)
    return (
        f"Times to the target of {within} of {len(deviations)} replays are within 5 % of the live run's; "
        f"the largest deviation is {100 * largest:+.1f} %."
    )


def origin(pairs: Sequence[tuple[str, pd.Series, pd.Series]]) -> str:
    runs = [run for _, *both in pairs for run in both]

    def listed(column: str, digits: int | None = None) -> str:
        return ", ".join(sorted({str(run[column])[:digits] for run in runs}))

    return (
        f"modes live and replay · data {listed('config.dataset.name')} · {listed('config.workers')} workers · "
        f"cpu {listed('provenance.cpu')} ({listed('provenance.cores')} cores) · "
        f"commit {listed('provenance.git_commit', 10)} · run on {listed('provenance.started_at', 10)}"
    )


if __name__ == "__main__":
    sys.exit(main())
