# SPDX-License-Identifier: Apache-2.0
"""TensorBoard's own reader, in an interpreter that has it."""
from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from report_program import skip_all

# Runs in the interpreter that has TensorBoard; prints {folder: {tag: [[wall time, step, value]...]}}.
READER = """
import json, sys
from pathlib import Path
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
out = {}
for file in Path(sys.argv[1]).rglob("*tfevents*"):
    events = EventAccumulator(str(file.parent), size_guidance={"scalars": 0})
    events.Reload()
    out[str(file.parent.relative_to(sys.argv[1]))] = {
        tag: [[e.wall_time, e.step, e.value] for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]
    }
print(json.dumps(out))
"""
PYTHON = os.environ.get("THINPIPE_TENSORBOARD_PYTHON") or "/usr/bin/python3"


def read(folder: Path) -> dict[str, dict[str, list[list[float]]]]:
    ended = subprocess.run([PYTHON, "-c", READER, str(folder)], capture_output=True, text=True, timeout=300)
    if ended.returncode != 0:
        raise AssertionError(f"TensorBoard's reader failed: {ended.stderr}")
    return json.loads(ended.stdout)


def require_tensorboard() -> None:
    """Skips all tests if there is no TensorBoard."""
    found = subprocess.run([PYTHON, "-c", "import tensorboard"], capture_output=True, text=True)
    if found.returncode != 0:
        skip_all(f"{PYTHON} cannot import tensorboard; name an interpreter that can in THINPIPE_TENSORBOARD_PYTHON")
