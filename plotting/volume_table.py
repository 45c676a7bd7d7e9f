#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tabulates each method's relative volume beside that of the DeepReduce paper, and the caps at which its codes pay."""
from __future__ import annotations

import sys
from functools import partial
from typing import Sequence

import pandas as pd

from methods_table import final_heading, final_level
from shared.comparison import Comparison, Panel
from shared.destination import MARKERS_OF_NAME, markers_of
from shared.markdown_table import (
    UNKNOWN,
    Cell,
    add_update,
    parsed,
    spread_cell,
    table_parser,
    write_table,
)
from shared.number_text import three_digits
from shared.report import InputError

# Kostopoulou et al. (NeurIPS 2021), Table 2: an LSTM on Stack Overflow with 56 clients, top-r 10 %, relative to float32
# gradients. By the codes of indices and values.
PAPER_RATIO = 0.1
PAPER = {
    ("plain", "f32"): 0.2033,
    ("bloom_p0", "f32"): 0.1425,
    ("plain", "fit_poly"): 0.1039,
    ("bloom_p0", "qsgd"): 0.0621,
}
ENCODE, DECODE, SENT = "compression.encode_cpu_s", "compression.decode_cpu_s", "traffic.sent_bytes_per_worker"
UNITS = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s"))

ABOUT = [
    "Relative volume: payload of a worker over its float32 gradients. Paper: the DeepReduce paper's, for an LSTM on "
    "Stack Overflow with 56 clients.",
    "Encode, decode: CPU time of one worker per iteration. In mode converge all workers share this machine's cores and "
    "caches, so these times are longer than on an idle machine.",
    "Pays over NAME: the caps at which the method's messages save more time than its codes cost, 8 × (bytes sent by NAME - "
    "bytes sent) / (CPU time - CPU time of NAME), with nothing overlapped.",
]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = table_parser(
        "volume_table",
        "Tabulate each method's relative volume beside that of the DeepReduce paper, its final accuracy, the CPU time of\n"
        "its codes, and the caps at which they pay.",
        "\n".join(ABOUT),
        "results/deepreduce --over dense",
    )
    parser.add_argument(
        "--over", nargs="+", default=["dense"], metavar="NAME", help="the methods to compare with (default: dense)"
    )
    add_update(parser, MARKERS_OF_NAME)
    options = parsed(parser, arguments)
    row = partial(row_of, over=options.over)
    return write_table("volume_table", options, row, notes, False, markers_of(options.results))


def notes(comparison: Comparison) -> list[str]:
    return ABOUT


def row_of(runs: pd.DataFrame, panel: Panel, comparison: Comparison, over: Sequence[str]) -> dict[str, Cell]:
    claimed = claimed_volume(runs.iloc[0])
    return {
        "relative volume": spread_cell("relative_volume", comparison.group(runs).spread("effective_density"), share_text),
        "paper": Cell(UNKNOWN if claimed is None else share_text(claimed, claimed), {"paper_relative_volume": claimed}),
        final_heading(comparison.target): final_level(runs, comparison),
        "encode (ms)": milliseconds_cell("encode_cpu_s", runs[ENCODE]),
        "decode (ms)": milliseconds_cell("decode_cpu_s", runs[DECODE]),
        **{f"pays over {name}": cap_cell(name, runs, baseline_runs(name, panel, comparison)) for name in over},
    }


def baseline_runs(name: str, panel: Panel, comparison: Comparison) -> pd.DataFrame:
    if name not in comparison.methods:
        known = ", ".join(comparison.methods)
        raise InputError(f"--over {name}: no run has this method; the methods are: {known}")
    return panel.runs[panel.runs.method == name]


def share_text(share: float, _mean: float) -> str:
    return f"{share:.4f}"


def claimed_volume(run: pd.Series) -> float | None:
    """Returns the paper's relative volume of a run's codes; None if it has none, or for another ratio."""

    def setting(name: str) -> object:
        return run.get(f"config.synchroniser.{name}")

    if (setting("name"), setting("indices")) == ("topk", "u32"):
        ratio, codes = setting("ratio"), ("plain", "f32")
    elif (setting("name"), setting("inner.name")) == ("deepreduce", "topk"):
        ratio, codes = setting("inner.ratio"), (setting("indices"), setting("values"))
    else:
        return None
    return PAPER.get(codes) if ratio == PAPER_RATIO else None


def milliseconds_cell(name: str, times_s: pd.Series) -> Cell:
    mean_s = mean_of(times_s)
    return Cell(UNKNOWN if mean_s is None else three_digits(1e3 * mean_s), {name: mean_s})


def mean_of(values: pd.Series) -> float | None:
    mean = values.map(float, na_action="ignore").mean()
    return None if pd.isna(mean) else float(mean)


def cap_cell(name: str, runs: pd.DataFrame, baseline: pd.DataFrame) -> Cell:
    """Returns a cell with the caps at which the method takes less time than the baseline."""
    column = f"break_even_over_{name}_bit_per_s"
    sent, sent_by_other = (sent_bytes(each) for each in (runs, baseline))
    cpu_s, cpu_s_of_other = (code_time_s(each) for each in (runs, baseline))
    if runs.method.iloc[0] == name or None in (sent, sent_by_other, cpu_s, cpu_s_of_other):
        return Cell(UNKNOWN, {column: None})
    saved_bits, extra_s = 8.0 * (sent_by_other - sent), cpu_s - cpu_s_of_other
    if saved_bits * extra_s <= 0.0:  # better or worse in both
        return Cell("always" if saved_bits >= 0.0 and extra_s <= 0.0 else "never", {column: None})
    rate = saved_bits / extra_s
    return Cell(f"{'below' if saved_bits > 0.0 else 'above'} {rate_text(rate)}", {column: rate})


def sent_bytes(runs: pd.DataFrame) -> float | None:
    """Returns the bytes that a worker sends per iteration."""
    completed = runs[runs.status == "completed"]
    return mean_of(completed[SENT] / completed.iterations)


def code_time_s(runs: pd.DataFrame) -> float | None:
    """Returns the CPU time of encoding and decoding per iteration; None if one of them is unknown."""
    times_s = [mean_of(runs[column]) for column in (ENCODE, DECODE)]
    return None if None in times_s else sum(times_s)


def rate_text(bit_per_s: float) -> str:
    size, unit = next((each for each in UNITS if bit_per_s >= each[0]), UNITS[-1])
    return f"{three_digits(bit_per_s / size)} {unit}"


if __name__ == "__main__":
    sys.exit(main())
