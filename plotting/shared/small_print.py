# SPDX-License-Identifier: Apache-2.0
"""The small print below figures and tables: the origin of the numbers, and the caveats about them."""
from __future__ import annotations

import re
import textwrap
from typing import Any, Iterable

import pandas as pd

from shared.comparison import Comparison, also_differing, in_words, quantity_key, shared_axes
from shared.origin import listed, origin_of, whole
from shared.report import VERDICT_MARKS, Bounded, Group

MEANINGS_OF_MARKS = {"degraded": "network emulation degraded", "not judged": "network emulation not judged"}
# Columns with the verdicts on networks: of runs, and of speed-ups.
VERDICTS, OF_SPEED_UPS = ("fidelity.verdict",), "_fidelity"
DEFAULT_CONGESTION_CONTROL = "cubic"
# Axes that other parts of the small print have.
IN_OTHER_PARTS = ("mode", "bottleneck.rate")
GIGABYTE = 1e9
MEASURED_ELSEWHERE = re.compile(r"(.*) was measured by another machine or program: ")


def origin(comparison: Comparison, more: Iterable[str] = ()) -> str:
    """Returns the origin of the numbers, and the caveats about them."""
    return " · ".join([*origin_of(comparison.runs), *more, *caveats(comparison)])


# What is drawn of several seeds. {spread} is the report's meaning of intervals.
OF_CURVES = "thin curves are runs, thick ones means"
OF_DOTS = "small dots are runs, large ones means; lines: {spread}"
OF_RATIOS = "small dots are runs, large ones geometric means; lines: {spread}"
OF_MEANS = "means over seeds"


def caption(comparison: Comparison, of_seeds: str, shown: Iterable[str]) -> str:
    """Returns the small print below a figure: the origin with the network and the machine, what is drawn of several seeds,
    and the meaning of the signs in the words that are shown."""
    more = [*selected(comparison), *network_of(comparison.runs), *machine_of(comparison.runs)]
    if has_spread(comparison):
        more.append(of_seeds.format(spread=comparison.results.spread_note.removeprefix("[low, high]: ").removesuffix(".")))
    if has_bound(shown):
        more.append(comparison.results.bounds_note.removesuffix("."))
    held = listed(whole(comparison.runs["hold"]))
    return origin(comparison, [*more, *([f"target held for {held} evaluations"] if held not in ("1", "unknown") else [])])


def selected(comparison: Comparison) -> Iterable[str]:
    """Yields the axes that the titles of panels leave out because all runs have one value there."""
    shared = {axis: value for axis, value in shared_axes(comparison.runs).items() if axis not in IN_OTHER_PARTS}
    if shared and len(comparison.panels) > 1:
        yield in_words(shared)


def has_bound(shown: Iterable[str]) -> bool:
    return any(sign in text for text in shown for sign in "≥≤")


def missing_of_ratio(group: Group, ratio: Bounded, runs: int) -> str:
    """Returns how many of the runs reached the target or, if all did, have a ratio: "2 of 3"; empty if all have one."""
    return group.reached_words() or (f"{ratio.spread.count} of {runs}" if ratio.spread.count < runs else "")


def network_of(runs: pd.DataFrame) -> Iterable[str]:
    """Yields the collective, the rate, burst and delay of the bottlenecks, and a congestion control other than the default."""
    if runs["config.collective.name"].notna().any():
        yield f"collective {listed(runs['config.collective.name'])}"
    bottlenecks = [link for links in runs["config.topology.links"] for link in bottlenecks_of(links)]
    rates = {link["rate"] for link in bottlenecks if isinstance(link.get("rate"), str)}
    if rates:
        yield f"bottlenecks {', '.join(sorted(rates, key=quantity_key))}"
    bursts = {link["burst"] for link in bottlenecks if "burst" in link}
    if bursts:
        yield f"burst {', '.join(sorted(bursts, key=quantity_key))}"
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


def caveats(comparison: Comparison) -> list[str]:
    notes = []
    runs = comparison.runs
    notes += warnings_of(runs)
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
    return notes + [shortened(line) for line in incomplete_runs(comparison)]


def warnings_of(runs: pd.DataFrame) -> list[str]:
    """Returns the report's warnings about the runs, each once; those about baselines of another machine or commit as one."""
    warnings = list(dict.fromkeys(warning for own in runs["warnings"] for warning in own))
    elsewhere = dict.fromkeys(found[1] for warning in warnings if (found := MEASURED_ELSEWHERE.match(warning)))
    others = [warning for warning in warnings if not MEASURED_ELSEWHERE.match(warning)]
    if elsewhere:
        others.insert(0, f"baselines measured by another machine or program: {', '.join(elsewhere)}")
    return list(map(shortened, others))


def shortened(line: str) -> str:
    return textwrap.shorten(line, 90, placeholder=" …")


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
