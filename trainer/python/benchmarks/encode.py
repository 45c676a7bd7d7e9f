#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the encode time of a top-k with residual in Python with torch.topk alone, and with the method in C++.

Trains a layer of 25 million weights, one worker, live. Encode is what the record calls so: adding the residual,
choosing, gathering values. The ratio to torch.topk must be at most 1.5. All are timed in turns, on one thread; the
table has medians over turns.

Usage: encode.py PATH/thinpipe [--ratio R] [--turns N]
"""

import argparse
import statistics
import time
from pathlib import Path

import torch

from live_run import iterations_of

METHOD = Path(__file__).resolve().parents[1] / "tests" / "methods" / "topk_residual.py"
PIXELS, UNITS = 784, 32_000
ENTRIES = PIXELS * UNITS
ITERATIONS = 6  # per turn; the first has no residual, and after the second buckets are laid out again
SKIPPED = 2


def time_topk(k):
    magnitudes = torch.randn(ENTRIES).abs()
    times = []
    for _ in range(ITERATIONS - SKIPPED):
        begin = time.perf_counter()
        magnitudes.topk(k)
        times.append(time.perf_counter() - begin)
    return times


def time_encode(thinpipe, method):
    """Returns rank 0's encode times."""
    base = {
        "mode": "live",
        "topology": "loopback",
        "workers": 1,
        "model": {"name": "mlp", "hidden": [UNITS]},
        "dataset": {"name": "synthetic", "channels": 1, "height": 28, "width": 28, "train_examples": ITERATIONS,
                    "test_examples": 1},
        "training": {"batch_size_per_worker": 1, "evaluate_every_iterations": ITERATIONS},
        "synchroniser": method,
    }
    return [event["encode_s"] for event in iterations_of(thinpipe, base)[SKIPPED:]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("thinpipe")
    parser.add_argument("--ratio", type=float, default=0.01)
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    thinpipe = str(Path(arguments.thinpipe).resolve())
    torch.set_num_threads(1)
    methods = {
        "encode, Python": {"name": f"{METHOD}:MyTopK", "ratio": arguments.ratio},
        "encode, C++": {"name": "topk", "ratio": arguments.ratio},
    }
    times = {name: [] for name in ("torch.topk", *methods)}
    for _ in range(arguments.turns):
        times["torch.topk"] += time_topk(int(arguments.ratio * ENTRIES))
        for name, method in methods.items():
            times[name] += time_encode(thinpipe, method)
    base = statistics.median(times["torch.topk"])
    print(f"{format(ENTRIES, ',') + ' entries':24}{'median':>10}{'ratio':>8}")
    for name, turns in times.items():
        median = statistics.median(turns)
        print(f"{name:24}{median:9.3f}s{median / base:8.2f}")


if __name__ == "__main__":
    main()
