# SPDX-License-Identifier: Apache-2.0
"""The check of blocks in JSON: experiments and topologies are planned."""

from __future__ import annotations

import json

from judge import Judge
from page_text import Block

# A base that is planned fast, for fragments.
SMALL_BASE = {
    "dataset": {"name": "synthetic", "train_examples": 1024},
    "model": {"name": "mlp"},
    "training": {"batch_size_per_worker": 4},
}


def judge_json(judge: Judge, block: Block) -> None:
    kind = block.info.split()[1:]
    try:
        value = json.loads(block.text if block.text.startswith("{") else "{" + block.text + "}")
    except ValueError as error:
        judge.blame(block.line, f"is not JSON: {error}")
        return
    if kind == ["fragment"]:
        return
    if kind == ["forward"]:
        judge_forward(judge, block.line, value)
    elif kind == ["base"]:
        judge_plan(judge, block.line, {"base": {**SMALL_BASE, **value}})
    elif "base" in value:
        judge_plan(judge, block.line, value)
    elif "hosts" in value:
        name = f"topology-{judge.page.stem}-{block.line}.json"  # its own, as equal experiments are planned once
        (judge.workspace / name).write_text(json.dumps(value), encoding="utf-8")
        mode = "cluster" if value.get("kind") == "cluster" else "live"
        judge_plan(judge, block.line, {"base": {**SMALL_BASE, "mode": mode, "topology": name}})
    else:
        judge.blame(block.line, "is neither an experiment nor a topology; mark a part of a base as '```json base', and "
                                "JSON that is not planned as '```json fragment'")


def judge_plan(judge: Judge, line: int, experiment: dict) -> None:
    (judge.workspace / "block.json").write_text(json.dumps(experiment), encoding="utf-8")
    options = ["--no-measuring"] if judge.leaves_out(line, experiment, "thinpipe plan without --no-measuring") else []
    result = judge.plan(line, "block.json", *options)
    if result.returncode:
        judge.blame(line, result.stderr.strip())


def judge_forward(judge: Judge, line: int, value: dict) -> None:
    (judge.workspace / "forward.json").write_text(json.dumps(value), encoding="utf-8")
    result = judge.run(line, ["thinpipe-trainer", "forward", "forward.json"])
    if not any(value[file] in result.stderr for file in ("weights", "inputs")):
        judge.blame(line, f"forward failed before it opened its files: {result.stderr}")
