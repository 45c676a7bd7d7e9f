# SPDX-License-Identifier: Apache-2.0
"""Where runs come from: how they ran, on what data, with which seeds, on which machine, at which commit and when."""
from __future__ import annotations

from typing import Iterable

import pandas as pd

MOST_LISTED_SEEDS = 6


def origin_of(runs: pd.DataFrame) -> list[str]:
    """Returns the parts of the origin, without the day."""
    return [
        f"mode {listed(runs['mode'])}",
        *task_of(runs),
        f"{', '.join(whole(runs['config.workers'].dropna().drop_duplicates().sort_values())) or 'unknown'} workers",
        seeds(runs),
        f"cpu {machines(runs)}",
        f"commit {commits(runs)}",
    ]


def whole_origin(runs: pd.DataFrame) -> str:
    """Returns the origin in one line, with the experiment and the days."""
    return " · ".join([listed(runs.experiment), *origin_of(runs), f"run on {days(runs)}"])


def task_of(runs: pd.DataFrame) -> Iterable[str]:
    """Yields the data and the model, and the command of a script, which brings its own."""
    if not runs["config.trainer.command"].notna().all():
        yield f"data {listed(runs['config.dataset.name'])}"
        yield f"model {listed(runs['config.model.name'])}"
    commands = runs["config.trainer.command"].dropna().map(" ".join)
    if len(commands):
        yield f"script {listed(commands)}"


def days(runs: pd.DataFrame) -> str:
    """Returns the first and the last day of the runs."""
    known = sorted(set(runs["provenance.started_at"].dropna().str[:10])) or ["an unknown day"]
    return " to ".join(dict.fromkeys((known[0], known[-1])))


def machines(runs: pd.DataFrame) -> str:
    each = zip(runs["provenance.cpu"], whole(runs["provenance.cores"]))
    return ", ".join(sorted({f"{cpu} ({cores} cores)" for cpu, cores in each}))


def seeds(runs: pd.DataFrame) -> str:
    """Returns the runs' seeds: "seed 1", "seeds 1, 5" or "seeds 1–3"; only their number if more cannot be listed."""
    numbers = sorted({int(seed) for seed in runs["config.seed"].dropna()})
    if not numbers:
        return "seed unknown"
    if len(numbers) == 1:
        return f"seed {numbers[0]}"
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"seeds {numbers[0]}–{numbers[-1]}"
    return f"seeds {', '.join(map(str, numbers))}" if len(numbers) <= MOST_LISTED_SEEDS else f"{len(numbers)} seeds"


def commits(runs: pd.DataFrame) -> str:
    names = {
        str(commit)[:10] + (" + uncommitted changes" if dirty is True else "")
        for commit, dirty in zip(runs["provenance.git_commit"].fillna("unknown"), runs["provenance.dirty"])
    }
    return ", ".join(sorted(names))


def whole(counts: pd.Series) -> pd.Series:
    """Returns counts as text: a column with a missing value has floating-point numbers."""
    return counts.map(lambda count: f"{count:.0f}", na_action="ignore")


def listed(values: pd.Series) -> str:
    return ", ".join(sorted({str(value) for value in values.dropna()})) or "unknown"
