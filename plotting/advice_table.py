#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists what `thinpipe advise` would have predicted for recorded live runs next to their measurements."""
from __future__ import annotations

import argparse
import json
import math
import re
import statistics
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Iterable, Sequence

from shared.comparison import quantity_key
from shared.destination import add_destination, write_to_destination
from shared.load import record_texts
from shared.markdown_table import UNKNOWN, grid, in_markdown
from shared.number_text import three_digits
from shared.report import VERDICT_MARKS, InputError, find_program

BEGIN, END = "<!-- advice: begin -->", "<!-- advice: end -->"
CAP, METHOD, SEED = "bottleneck.rate", "method", "seed"
# A method beats dense if its iterations are faster by more than this factor, as in thinpipe advise.
THRESHOLD = 1.05
# A run is limited by its network if the exchange takes more than this share of the predicted iteration.
NETWORK_SHARE = 0.5
BEATS = "right about beating dense"
WITHOUT_COST = "°"
OWN_COMPUTE = "§"
ABOUT = (
    "Experiments: predicted / measured iteration time in ms, and measured over predicted; means over seeds. "
    "Predicted only from what was known before a run: the bytes of its plan, the caps, the compute time of the run's dense "
    "baseline in reports, and the benchmark's encode and decode times on an idle core, times the workers per core."
)
ABOUT_WITHOUT_COST = f"{WITHOUT_COST}: encode and decode times are not known and left out."
ABOUT_OWN_COMPUTE = f"{OWN_COMPUTE}: the experiment has no dense run; the compute time is the run's own."
ABOUT_MARKS = "{} marks {} networks."

Row = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="advice_table.py",
        description="List predicted and measured iteration times of recorded live runs, and their ratios.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example:\n  python3 plotting/advice_table.py results/reference/*/records.jsonl "
        "--update docs/results/predictions.md\n\n"
        "exit codes: 0 made, 1 the table could not be written, 2 wrong input",
    )
    parser.add_argument(
        "results",
        type=Path,
        nargs="+",
        help="folders of records, or files that 'thinpipe export' wrote; those without live runs are left out",
    )
    parser.add_argument(
        "--thinpipe",
        type=Path,
        metavar="FILE",
        help="the program (default: $THINPIPE, that of the build or installation, or that in PATH)",
    )
    add_destination(parser, BEGIN, END)
    options = parser.parse_args(arguments)

    def make() -> str:
        program = find_program(options.thinpipe)
        found: dict[str, list[Row]] = {}
        for results in filter(has_live_runs, options.results):
            found.setdefault(name_of(results), []).extend(rows_of(program, results))
        if not found:
            raise InputError(f"{', '.join(map(str, options.results))}: none has live runs")
        return table(found)

    return write_to_destination("advice_table", make, options, BEGIN, END)


def name_of(results: Path) -> str:
    folder = results.resolve()
    return folder.name if folder.is_dir() else folder.parent.name


def has_live_runs(results: Path) -> bool:
    # The program reads records strictly, and warns about those that are not JSON.
    return any(re.search(rb'"mode": ?"live"', text) for _, text in record_texts(results))


def rows_of(program: str, results: Path) -> list[Row]:
    ended = subprocess.run([program, "advise", "--against", str(results)], capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise InputError(ended.stderr.strip().removeprefix("thinpipe: "))
    sys.stderr.write(ended.stderr)
    rows = json.loads(ended.stdout)
    return [{**row, BEATS: beats_dense(row, rows)} for row in rows]


def table(found: dict[str, list[Row]]) -> str:
    every = [row for rows in found.values() for row in rows]
    parts = [grid(summary_rows(found)), grid(by_method(every)), "".join(f"{line}\n" for line in notes(every))]
    for name, rows in found.items():
        parts.append(f"**{in_markdown(name)}**\n")
        if cells := cell_rows(rows):
            parts.append(grid(cells))
        parts.append("".join(f"{line}\n" for line in reasons(rows)))
    return "\n".join([*(part for part in parts if part), in_markdown(origin(every)) + "\n"])


def predicted(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if row["predicted_iteration_time_s"] is not None]


def ratio(row: Row) -> float:
    return row["measured_iteration_time_s"] / row["predicted_iteration_time_s"]


def distance(row: Row) -> float:
    """Returns how far off the prediction was, the same for half and for twice the time."""
    return abs(math.log(ratio(row)))


def is_limited_by_network(row: Row) -> bool:
    return row["exchange_time_s"] > NETWORK_SHARE * row["predicted_iteration_time_s"]


def method_name(row: Row) -> str:
    """Returns the method's name with the options that change what is sent most."""
    options = row["synchroniser"]
    words = [options["name"]]
    words += ["ternary"] if options.get("values") == "ternary" else []
    words += [f"{options['ratio']:g}"] if "ratio" in options else []
    return " ".join(words)


def beats_dense(row: Row, rows: Sequence[Row]) -> tuple[bool, bool] | None:
    """Returns whether the run is faster than its dense run among `rows`, those of the same results, by more than the
    threshold: as predicted and as measured. None if there is no dense run, or this is it."""
    dense = next((each for each in predicted(rows) if each["run_id"] == row["compute_from"]), None)
    if dense is None or dense is row or row["predicted_iteration_time_s"] is None:
        return None
    times = [(dense[f"{kind}_iteration_time_s"], row[f"{kind}_iteration_time_s"]) for kind in ("predicted", "measured")]
    as_predicted, as_measured = (of_dense > THRESHOLD * own for of_dense, own in times)
    return as_predicted, as_measured


def right(rows: Sequence[Row]) -> str:
    found = [row[BEATS] for row in rows if row[BEATS] is not None]
    right_ones = sum(as_predicted == as_measured for as_predicted, as_measured in found)
    return f"{right_ones} of {len(found)}" if found else UNKNOWN


def summary(rows: Sequence[Row]) -> dict[str, str]:
    rows = predicted(rows)
    cells = {"runs": str(len(rows))}
    if not rows:
        return cells | dict.fromkeys(("median", "network-limited", "others", "worst", "worst run", BEATS), UNKNOWN)
    worst = max(rows, key=distance)
    limited = [row for row in rows if is_limited_by_network(row)]
    others = [row for row in rows if not is_limited_by_network(row)]
    return {
        **cells,
        "median": median(rows),
        "network-limited": median(limited),
        "others": median(others),
        "worst": f"{ratio(worst):.2f}",
        "worst run": worst["label"],
        BEATS: right(rows),
    }


def median(rows: Sequence[Row]) -> str:
    return f"{statistics.median(map(ratio, rows)):.2f}" if rows else UNKNOWN


def summary_rows(found: dict[str, list[Row]]) -> list[dict[str, str]]:
    rows = [{"measured / predicted": name, **summary(rows)} for name, rows in found.items()]
    every = [row for rows in found.values() for row in rows]
    return [*rows, {"measured / predicted": "all", **summary(every)}]


def by_method(rows: Sequence[Row]) -> list[dict[str, str]]:
    names = sorted({method_name(row) for row in predicted(rows)})
    own = {name: [row for row in predicted(rows) if method_name(row) == name] for name in names} or {UNKNOWN: []}
    return [{"method": name, **summary(each)} for name, each in own.items()]


def notes(rows: Sequence[Row]) -> list[str]:
    known = predicted(rows)
    lines = [
        "Network-limited: runs whose exchange takes more than half of the predicted iteration; median of these and of the "
        "others. Worst: the run furthest from 1. Right about beating dense: runs whose prediction and measurement agree on "
        f"whether the method is faster than dense by more than {100 * (THRESHOLD - 1):.0f} %.",
        ABOUT,
    ]
    wrong = [beats for row in rows if (beats := row[BEATS]) is not None and beats[0] != beats[1]]
    if wrong:
        overrated = sum(as_predicted for as_predicted, _ in wrong)
        lines.append(f"Of the {len(wrong)} runs with a wrong answer, {overrated} were predicted to beat dense and did not.")
    lines += [ABOUT_WITHOUT_COST] if any(row["encode_decode_s"] is None for row in known) else []
    lines += [ABOUT_OWN_COMPUTE] if any(row["compute_is_own"] for row in known) else []
    verdicts = {row["fidelity"] for row in known}
    lines += [ABOUT_MARKS.format(mark, verdict) for verdict, mark in VERDICT_MARKS.items() if verdict in verdicts]
    return lines


def cell_rows(rows: Sequence[Row]) -> list[dict[str, str]]:
    """Returns a row per method and its other labels, with a cell per cap."""
    rows = predicted(rows)
    caps = sorted({cap_of(row) for row in rows}, key=quantity_key)
    names = dict.fromkeys(row_name(row) for row in rows)
    out = []
    for name in sorted(names, key=quantity_key):
        cells = {"run": name}
        for cap in caps:
            cells[cap] = cell([row for row in rows if row_name(row) == name and cap_of(row) == cap])
        out.append(cells)
    return out


def cap_of(row: Row) -> str:
    return row["cap"] or "topology's caps"


def row_name(row: Row) -> str:
    labels = [value for axis, value in row["labels"].items() if axis not in (CAP, SEED, METHOD, "mode")]
    return ", ".join([row["labels"].get(METHOD, method_name(row)), *labels])


def cell(rows: Sequence[Row]) -> str:
    if not rows:
        return UNKNOWN
    predicted_s = statistics.fmean(row["predicted_iteration_time_s"] for row in rows)
    measured_s = statistics.fmean(row["measured_iteration_time_s"] for row in rows)
    marks = {VERDICT_MARKS.get(row["fidelity"], "") for row in rows}
    marks |= {WITHOUT_COST} if any(row["encode_decode_s"] is None for row in rows) else set()
    marks |= {OWN_COMPUTE} if any(row["compute_is_own"] for row in rows) else set()
    ratio_text = f"{measured_s / predicted_s:.2f}{''.join(sorted(marks))}"
    return f"{three_digits(1e3 * predicted_s)} / {three_digits(1e3 * measured_s)}: {ratio_text}"


def reasons(rows: Sequence[Row]) -> list[str]:
    counts = Counter(row["not_predicted_because"] for row in rows if row["not_predicted_because"])
    return [f"Not predicted: {in_markdown(why)} ({count} runs)." for why, count in counts.items()]


def origin(rows: Sequence[Row]) -> str:
    made = [row["provenance"] for row in rows]
    machines = sorted({f"{each['cpu']} ({each['cores']} cores)" for each in made})
    commits = sorted({str(each["git_commit"])[:10] for each in made})
    days = sorted(each["started_at"][:10] for each in made)
    return " · ".join(
        ["mode live", f"cpu {', '.join(machines)}", f"commit {', '.join(commits)}", f"run on {days[0]} to {days[-1]}"]
    )


if __name__ == "__main__":
    sys.exit(main())
