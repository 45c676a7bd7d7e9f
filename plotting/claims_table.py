#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tabulates the PacTrain paper's claims about PacTrain beside measurements."""
from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Sequence

import pandas as pd

from heat_map import COLUMNS as CAPS
from heat_map import ROWS as RATIOS
from heat_map import at, axis_values, check_axes, panel_a_value
from shared.comparison import Comparison, compare
from shared.destination import write_to_destination
from shared.load import Results, load
from shared.markdown_table import (
    UNKNOWN,
    grid,
    in_markdown,
    noise_notes,
    notes_on_signs,
    records_parser,
    table_origin,
)
from shared.report import InputError, Question
from speedup import Speedup, speedup_over

BEGIN, END = "<!-- claims: begin -->", "<!-- claims: end -->"
USUAL_RATIO = "0.5"
FIG5_CAP = "1 Gbit/s"
PRUNED_SHARE = "0.8"
UNPRUNED_SHARE = "0"
NONE_AT, MOST_NAMED = "none at", 2


@dataclass(frozen=True)
class Found:
    """speedups: in their order, with their places. without: the places that were run but have no speed-up."""

    speedups: Sequence[tuple[Speedup, str]]
    without: Sequence[str]

    def ranked(self) -> tuple[Sequence[tuple[Speedup, str]], str]:
        """Returns the speed-ups at the places where all runs reached the target, and how many are left out, in words: a mean
        over the lucky runs must not be the largest. Returns all if none is left."""
        sure = [each for each in self.speedups if each[0].sign != "≤"]
        left_out = len(self.speedups) - len(sure)
        if not sure or not left_out:
            return self.speedups, ""
        return sure, f"; without {left_out} of {len(self.speedups)} places where some seeds did not reach the target"

    def words(self, of_speedups: str) -> str:
        """Returns the words of the speed-ups, and where there is none."""
        if not self.without:
            return of_speedups
        count = f"{len(self.without)} of {len(self.speedups) + len(self.without)} places"
        return f"{of_speedups}; {NONE_AT} {count if len(self.without) > MOST_NAMED else '; '.join(self.without)}"


def main(arguments: Sequence[str] | None = None) -> int:
    options = records_parser(
        "claims_table",
        "Tabulate the PacTrain paper's claims beside measurements at several caps and prune ratios.",
        "  python3 plotting/claims_table.py results/reference/bandwidth-by-prune-ratio",
        (BEGIN, END),
        "folder of records that sweep method, cap and prune ratio",
    ).parse_args(arguments)
    return write_to_destination(
        "claims_table", lambda: table(load(options.results, Question.of(options))), options, BEGIN, END
    )


def table(results: Results) -> str:
    comparison = compare(results, panels=lambda runs: panel_a_value(runs, CAPS))
    check_axes(comparison, RATIOS, CAPS)
    methods = pactrain_methods(comparison)
    rows = [
        {"claim": claim, "claimed": claimed, **{name: measure(comparison, runs) for name, runs in methods.items()}}
        for claim, claimed, measure in (
            ("largest speed-up over all-reduce, at any cap and prune ratio", "8.72×", most_over_dense),
            (f"speed-up over FP16, {percent(USUAL_RATIO)} pruned, range over caps", "1.25× to 7.05×", range_over_fp16),
            (f"speed-up over all-reduce at {FIG5_CAP}, {percent(USUAL_RATIO)} pruned", "5.64×", fig5_over_dense),
            (f"speed-up over FP16 at {FIG5_CAP}, {percent(USUAL_RATIO)} pruned", "3.28×", fig5_over_fp16),
            (f"accuracy loss with {percent(PRUNED_SHARE)} pruned (points)", "under 2", accuracy_lost),
        )
    ]
    notes = [
        f"Speed-up: in time to {comparison.target.phrase}. The claims are for the paper's four models and two data sets; "
        "1.25× to 7.05× is over FP16 and TopK together."
    ]
    if any(NONE_AT in each[name] for each in rows for name in methods):
        notes.append("None: the method did not reach the target there, or has no baseline.")
    shown = grid(rows)
    notes += [*notes_on_signs(comparison, shown), *noise_notes(results.runs)]
    return "\n".join([shown, "\n".join(notes) + "\n", in_markdown(table_origin(comparison)) + "\n"])


def percent(ratio: str) -> str:
    return f"{100 * float(ratio):g} %"


def pactrain_methods(comparison: Comparison) -> dict[str, pd.DataFrame]:
    of_pactrain = comparison.runs[comparison.runs["config.synchroniser.name"] == "pactrain"]
    if of_pactrain.empty:
        raise InputError(f"{comparison.results.directory}: no run uses pactrain")
    return {method: runs for method, runs in of_pactrain.groupby("method", sort=False)}


def ratios_over(
    baseline: str, comparison: Comparison, runs: pd.DataFrame, ratios: Sequence[str], caps: Sequence[str] | None = None
) -> Found:
    """Returns the speed-ups over the baseline at these caps and prune ratios, as far as they were run."""
    speedups, without = [], []
    for panel in comparison.panels:
        if caps is not None and panel.title not in caps:
            continue
        for ratio in ratios:
            there, place = at(runs, {CAPS: panel.title, RATIOS: ratio}), f"{panel.title}, {percent(ratio)} pruned"
            if speedup := speedup_over(baseline, there, comparison):
                speedups.append((speedup, place))
            elif len(there):
                without.append(place)
    return Found(sorted(speedups, key=lambda found: found[0].mean), without)


def most_over_dense(comparison: Comparison, runs: pd.DataFrame) -> str:
    found = ratios_over("dense", comparison, runs, axis_values(comparison.runs, RATIOS))
    if not found.speedups:
        return found.words(UNKNOWN)
    ranked, left_out = found.ranked()
    largest, where = ranked[-1]
    return found.words(f"{largest.counted_text()} ({where}){left_out}")


def range_over_fp16(comparison: Comparison, runs: pd.DataFrame) -> str:
    found = ratios_over("fp16", comparison, runs, [USUAL_RATIO])
    if not found.speedups:
        return found.words(UNKNOWN)
    ranked, left_out = found.ranked()
    return found.words(" to ".join(ranked[end][0].counted_text() for end in (0, -1)) + left_out)


def fig5_over_dense(comparison: Comparison, runs: pd.DataFrame) -> str:
    return only(ratios_over("dense", comparison, runs, [USUAL_RATIO], [FIG5_CAP]))


def fig5_over_fp16(comparison: Comparison, runs: pd.DataFrame) -> str:
    return only(ratios_over("fp16", comparison, runs, [USUAL_RATIO], [FIG5_CAP]))


def only(found: Found) -> str:
    return found.words(found.speedups[0][0].counted_text() if found.speedups else UNKNOWN)


def accuracy_lost(comparison: Comparison, runs: pd.DataFrame) -> str:
    of_dense = comparison.runs[comparison.runs["config.synchroniser.name"] == "dense"]
    dense = mean_final_level(at(of_dense, {RATIOS: UNPRUNED_SHARE}))
    pruned = mean_final_level(at(runs, {RATIOS: PRUNED_SHARE}))
    known = not (comparison.target.is_loss or pd.isna(dense) or pd.isna(pruned))
    return f"{100 * (dense - pruned):.1f}" if known else UNKNOWN


def mean_final_level(runs: pd.DataFrame) -> float:
    return runs.final_level[runs.status == "completed"].mean()


if __name__ == "__main__":
    sys.exit(main())
