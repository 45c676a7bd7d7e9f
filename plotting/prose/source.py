# SPDX-License-Identifier: Apache-2.0
"""The committed results that marks of numbers name, each read once."""
from __future__ import annotations

import ast
from pathlib import Path
from typing import Protocol, Sequence

from prose.expression import baselines
from prose.quantity import Json, Records, Source, nearest
from shared.report import InputError, Question


class Sourced(Protocol):
    """A mark of a number, or a claim. source: a JSON file, or folders of records and how to judge these."""

    @property
    def source(self) -> str: ...
    @property
    def expression(self) -> ast.expr: ...


class Sources:
    """Answers by the text of `source`."""

    def __init__(self, reference: Path, thinpipe: Path | None, marks: Sequence[Sourced]) -> None:
        self.reference = reference
        self.thinpipe = thinpipe
        self.over: dict[str, set[str]] = {}
        self.known: dict[str, Source | InputError] = {}
        for mark in marks:  # a report has the speed-ups of all marks
            self.over.setdefault(mark.source, set()).update(baselines(mark.expression))

    def of(self, mark: Sourced) -> Source:
        """Returns what the source names. Raises InputError, each time, if it cannot be read."""
        if mark.source not in self.known:
            try:
                self.known[mark.source] = self.read(mark.source)
            except InputError as error:
                self.known[mark.source] = error
        known = self.known[mark.source]
        if isinstance(known, InputError):
            raise known
        return known

    def read(self, text: str) -> Source:
        words = text.split()
        options = dict(word.split("=", 1) for word in words if "=" in word)
        names = [word for word in words if "=" not in word]
        if unknown := sorted(options.keys() - {"target", "hold"}):
            raise InputError(f"unknown setting \"{unknown[0]}\" of a source; known: hold, target")
        if len(names) == 1 and names[0].endswith(".json"):
            return Json(self.path(names[0]))
        hold = options.get("hold")
        if hold is not None and not hold.isdecimal():
            raise InputError(f"hold={hold}: must be a number of evaluations")
        over = tuple(sorted(self.over[text]))
        question = Question(options.get("target"), over, self.thinpipe, hold=int(hold) if hold else None)
        return Records([path for name in names for path in self.paths(name)], question)

    def paths(self, name: str) -> list[Path]:
        found = sorted(each for each in self.reference.glob(name) if each.is_dir()) if "*" in name else []
        return found or [self.path(name)]

    def path(self, name: str) -> Path:
        path = Path(name) if "/" in name else self.reference / name
        if not path.exists():
            known = [each.name for each in self.reference.iterdir() if each.is_dir() or each.suffix == ".json"]
            raise InputError(f"there is no {path}{nearest(name, known)}")
        return path
