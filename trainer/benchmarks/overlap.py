#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much of the exchange the backward pass hides, from the records of experiments/overlap.json.

    build/release/thinpipe run experiments/overlap.json
    trainer/benchmarks/overlap.py results/overlap

For each cap, medians over all iterations except the first, in which buckets are not yet in order of arrival:
  exposed / exchange    1 if no part of the exchange is hidden
  iteration / bound     1 if the overlap is perfect. The bound is the longer of two: compute; filling the first bucket,
                        then the exchange.
"""

import json
import statistics
import sys
from pathlib import Path


PARTS = ["compute_s", "exchange_s", "first_bucket_s", "exposed_exchange_s", "iteration_time_s"]


def medians(folder):
    """Returns the median of each part over all iterations except the first; None if there are none."""
    events = [json.loads(line) for line in (folder / "iterations.jsonl").read_text().splitlines()]
    iterations = [event for event in events if event["event"] == "iteration"][1:]
    return [statistics.median(event[part] for event in iterations) for part in PARTS] if iterations else None


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    paths = sorted(Path(sys.argv[1]).glob("*/run.json"))
    if not paths:
        sys.exit(f"{sys.argv[1]} contains no records (*/run.json); run experiments/overlap.json first")
    print(f"{'run':14}{'compute ms':>12}{'exchange ms':>13}{'first bucket ms':>17}{'exposed ms':>12}{'iteration ms':>14}"
          f"{'exposed/exchange':>18}{'iteration/bound':>17}  fidelity")
    for path in paths:
        record = json.loads(path.read_text())
        parts = medians(path.parent)
        if parts is None:
            print(f"{record['label']:14}no iterations: {record['status']}")
            continue
        compute, exchange, first_bucket, exposed, whole = parts
        print(f"{record['label']:14}{1e3 * compute:12.1f}{1e3 * exchange:13.1f}{1e3 * first_bucket:17.1f}"
              f"{1e3 * exposed:12.1f}{1e3 * whole:14.1f}{exposed / exchange:18.2f}"
              f"{whole / max(compute, first_bucket + exchange):17.2f}  {record['fidelity']['verdict']}")


if __name__ == "__main__":
    main()
