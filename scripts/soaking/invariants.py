# SPDX-License-Identifier: Apache-2.0
"""What must hold after each round; a Violation says what does not."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from soaking.surroundings import Surroundings, eventually, marked_processes, name_of
from soaking.turn import Round, Violation

# What a controller may keep per run: a line of its summary, but no curve.
GROWTH_PER_RUN_KIB = 100.0
GROWTH_AT_MOST_KIB = 4096.0


def completed_records(results: Path) -> dict[Path, bytes]:
    found = {}
    for path in results.glob("*/*/run.json"):
        text = path.read_bytes()
        try:
            record = json.loads(text)
        except ValueError as error:
            raise Violation(f"{path} is not a whole record: {error}") from error
        if record["status"] == "completed":
            found[path] = text
    return found


def labels_of(records: dict[Path, bytes]) -> set[str]:
    return {json.loads(text)["label"] for text in records.values()}


def starts_in(log: Path) -> Counter[str]:
    """Counts the runs that a command started, by label. A slow start is reported again and again, which counts once."""
    starts: Counter[str] = Counter()
    last: dict[str, str] = {}
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        if not (found := re.match(r"\S+ \[(\d+)/\d+\] (.*): ([^:]*)$", line)):
            continue
        place, label, event = found.groups()
        if event == "starting" and last.get(place) != event:
            starts[label] += 1
        last[place] = event
    return starts


def check_leaks(turn: Round, before: Surroundings) -> None:
    if not eventually(lambda: not marked_processes(turn.mark), turn.patience_s):
        left = [f"{process} ({name_of(process)})" for process in marked_processes(turn.mark)]
        raise Violation(f"processes are left: {', '.join(left)}")
    if not eventually(lambda: not Surroundings.now().new_since(before), turn.patience_s):
        raise Violation(f"left behind: {', '.join(Surroundings.now().new_since(before))}")
    if left := [str(path) for path in (turn.folder / "tmp").rglob("*")]:
        raise Violation(f"temporary files are left: {', '.join(left)}")


def check_records_stay(before: dict[Path, bytes]) -> None:
    for path, text in before.items():
        if not path.exists():
            raise Violation(f"the record {path} is lost")
        if path.read_bytes() != text:
            raise Violation(f"the completed record {path} was replaced")


def check_starts(turn: Round, starts: Counter[str], complete: set[str]) -> None:
    if twice := [label for label, count in starts.items() if count > 1]:
        raise Violation(f"one command started twice: {', '.join(twice)}")
    if again := sorted(set(starts) & complete):
        raise Violation(f"started although they were complete: {', '.join(again)}")
    turn.starts.append(starts)


def check_complete(turn: Round) -> None:
    if left := [str(path) for path in turn.results.rglob(".*.tmp")]:
        raise Violation(f"unfinished files are left: {', '.join(left)}")
    report = subprocess.run(
        [turn.program, "report", turn.results, "--json"], capture_output=True, text=True, check=False, env=turn.environment()
    )
    (turn.folder / "report.json").write_text(report.stdout, encoding="utf-8")
    if report.returncode != 0 or "left out" in report.stderr:
        raise Violation(f"report ended with {report.returncode}: {report.stderr.strip()}")
    rows = json.loads(report.stdout)["runs"]
    if bad := [row["label"] for row in rows if row["status"] != "completed"]:
        raise Violation(f"not complete: {', '.join(bad)}")
    reported = {row["label"] for row in rows}
    planned = set().union(*turn.starts)
    if planned - reported:
        raise Violation(f"without a record: {', '.join(sorted(planned - reported))}")


@dataclass
class Sample:
    """What a sweep's controller holds at one moment."""

    runs: int  # that have begun
    memory_kib: int
    descriptors: Counter[str]  # by kind


def check_flat(turn: Round, samples: list[Sample]) -> None:
    runs = samples[-1].runs if samples else 0
    quarter = max(1, runs // 4)
    early = [sample for sample in samples if quarter <= sample.runs < 2 * quarter]
    late = [sample for sample in samples if sample.runs >= runs - quarter]
    if runs < 8 or not early or not late:
        turn.notes.append(f"{runs} runs: too few to judge memory")
        return
    # The least is what is kept between runs.
    memory = min(sample.memory_kib for sample in late) - min(sample.memory_kib for sample in early)
    allowed = min(GROWTH_AT_MOST_KIB, GROWTH_PER_RUN_KIB * (runs - 2 * quarter))
    turn.notes.append(f"memory {min(sample.memory_kib for sample in late)} KiB, grew {memory} KiB in {runs} runs")
    if memory > allowed:
        raise Violation(f"the controller's memory grew by {memory} KiB over {runs} runs")
    # A busy machine may leave no sample between two runs; but no run has more open than the most of an earlier one.
    for kind in set().union(*(sample.descriptors for sample in late)):
        kept = min(sample.descriptors[kind] for sample in late) - max(sample.descriptors[kind] for sample in early)
        if kept > 0:
            raise Violation(f"the controller kept {kept} descriptors more ({kind}) after {runs} runs")
