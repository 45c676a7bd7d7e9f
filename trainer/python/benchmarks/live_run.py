# SPDX-License-Identifier: Apache-2.0
"""One live run for a benchmark."""
import json
import subprocess
import tempfile
from pathlib import Path


def iterations_of(thinpipe, base, topology=None):
    """Runs an experiment and returns its `iteration` events. topology: the content of the file that base names."""
    with tempfile.TemporaryDirectory() as folder:
        if topology is not None:
            (Path(folder) / base["topology"]).write_text(json.dumps(topology))
        experiment = Path(folder) / "experiment.json"
        experiment.write_text(json.dumps({"base": base}))
        done = subprocess.run([thinpipe, "run", experiment, "--results", f"{folder}/results"], capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        (log,) = Path(folder).rglob("iterations.jsonl")
        events = [json.loads(line) for line in log.read_text().splitlines()]
        return [event for event in events if event["event"] == "iteration"]
