# SPDX-License-Identifier: Apache-2.0
"""Workers that are told to wait for the controller evaluate the initial weights, but train only when they may.

Usage: begin_test.py PATH/thinpipe-trainer
"""

import json
import sys
import tempfile
import threading
import time
from pathlib import Path

import workers

CONFIG = {
    "workers": 2,
    "model": {"name": "mlp", "hidden": [8]},
    "dataset": {"name": "synthetic", "channels": 1, "height": 8, "width": 8, "train_examples": 48, "test_examples": 50},
    "training": {"epochs": 1, "batch_size_per_worker": 8, "evaluate_every_iterations": 3},
}


def collect(stream, names):
    for line in stream:
        event = json.loads(line)
        names.append((event["event"], event.get("iteration")))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        begin_file = Path(folder) / "begin"
        processes = workers.start(sys.argv[1], folder, CONFIG, begin_file=begin_file)
        events = []
        reader = threading.Thread(target=collect, args=(processes[0].stdout, events))
        reader.start()
        while ("evaluation", 0) not in events and reader.is_alive():
            time.sleep(0.01)
        time.sleep(0.7)  # an iteration takes milliseconds
        early = [event for event in events if event[0] == "iteration"]
        begin_file.touch()
        reader.join()
        assert [process.wait() for process in processes] == [0, 0]
        assert early == [], early
        assert [event for event in events if event[0] == "iteration"] == [("iteration", i) for i in (1, 2, 3)], events


if __name__ == "__main__":
    main()
