#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows how fast a method that senses the network follows steps of the bottlenecks' rate.

    scripts/rate_steps.py RUN_FOLDER

For each change of the rate in a run of netsense, prints what a worker sent in the iterations until the next one, at most
ten, as a share of what the link carries in the time that an exchange may take (mean_exchange_budget_s in the record), or of the most that
the run's kept fraction allows, if that is less. For example:

    scripts/rate_steps.py results/sensing/0144ce3f7434b788
"""
from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any, Sequence

FOLLOWED = 0.8
SHOWN = 10
# Payload per byte on the wire, of full frames of TCP with timestamps.
GOODPUT = 1448 / 1514


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="a run's folder, with run.json and iterations.jsonl")
    options = parser.parse_args(arguments)
    try:
        record = json.loads((options.run / "run.json").read_text(encoding="utf-8"))
        lines = [json.loads(line) for line in (options.run / "iterations.jsonl").read_text(encoding="utf-8").splitlines()]
        print(report(record, [line for line in lines if line["event"] == "iteration"]), end="")
    except (OSError, ValueError) as error:
        print(f"rate_steps: {options.run}: cannot be read: {error}", file=sys.stderr)
        return 2
    except KeyError as error:
        print(f"rate_steps: {options.run}: is not a live run of netsense on changing links: it lacks {error}", file=sys.stderr)
        return 2
    return 0


def report(record: dict[str, Any], iterations: list[dict[str, Any]]) -> str:
    budget_s = record["synchroniser"]["mean_exchange_budget_s"]
    most_bytes = max(iteration["sent_bytes"] for iteration in iterations)
    text = f"{record['label']}: exchanges may take {1e3 * budget_s:.0f} ms\n"
    changes = [change for change in record["network_events"] if is_rate_step(change)]
    ends_s = [change["train_time_s"] for change in changes[1:]] + [math.inf]
    for change, end_s in zip(changes, ends_s):
        rate_bit_per_s = change["requested"]["rate_bit_per_s"]
        allowed_bytes = min(most_bytes, budget_s * rate_bit_per_s / 8 * GOODPUT)
        after = [each for each in iterations if change["train_time_s"] < each["train_time_s"] <= end_s][:SHOWN]
        shares = [each["sent_bytes"] / allowed_bytes for each in after]
        text += (
            f"at {change['train_time_s']:.2f} s to {rate_bit_per_s / 1e6:g} Mbit/s: "
            f"{' '.join(f'{share:.2f}' for share in shares)}; {followed_after(shares)}\n"
        )
    return text


def is_rate_step(change: dict[str, Any]) -> bool:
    """Returns whether it set a rate after the beginning. One that the run did not live to see has no time."""
    return "rate_bit_per_s" in change["requested"] and (change["train_time_s"] or 0.0) > 0


def followed_after(shares: list[float]) -> str:
    """Says in which iteration the link was first used, and not asked for more than it carries."""
    for iteration, share in enumerate(shares, start=1):
        if FOLLOWED <= share <= 1 / FOLLOWED:
            return f"followed in iteration {iteration}"
    return f"not followed within {len(shares)} iterations"


if __name__ == "__main__":
    sys.exit(main())
