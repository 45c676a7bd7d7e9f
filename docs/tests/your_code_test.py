#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Follows docs/tutorials/your-method.md as a reader would, in an empty folder, with fewer workers and examples.

    your_code_test.py BUILD     with the programs in BUILD

Saves every code block that has a file name, and the experiment; checks and runs the method beside PacTrain; draws the
figure; trains the page's model and compressor, too. Exits with 77 if the Python package is not built.
"""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/tutorials/your-method.md"
# As little as trains at all.
SMALL = {"workers": 2, "dataset.train_examples": 384, "dataset.test_examples": 128, "pretraining.iterations": 2}


def blocks(page: str) -> dict[str, str]:
    """Returns the code blocks by file name. The experiment is the only block of JSON."""
    named = {name: text for name, text in re.findall(r"^```python (\S+)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)}
    (experiment,) = re.findall(r"^```json\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    return named | {"my.json": experiment}


def run(*words: str | Path, **more) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def settings(values: dict[str, object]) -> list[str]:
    return [word for key, value in values.items() for word in ("--set", f"{key}={value}")]


def records(folder: Path) -> dict[str, dict]:
    found = (json.loads(path.read_text()) for path in folder.glob("*/run.json"))
    return {record["label"]: record for record in found}


def follow(build: Path, folder: Path) -> None:
    files = blocks(PAGE.read_text(encoding="utf-8"))
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    lines = len(files["my_method.py"].splitlines())
    assert lines <= 25, f"the page promises a method in 25 lines, but it has {lines}"
    program = build / "thinpipe"
    checked = run(program, "check-method", "my_method.py:MyTopK", "--set", "ratio=0.05", cwd=folder)
    assert "violated" not in checked, checked
    run(program, "run", "my.json", *settings(SMALL), cwd=folder)
    made = records(folder / "results/mine")
    assert sorted(made) == ["dense", "mine", "pactrain"], sorted(made)
    for label, record in made.items():
        assert record["status"] == "completed", (label, record["error"])
    environment = os.environ | {"THINPIPE": str(program)}
    run("/usr/bin/python3", ROOT / "plotting/speedup.py", "results/mine", cwd=folder, env=environment)
    assert (folder / "results/mine/speedup.png").stat().st_size > 10_000
    short = {"mode": "converge", "workers": 2, "training": {"epochs": 1, "batch_size_per_worker": 16}}
    images = {"dataset": {"name": "fashion_mnist", "train_examples": 256, "test_examples": 128}}
    train(program, folder, "model", short | images | {"model": {"name": "my_model.py:Net", "hidden": 16},
                                                      "synchroniser": {"name": "my_compressor.py:Half"}})
    train(program, folder, "data", short | {"model": {"name": "mlp", "hidden": [8]},
                                            "dataset": {"name": "my_data.py:load", "count": 500}})


def train(program: Path, folder: Path, name: str, base: dict) -> None:
    (folder / f"{name}.json").write_text(json.dumps({"base": base}), encoding="utf-8")
    run(program, "run", f"{name}.json", cwd=folder)
    (record,) = records(folder / "results" / name).values()
    assert record["status"] == "completed", record["error"]


def main() -> int:
    build = Path(sys.argv[1])
    if not (build / "python/thinpipe/_core.so").exists():
        print("SKIPPED: the Python package is not built; install python3-dev, pybind11-dev and python3-torch")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        follow(build, Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
