#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the rooms of the C++ sources and the arrows between them, and checks both against the plan below.

A room is a folder of a part of the project. An arrow leads from a room to one whose headers it includes. Each part lists its rooms in
the order of the data, and a room includes only rooms before it: no arrow points back, and there is no circle. Tests, benchmarks and
fuzz targets may include every room and are not drawn; their folders have the same limit of files.

  scripts/rooms.py            prints rooms and arrows; exit status 1 if the plan does not hold
  scripts/rooms.py --units    also reports circles between files, inside a room too
"""

from __future__ import annotations

import argparse
import posixpath
import re
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

MAX_SOURCES_PER_FOLDER = 40
MAX_ROOMS = 16  # of a part
MAX_ARROWS = 45
GENERATED = {"git_revision.hh", "page_files.hh", "renamed_names_table.hh"}
NOT_DRAWN = {"tests", "benchmarks", "fuzz", "python"}  # the extension of Python binds classes of all rooms of the trainer
Arrow = tuple[str, str]


@dataclass(frozen=True)
class Part:
    rooms: tuple[str, ...]  # each may use those before it; "." are the sources that lie in the part's own folder
    uses: tuple[str, ...]  # other parts


PARTS = {
    "common": Part(rooms=("support", "protocol"), uses=()),
    "netem": Part(rooms=("topology", "kernel", "preload", ".", "fidelity", "cross_traffic"), uses=("common",)),
    "harness": Part(
        rooms=(
            *("experiment", "simulation", "plan", "schema", "records", "executors", "machine", "reports", "advice"),
            *("terminal", "tokens", "artifacts", "run", "slurm", "commands", "."),
        ),
        uses=("common", "netem"),
    ),
    "trainer": Part(
        rooms=(
            *("base", "tensors", "datasets", "models", "optimisers", "collectives", "pruning", "synchronisers"),
            *("exchange", "replay", "training", "commands", "."),
        ),
        uses=("common",),
    ),
    # Rooms within a room.
    "harness/commands": Part(rooms=("options", "."), uses=()),
    "harness/run": Part(rooms=("network", "script", "."), uses=()),
    "harness/reports": Part(rooms=(".", "comparison"), uses=()),
    "trainer/commands": Part(rooms=("conformance", "planning", "."), uses=()),
    "trainer/datasets": Part(rooms=(".", "images", "text", "partitions"), uses=()),
    "trainer/models": Part(rooms=("layers", "."), uses=()),
    "trainer/collectives": Part(rooms=(".", "transport", "algorithms", "backends"), uses=()),
    "trainer/synchronisers": Part(rooms=(".", "transforms", "quantised", "sparse", "entries", "deepreduce", "packed", "methods"), uses=()),
}


def read_includes(root: Path) -> dict[str, list[str]]:
    """Returns the project's headers that each C++ source includes."""
    includes = {}
    for part in PARTS:
        for file in (*(root / part).rglob("*.cc"), *(root / part).rglob("*.hh")):
            names = re.findall(r'^#include "([^"]+)"', file.read_text(encoding="utf-8"), re.MULTILINE)
            includes[str(file.relative_to(root))] = [name for name in names if name not in GENERATED]
    return includes


def is_drawn(file: str) -> bool:
    return not NOT_DRAWN & set(file.split("/"))


def room_in(part: str, file: str) -> str | None:
    """Returns the room of the part that holds the file, or None if the file lies outside the part."""
    if not file.startswith(part + "/"):
        return None
    inside = posixpath.dirname(file.removeprefix(part + "/"))
    return inside.split("/")[0] or "."


def draw(part: str, includes: dict[str, list[str]]) -> dict[Arrow, list[str]]:
    """Returns the arrows between the part's rooms, each with the includes that make it."""
    arrows = defaultdict(list)
    for file, names in includes.items():
        start = room_in(part, file)
        for name in names if start else ():
            end = room_in(part, name)
            if end and end != start:
                arrows[start, end].append(f"{file} includes {name}")
    return dict(arrows)


def circles(arrows: set[Arrow]) -> list[list[str]]:
    """Returns each set of nodes that all lead to each other."""
    ends = defaultdict(set)
    for start, end in arrows:
        ends[start].add(end)

    def reached_from(node: str) -> set[str]:
        reached, waiting = set(), [node]
        while waiting:
            new = ends.get(waiting.pop(), set()) - reached
            reached |= new
            waiting += new
        return reached

    reached = {node: reached_from(node) for node in list(ends)}
    found = {
        frozenset(other for other in ahead if node in reached.get(other, ())) for node, ahead in reached.items() if node in ahead
    }
    return sorted(sorted(circle) for circle in found)


def unit_circles(includes: dict[str, list[str]]) -> list[list[str]]:
    """Circles between units; a unit is a header with its source."""
    arrows = {
        (posixpath.splitext(file)[0], posixpath.splitext(name)[0]) for file, names in includes.items() for name in names
    }
    return circles({arrow for arrow in arrows if arrow[0] != arrow[1]})


def show_part(name: str, part: Part, rooms: set[str], arrows: dict[Arrow, list[str]]) -> None:
    print(f"{name}: {len(rooms)} rooms, {len(arrows)} arrows")
    for room in part.rooms:
        print(f"  {room:13} -> {', '.join(end for end in part.rooms if (room, end) in arrows)}".rstrip())


def judge_part(name: str, part: Part, includes: dict[str, list[str]]) -> list[str]:
    """Prints the part's rooms and arrows. Returns what is wrong with them."""
    rooms = {room for file in includes if (room := room_in(name, file))}
    arrows = draw(name, includes)
    show_part(name, part, rooms, arrows)
    order = {room: place for place, room in enumerate(part.rooms)}
    problems = [f"{name}/{room} is not among the rooms of PARTS" for room in sorted(rooms - set(order))]
    for (start, end), causes in sorted(arrows.items()):
        if {start, end} <= set(order) and order[start] < order[end]:
            problems += [f"{name}: {start} -> {end} points back: {cause}" for cause in causes]
    problems += [f"{name}: a circle of {', '.join(circle)}" for circle in circles(set(arrows))]
    if len(rooms) > MAX_ROOMS:
        problems.append(f"{name} has {len(rooms)} rooms; at most {MAX_ROOMS}")
    if len(arrows) > MAX_ARROWS:
        problems.append(f"{name} has {len(arrows)} arrows; at most {MAX_ARROWS}")
    return problems


def judge_between_parts(includes: dict[str, list[str]]) -> list[str]:
    problems = []
    for file, names in includes.items():
        own = file.split("/")[0]
        allowed = {own, *PARTS[own].uses}
        problems += [f"{own} may not include {name}: {file}" for name in names if name.split("/")[0] not in allowed]
    return problems


def judge_folders(files: list[str]) -> list[str]:
    counts = Counter(posixpath.dirname(file) for file in files)
    return [
        f"{folder} holds {count} sources; at most {MAX_SOURCES_PER_FOLDER}"
        for folder, count in sorted(counts.items())
        if count > MAX_SOURCES_PER_FOLDER
    ]


def judge(root: Path, units: bool = False) -> list[str]:
    """Prints all rooms and arrows. Returns what does not hold."""
    includes = read_includes(root)
    drawn = {file: names for file, names in includes.items() if is_drawn(file)}
    problems = judge_folders(list(includes)) + judge_between_parts(drawn)
    for name, part in PARTS.items():
        problems += judge_part(name, part, drawn)
    if units:
        problems += [f"files include each other: {', '.join(circle)}" for circle in unit_circles(drawn)]
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--units", action="store_true", help="also report circles between files, inside a room too")
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).resolve().parents[1], help="a copy of the tree")
    arguments = parser.parse_args()
    problems = judge(arguments.root, arguments.units)
    for problem in problems:
        print(f"rooms: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
