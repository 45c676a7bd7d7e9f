#!/usr/bin/env python3
"""How much of the exchange the backward pass hides, from the records of experiments/overlap.json.

    build/release/thinpipe run experiments/overlap.json
    trainer/benchmarks/overlap.py results/overlap

For each cap, medians over the iterations but the first, in which buckets are not yet in order of arrival:
  exposed / exchange                 1 when nothing is hidden
  iteration / max(compute, exchange) 1 when all is: a step needs at least the longer of the two. What must come on top
                                     is the exchange of the last bucket, which begins when backward has ended.
"""

import json
import statistics
import sys
from pathlib import Path


def median(iterations, part):
    return statistics.median(iteration[part] for iteration in iterations)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(f"{'run':14}{'compute ms':>12}{'exchange ms':>13}{'exposed ms':>12}{'iteration ms':>14}"
          f"{'exposed/exchange':>18}{'iteration/max':>15}  fidelity")
    for path in sorted(Path(sys.argv[1]).glob("*/run.json")):
        record = json.loads(path.read_text())
        events = [json.loads(line) for line in (path.parent / "iterations.jsonl").read_text().splitlines()]
        iterations = [event for event in events if event["event"] == "iteration"][1:]
        if not iterations:
            print(f"{record['label']:14}no iterations: {record['status']}")
            continue
        compute, exchange, exposed, whole = (
            median(iterations, part)
            for part in ("compute_s", "exchange_s", "exposed_exchange_s", "iteration_time_s")
        )
        print(f"{record['label']:14}{1e3 * compute:12.1f}{1e3 * exchange:13.1f}{1e3 * exposed:12.1f}{1e3 * whole:14.1f}"
              f"{exposed / exchange:18.2f}{whole / max(compute, exchange):15.2f}  {record['fidelity']['verdict']}")


if __name__ == "__main__":
    main()
