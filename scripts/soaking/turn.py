# SPDX-License-Identifier: Apache-2.0
"""A round of the soak: its experiment, and what disturbs it."""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

MARK = "THINPIPE_SOAK"
METHODS = {
    "dense": {"name": "dense"},
    "fp16": {"name": "fp16"},
    "topk": {"name": "topk", "ratio": 0.05},
    "qsgd": {"name": "qsgd"},
}


class Violation(Exception):
    """An invariant does not hold."""


@dataclass
class Round:
    seed: int
    number: int
    folder: Path
    program: Path
    random: random.Random
    is_long: bool
    patience_s: float  # for processes that end by themselves
    disturbance: str = ""
    experiment: dict = field(default_factory=dict)
    starts: list[Counter[str]] = field(default_factory=list)  # by label, of each command
    notes: list[str] = field(default_factory=list)

    @property
    def results(self) -> Path:
        return self.folder / "results"

    @property
    def mark(self) -> str:
        return f"{MARK}={self.folder.name}"

    def command(self, more: tuple[str, ...] = ()) -> list[str]:
        return [str(self.program), "run", str(self.folder / "soak.json"), "--results", str(self.results), "--profiling-time", "2 s", *more]

    def environment(self) -> dict[str, str]:
        own = {"TMPDIR": str(self.folder / "tmp"), MARK: self.folder.name}
        return os.environ | own


def make_experiment(turn: Round) -> dict:
    choose = turn.random
    if turn.is_long:
        return {
            "name": "soak",
            "base": base_of("loopback", 2, 10),
            "sweep": {"mode": ["live"], "method": methods(["dense", "topk"]), "seed": list(range(1, turn.random.randint(12, 18)))},
        }
    modes = choose.choice((["live"], ["converge"], ["replay"], ["simulate"], ["replay", "simulate"], ["live", "replay"]))
    if turn.disturbance == "planned fault":
        modes = ["live"]  # only these have workers that can fail
    topology = choose.choice(("loopback", "three-switch")) if modes == ["live"] else "three-switch"
    workers = 2 if topology == "loopback" else 8
    if modes == ["converge"]:
        topology, workers = "", 4
    iterations = choose.randint(6, 30)
    base = base_of(topology, workers, iterations)
    names = choose.sample(sorted(METHODS), choose.randint(1, 3))
    # The mode in the label tells a replay from the convergence run that it makes.
    sweep = {"mode": modes, "method": methods(names)}
    if turn.disturbance == "planned fault":
        event = {"worker": choose.randrange(workers), "at_iteration": choose.randint(2, 5), "action": "kill"}
        base["worker_events"] = [event]
        base["on_worker_failure"] = {"action": "restart", "at_most": 3, "checkpoint_every_iterations": 2}
    return {"name": "soak", "base": base, "sweep": sweep}


def base_of(topology: str, workers: int, iterations: int) -> dict:
    base: dict = {
        "seed": 1,
        "model": {"name": "mlp"},
        "dataset": {"name": "synthetic", "train_examples": iterations * workers * 8, "test_examples": 64},
        "pretraining": {"iterations": 0},
        "training": {"epochs": 1, "batch_size_per_worker": 8, "evaluate_every_iterations": 3},
    }
    if topology:
        base["topology"] = topology
    if topology != "three-switch":
        base["workers"] = workers
    return base


def methods(names: list[str]) -> dict:
    return {name: {"synchroniser": METHODS[name]} for name in names}
