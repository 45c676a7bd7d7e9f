# SPDX-License-Identifier: Apache-2.0
"""The small print below figures and tables: the origin of the numbers, and the caveats about them."""
from __future__ import annotations

import textwrap
from typing import Any, Iterable

import pandas as pd

from shared.comparison import Comparison, also_differing
from shared.report import VERDICT_MARKS

MEANINGS_OF_MARKS = {"degraded": "network emulation degraded", "not judged": "network emulation not judged"}
# Columns with the verdicts on networks: of runs, and of speed-ups.
VERDICTS, OF_SPEED_UPS = ("fidelity.verdict",), "_fidelity"
MOST_LISTED_SEEDS = 6
DEFAULT_CONGESTION_CONTROL = "cubic"
GIGABYTE = 1e9


def origin(comparison: Comparison, more: Iterable[str] = ()) -> str:
    """Returns the origin of the numbers, and the caveats about them."""
    runs = comparison.runs
    parts = (
        f"mode {listed(runs['mode'])}",
        *task_of(runs),
        f"{listed(whole(runs['config.workers']))} workers",
        seeds(runs),
        f"cpu {listed(runs['provenance.cpu'])} ({listed(whole(runs['provenance.cores']))} cores)",
        f"commit {commits(runs)}",
    )
    return " · ".join([*parts, *more, *caveats(comparison)])


def caption(comparison: Comparison) -> str:
    """Returns the small print below a figure: the origin with the network and the machine, and what is drawn."""
    more = [*network_of(comparison.runs), *machine_of(comparison.runs)]
    if has_spread(comparison):
        more.append(f"small dots and thin curves are runs, large dots means; lines and {comparison.results.spread_note}")
    held = listed(whole(comparison.runs["hold"]))
    return origin(comparison, [*more, *([f"target held for {held} evaluations"] if held not in ("1", "unknown") else [])])


def task_of(runs: pd.DataFrame) -> Iterable[str]:
    """Yields the data and the model, and the command of a script, which brings its own."""
    if not runs["config.trainer.command"].notna().all():
        yield f"data {listed(runs['config.dataset.name'])}"
        yield f"model {listed(runs['config.model.name'])}"
    commands = runs["config.trainer.command"].dropna().map(" ".join)
    if len(commands):
        yield f"script {listed(commands)}"


def network_of(runs: pd.DataFrame) -> Iterable[str]:
    """Yields the collective, the burst and the delay of the bottlenecks, and a congestion control other than the default."""
    if runs["config.collective.name"].notna().any():
        yield f"collective {listed(runs['config.collective.name'])}"
    bottlenecks = [link for links in runs["config.topology.links"] for link in bottlenecks_of(links)]
    bursts = {link["burst"] for link in bottlenecks if "burst" in link}
    if bursts:
        yield f"burst {', '.join(sorted(bursts))}"
    if bottlenecks:
        yield f"delay of bottlenecks {', '.join(sorted({link.get('delay', '0 s') for link in bottlenecks}))}"
    controls = set(runs["provenance.congestion_control"].dropna()) if "provenance.congestion_control" in runs else set()
    if controls - {DEFAULT_CONGESTION_CONTROL}:
        yield f"congestion control {', '.join(sorted(controls))}"


def bottlenecks_of(links: Any) -> list[dict[str, Any]]:
    """Returns the bottlenecks of a topology; empty on loopback or without a network."""
    return [link for link in links if link.get("bottleneck")] if isinstance(links, list) else []


def machine_of(runs: pd.DataFrame) -> Iterable[str]:
    """Yields the machine's memory, GPU and kernel. The CPU is part of every origin."""
    sizes = {f"{size / GIGABYTE:.0f} GB" for size in runs["provenance.memory_bytes"].dropna()}
    if sizes:
        yield f"memory {', '.join(sorted(sizes))}"
    if runs["provenance.gpu"].notna().any():
        yield f"gpu {listed(runs['provenance.gpu'])}"
    if runs["provenance.kernel"].notna().any():
        yield f"kernel {listed(runs['provenance.kernel'])}"


def has_spread(comparison: Comparison) -> bool:
    return any(panel.runs.group.duplicated().any() for panel in comparison.panels)


def whole(counts: pd.Series) -> pd.Series:
    """Returns counts as text: a column with a missing value has floating-point numbers."""
    return counts.map(lambda count: f"{count:.0f}", na_action="ignore")


def listed(values: pd.Series) -> str:
    return ", ".join(sorted({str(value) for value in values.dropna()})) or "unknown"


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


def caveats(comparison: Comparison) -> list[str]:
    notes = []
    runs = comparison.runs
    # A speed-up's verdict covers its baseline, which a selection may leave out.
    notes += meanings_of_marks(
        verdict for name in runs.columns if name in VERDICTS or name.endswith(OF_SPEED_UPS) for verdict in runs[name]
    )
    if comparison.runs["network_events"].map(any_happened).any():
        notes.append("links changed during the runs")
    if not comparison.target_was_preset:
        notes.append("target chosen after the runs")
    differing = sorted({name for panel in comparison.panels for name in also_differing(panel)})
    if differing:
        notes.append(f"methods also differ in {', '.join(differing)}")
    return notes + [textwrap.shorten(line, 90, placeholder=" …") for line in incomplete_runs(comparison)]


def meanings_of_marks(verdicts: Iterable[Any]) -> list[str]:
    """Returns the meaning of each mark that these verdicts have."""
    present = set(verdicts)
    return [f"{VERDICT_MARKS[name]} {meaning}" for name, meaning in MEANINGS_OF_MARKS.items() if name in present]


def incomplete_runs(comparison: Comparison) -> list[str]:
    """Returns a line for each run that did not complete, with the reason."""
    runs = comparison.runs[comparison.runs.status != "completed"]
    return [
        f"{comparison.shown(run.method)}{''.join(f', {value}' for value in run.other_axes.values())}: {run.status}"
        + (f" ({run.message})" if isinstance(run.message, str) else "")
        for run in runs.rename(columns={"error.message": "message"}).itertuples()
    ]


def any_happened(events: object) -> bool:
    """Returns whether a link of the run changed. Older records have no network_events; a run may end before any."""
    return isinstance(events, list) and any(event["confirmed_s"] is not None for event in events)
