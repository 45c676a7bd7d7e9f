#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a topology of sites with workers: a direct link between any two sites, with its own rate and delay.

Rates and round-trip times are one value for all pairs of sites, or a matrix: a CSV file with a row and a column per site,
whose entry in row i and column j is the rate from site i to site j, or the round-trip time between them. The diagonal
is not read. A link's queue has the bytes that its faster direction carries in a round-trip time, as TCP needs.
topologies/sites.json is the output for the defaults."""
from __future__ import annotations

import argparse
import csv
import json
import sys
from pathlib import Path
from typing import Any, Sequence

SCHEMA = "../harness/schema/topology.schema.json"
UNITS_OF_TIME_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
UNITS_OF_RATE = {"kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="sites_topology.py",
        description="Write a topology of sites with workers, with a direct link between any two sites.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="examples:\n"
        "  scripts/sites_topology.py                                     # topologies/sites.json: 4 sites of 2 workers\n"
        "  scripts/sites_topology.py --sites 3 --workers 4 --round-trip '30 ms' > my-sites.json\n"
        "  scripts/sites_topology.py --sites 3 --rate rates.csv --round-trip times.csv > my-sites.json\n"
        "  build/release/thinpipe plan my-experiment.json                # with \"topology\": \"my-sites.json\"\n\n"
        "exit codes: 0 written, 2 wrong input",
    )
    parser.add_argument("--name", default="sites", help="the topology's name (default: %(default)s)")
    parser.add_argument("--sites", type=int, default=4, help="number of sites, at least 2 (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="number of hosts per site (default: %(default)s)")
    parser.add_argument(
        "--rate", default="100 Mbit/s", metavar="RATE|FILE", help="cap of each direction (default: %(default)s)"
    )
    parser.add_argument(
        "--round-trip", default="80 ms", metavar="TIME|FILE", help="half of it is each direction's delay (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    try:
        print(text_of(topology_of(options)))
    except (OSError, ValueError) as error:
        print(f"sites_topology: {error}", file=sys.stderr)
        return 2
    return 0


def topology_of(options: argparse.Namespace) -> dict[str, Any]:
    sites, workers = options.sites, options.workers
    if sites < 2 or workers < 1:
        raise ValueError(f"--sites must be at least 2 and --workers at least 1, but they are {sites} and {workers}")
    rates = matrix_of("--rate", options.rate, sites)
    times = matrix_of("--round-trip", options.round_trip, sites)
    links: list[dict[str, Any]] = [
        {"between": [hosts_of(site, workers), f"site{site}"]} for site in range(sites)
    ]
    for a in range(sites):
        for b in range(a + 1, sites):
            if times[a][b] != times[b][a]:
                raise ValueError(
                    f"--round-trip: the time between sites {a} and {b} is {times[a][b]} in row {a}, but {times[b][a]} in row {b}"
                )
            round_trip_s = quantity("--round-trip", times[a][b], UNITS_OF_TIME_S)
            rate = max(quantity("--rate", each, UNITS_OF_RATE) for each in (rates[a][b], rates[b][a]))
            link = {"between": [f"site{a}", f"site{b}"], "rate": rates[a][b], "delay": f"{round_trip_s / 2 * 1e3:g} ms"}
            if rates[b][a] != rates[a][b]:
                link["backward"] = {"rate": rates[b][a]}
            links.append({**link, "queue": f"{max(round(rate * round_trip_s / 8e3), 25)} kB", "bottleneck": True})
    return {
        "$schema": SCHEMA,
        "name": options.name,
        "description": f"{sites} sites of {workers} hosts with a direct link between any two sites, made by scripts/sites_topology.py.",
        "forwarding": "routed",
        "switches": {"site": sites},
        "hosts": {"w": sites * workers},
        "links": links,
    }


def hosts_of(site: int, workers: int) -> str:
    first = site * workers
    return f"w{first}" if workers == 1 else f"w{first}..w{first + workers - 1}"


def matrix_of(option: str, value: str, sites: int) -> list[list[str]]:
    if value[:1].isdigit():
        return [[value] * sites] * sites
    with Path(value).open(newline="") as file:
        rows = [[cell.strip() for cell in row] for row in csv.reader(file) if row]
    if len(rows) != sites or any(len(row) != sites for row in rows):
        raise ValueError(f"{option}: {value} must have {sites} rows of {sites} entries, one per site")
    return rows


def quantity(option: str, text: str, units: dict[str, float]) -> float:
    number, _, unit = text.partition(" ")
    try:
        return float(number) * units[unit.strip()]
    except (KeyError, ValueError):
        raise ValueError(f"{option}: '{text}' must be a number with one of the units {', '.join(units)}") from None


def text_of(topology: dict[str, Any]) -> str:
    """Returns JSON with a line per member and per link, as in the included topologies."""
    links = ",\n".join(f"    {json.dumps(link)}" for link in topology["links"])
    members = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in topology.items() if key != "links"]
    return "{\n" + ",\n".join([*members, f'  "links": [\n{links}\n  ]']) + "\n}"


if __name__ == "__main__":
    sys.exit(main())
