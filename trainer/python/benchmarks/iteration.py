#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares an iteration of a Python model with a Python method with its twin in C++: small_cnn and topk, mode live.

Runs both in turns over loopback, without a virtual network. The ratio of the iteration times must be at most 1.1.
Iteration times are medians over the iterations of all turns but each run's first ten. CPU time is rank 0's per
iteration; it matters where workers share cores.

Usage: iteration.py PATH/build/PRESET/thinpipe [--workers N] [--turns N] [--iterations N]
"""

import argparse
import statistics
from pathlib import Path

from live_run import iterations_of

METHODS = Path(__file__).resolve().parents[1] / "tests" / "methods"
TWINS = {
    "C++": {"model": {"name": "small_cnn"}, "synchroniser": {"name": "topk", "ratio": 0.01}},
    "Python": {
        "model": {"name": f"{METHODS}/small_cnn.py:SmallCnn"},
        "synchroniser": {"name": f"{METHODS}/topk_residual.py:MyTopK", "ratio": 0.01},
    },
}
BATCH_SIZE = 64
SKIPPED = 10  # buckets are laid out again, and caches are cold


def run(thinpipe, twin, workers, iterations):
    """Returns the events of rank 0's iterations."""
    base = {
        "mode": "live",
        "topology": "loopback.json",
        "workers": workers,
        "dataset": {"name": "synthetic", "channels": 1, "height": 28, "width": 28,
                    "train_examples": workers * BATCH_SIZE * iterations, "test_examples": 32},
        "training": {"batch_size_per_worker": BATCH_SIZE, "evaluate_every_iterations": iterations},
        **twin,
    }
    topology = {"name": "loopback", "kind": "loopback", "hosts": [f"w{i}" for i in range(workers)]}
    return iterations_of(thinpipe, base, topology)[SKIPPED:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("thinpipe")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=100)
    arguments = parser.parse_args()
    thinpipe = str(Path(arguments.thinpipe).resolve())
    events = {name: [] for name in TWINS}
    for turn in range(arguments.turns):
        for name in TWINS if turn % 2 == 0 else reversed(TWINS):
            events[name] += run(thinpipe, TWINS[name], arguments.workers, arguments.iterations)
    keys = [key for key in next(iter(events.values()))[0] if key.endswith("_s")]
    print(f"{'median per iteration, ' + str(arguments.workers) + ' workers':34}" +
          "".join(f"{name:>10}" for name in TWINS) + f"{'ratio':>8}")
    for key in keys:
        medians = [statistics.median(event[key] or 0 for event in events[name]) for name in TWINS]
        ratio = f"{medians[1] / medians[0]:8.2f}" if medians[0] > 0 else ""
        print(f"{key:34}" + "".join(f"{1e3 * median:8.2f}ms" for median in medians) + ratio)


if __name__ == "__main__":
    main()
