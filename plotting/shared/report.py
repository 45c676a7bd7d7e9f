# SPDX-License-Identifier: Apache-2.0
"""Asks `thinpipe report --json` for everything judged: target, time to it, baselines, speed-ups, and spread over seeds."""
from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2]
# The program of the build, or of the installation, which has this folder in PREFIX/share/thinpipe.
IS_INSTALLED = FOLDER.parts[-2:] == ("share", "thinpipe")
BUILT = FOLDER.parent.parent / "bin" / "thinpipe" if IS_INSTALLED else FOLDER / "build" / "release" / "thinpipe"
# Marks of methods and numbers, by the verdict on the emulated networks.
VERDICT_MARKS = {"degraded": "†", "not judged": "‡"}
SCHEMA_VERSION = 2
# Quantities in which runs that did not reach the target count with their whole run begin with it.
RESTRICTED = "restricted_"
# The summary of a quantity that a saved report is older than.
ABSENT = {"count": 0, "mean": None, "ci95_low": None, "ci95_high": None}


class InputError(Exception):
    """The user's input is wrong; the message names the file or option, the rule and the remedy."""


@dataclass(frozen=True)
class Question:
    """What to ask the report for. target, hold: as for `thinpipe report --target` and --hold; None: the runs' own. over:
    further baselines. thinpipe: the program; None: find_program() finds it. saved: a report to read instead of making
    one."""

    target: str | None = None
    over: tuple[str, ...] = ()
    thinpipe: Path | None = None
    saved: Path | None = None
    hold: int | None = None

    @staticmethod
    def of(options: argparse.Namespace, target: str | None = None, over: tuple[str, ...] = ()) -> Question:
        return Question(target, over, options.thinpipe, options.report, getattr(options, "hold", None))


@dataclass(frozen=True)
class Spread:
    """The mean of `count` values, and the ends of its 95 % confidence interval. None if there is no value, or no second
    one."""

    count: int
    mean: float | None
    ci95_low: float | None
    ci95_high: float | None

    @property
    def ends(self) -> tuple[float, float]:
        """Returns the ends of the interval; twice the mean if there is none."""
        return (self.mean, self.mean) if self.ci95_low is None else (self.ci95_low, self.ci95_high)


@dataclass(frozen=True)
class Bounded:
    """The spread of the report's quantity `name`. sign: "≥" or "≤" if the mean is a bound, or else ""."""

    spread: Spread
    name: str
    sign: str = ""

    @property
    def before(self) -> str:
        return f"{self.sign} " if self.sign else ""


@dataclass(frozen=True)
class Group:
    """The report's entry for runs that differ only in their seed."""

    entry: dict[str, Any]

    def spread(self, quantity: str) -> Spread:
        summary = self.entry.get(quantity, ABSENT)
        return Spread(summary["count"], summary["mean"], summary["ci95_low"], summary["ci95_high"])

    def to_target(self, quantity: str) -> Bounded:
        """Returns the mean of a time or a number of iterations to the target: a lower bound if only some runs reached it, of
        which those that completed count with their whole run."""
        if 0 < self.entry["reached"] < self.entry["runs"]:
            return self.bounded(f"{RESTRICTED}{quantity}", "≥")
        return Bounded(self.spread(quantity), quantity)

    def ratio(self, quantity: str, baseline: str, suffix: str = "") -> Bounded:
        """Returns the geometric mean of a ratio to the baseline. A run that did not reach the target bounds it with its whole
        run from one side, as its baseline does from the other. If seeds bound it from both sides, their mean is no bound, and
        there is none. `suffix`: of a variant of the ratio in the report."""
        name = f"{quantity}_{baseline}{suffix}"
        missed, outlasted = ("≥", "≤") if quantity == "relative_time_to" else ("≤", "≥")
        if self.entry["reached"] and self.entry.get(f"speed_up_over_{baseline}_is_upper_bound"):
            if self.is_bound(baseline):
                return Bounded(Spread(0, None, None, None), name)
            return self.bounded(f"{RESTRICTED}{name}", missed)
        return self.bounded(name, outlasted) if self.is_bound(baseline) else Bounded(self.spread(name), name)

    def bounded(self, name: str, sign: str) -> Bounded:
        """Returns a bound, without an interval: its ends would be no bounds."""
        summary = self.spread(name)
        return Bounded(Spread(summary.count, summary.mean, None, None), name, sign if summary.count else "")

    def reached_words(self) -> str:
        """Returns how many runs reached the target and failed: "3 of 5 reached, 1 failed"; empty if all reached it."""
        reached, runs, failed = (self.entry.get(name, 0) for name in ("reached", "runs", "failed"))
        if reached == runs:
            return ""
        return f"{reached} of {runs} reached" + (f", {failed} failed" if failed else "")

    def is_bound(self, baseline: str) -> bool:
        """Returns whether the baseline of a run that reached the target did not."""
        return self.entry[f"speed_up_over_{baseline}_is_lower_bound"]

    def mark(self, baseline: str) -> str:
        """Returns the mark of a speed-up over the baseline, if a network of the runs or their baselines was not faithful."""
        return VERDICT_MARKS.get(self.entry.get(f"speed_up_over_{baseline}_fidelity"), "")


def add_report_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--thinpipe",
        type=Path,
        metavar="FILE",
        help="the program whose report judges the runs (default: $THINPIPE, that of the build or installation, or that in PATH)",
    )
    parser.add_argument(
        "--report", type=Path, metavar="FILE", help="a saved output of 'thinpipe report --json', instead of the program"
    )


def find_program(named: Path | None) -> str:
    chosen = named or os.environ.get("THINPIPE") or (BUILT if BUILT.exists() else shutil.which("thinpipe"))
    if chosen is None:
        raise InputError(
            f"cannot find the program thinpipe, which judges the runs, at {BUILT} or in PATH: build it with "
            "./quickstart.sh, name it with --thinpipe or in $THINPIPE, or give a saved report with --report"
        )
    if not os.access(chosen, os.X_OK):
        raise InputError(f"{chosen}, named with --thinpipe or in $THINPIPE, is not a program; build it with ./quickstart.sh")
    return str(chosen)


def read_report(results: Path, question: Question) -> dict[str, Any]:
    """Returns the report of these results. Passes its warnings on. Raises InputError with its message if it fails."""
    arguments = ["report", str(results), "--json"]
    arguments += [f"--target={question.target}"] if question.target is not None else []
    arguments += [f"--hold={question.hold}"] if question.hold is not None else []
    arguments += [f"--over={name}" for name in question.over]
    if question.saved:
        return saved_report(question, " ".join(["thinpipe", *arguments]))
    ended = subprocess.run([find_program(question.thinpipe), *arguments], capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise InputError(ended.stderr.strip().removeprefix("thinpipe: ") or f"{arguments}: status {ended.returncode}")
    sys.stderr.write(ended.stderr)
    return checked(json.loads(ended.stdout), "the program's report")


def saved_report(question: Question, command: str) -> dict[str, Any]:
    remedy = f"write it with: {command}"
    for name, value in (("target", question.target), ("hold", question.hold)):
        if value is not None:
            raise InputError(f"--report {question.saved}: has its own {name}; leave out --{name}, or {remedy}")
    try:
        report = json.loads(question.saved.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"--report {question.saved}: cannot be read ({error}); {remedy}") from error
    if not isinstance(report, dict) or not {"schema_version", "spread", "runs", "groups"} <= report.keys():
        raise InputError(f"--report {question.saved}: is not a report as JSON; {remedy}")
    checked(report, f"--report {question.saved}")
    for name in question.over:
        if any(f"speed_up_over_{name}" not in group for group in report["groups"]):
            raise InputError(f"--report {question.saved}: has no speed-ups over {name}; {remedy}")
    return report


def checked(report: dict[str, Any], name: str) -> dict[str, Any]:
    if report["schema_version"] != SCHEMA_VERSION:
        raise InputError(
            f"{name}: has schema_version {report['schema_version']}, but these scripts read {SCHEMA_VERSION}; "
            "use program and scripts of one version"
        )
    return report
