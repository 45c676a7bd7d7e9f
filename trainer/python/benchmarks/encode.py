#!/usr/bin/env python3
"""Compares the encode time of a top-k with residual in Python with torch.topk alone, and with the method in C++.

Encode: everything until the last collective call begins: adding the residual, choosing, gathering values. The ratio to
torch.topk must be at most 1.5. All are timed in turns, on one thread; the table has medians.

Usage: encode.py PATH/build/PRESET/python [--entries N] [--ratio R] [--turns N]
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

METHOD = Path(__file__).resolve().parents[1] / "tests" / "methods" / "topk_residual.py"


def time_topk(torch, entries, k):
    magnitudes = torch.randn(entries).abs()
    begin, begin_cpu = time.perf_counter(), time.thread_time()
    magnitudes.topk(k)
    return time.perf_counter() - begin, time.thread_time() - begin_cpu


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", help="the folder that has the package thinpipe")
    parser.add_argument("--entries", type=int, default=25_000_000)
    parser.add_argument("--ratio", type=float, default=0.01)
    parser.add_argument("--turns", type=int, default=5)
    arguments = parser.parse_args()
    sys.path.insert(0, arguments.package)
    import torch

    from thinpipe import _core

    torch.set_num_threads(1)
    methods = {
        "topk in Python": {"name": f"{METHOD}:MyTopK", "ratio": arguments.ratio},
        "topk in C++": {"name": "topk", "ratio": arguments.ratio},
    }
    times = {name: [] for name in ("torch.topk", *methods)}
    for _ in range(arguments.turns):
        times["torch.topk"].append(time_topk(torch, arguments.entries, int(arguments.ratio * arguments.entries)))
        for name, method in methods.items():
            # The second step has a residual.
            step = _core.time_steps(json.dumps(method), arguments.entries, workers=2, steps=2)[-1]
            times[name].append((step.encode_s, step.encode_cpu_s))
    base = [statistics.median(column) for column in zip(*times["torch.topk"])]
    print(f"{'encode of ' + format(arguments.entries, ',') + ' entries':32}{'time':>10}{'ratio':>8}{'CPU time':>12}{'ratio':>8}")
    for name, turns in times.items():
        elapsed, cpu = (statistics.median(column) for column in zip(*turns))
        print(f"{name:32}{elapsed:9.3f}s{elapsed / base[0]:8.2f}{cpu:11.3f}s{cpu / base[1]:8.2f}")


if __name__ == "__main__":
    main()
