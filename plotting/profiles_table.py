#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares compute profiles that were measured on a GPU with those estimated from its data sheet."""
from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Mapping, Sequence

from shared.destination import add_destination, write_to_destination
from shared.markdown_table import UNKNOWN, in_markdown
from shared.number_text import three_digits
from shared.report import InputError

BEGIN, END = "<!-- compute-profiles: begin -->", "<!-- compute-profiles: end -->"
HEADINGS = ["float32 (ms)", "bfloat16 (ms)", "estimated (ms)", "estimated / float32"]
# A part of an iteration, and its member of a profile. Starting operations takes a time of its own in each.
PARTS = {"forward and backward": "compute_s", "new weights": "finish_s"}
METHOD_HEADINGS = ["method", "encode (ms)", "decode (ms)"]

Profiles = Mapping[str, Mapping[str, Any]]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="profiles_table.py",
        description="Tabulate measured compute profiles beside estimated ones.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example, with the files that scripts/compute_profiles.py has written:\n"
        "  plotting/profiles_table.py results/reference/compute-profiles\n\n"
        "exit codes: 0 made, 1 the table could not be written, 2 wrong input",
    )
    parser.add_argument("folder", type=Path, help="profiles named MODEL-float32.json, MODEL-bfloat16.json, "
                        "MODEL-estimated.json and MODEL-float32-METHOD.json")
    add_destination(parser, BEGIN, END)
    options = parser.parse_args(arguments)
    return write_to_destination("profiles_table", lambda: text(read(options.folder)), options, BEGIN, END)


def read(folder: Path) -> Profiles:
    """Returns the profiles by the names of their files."""
    profiles = {}
    for path in sorted(folder.glob("*.json")):
        try:
            profile = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: cannot be read: {error}") from error
        if not isinstance(profile, dict) or "origin" not in profile:
            raise InputError(f"{path}: is not a compute profile")
        profiles[path.stem] = profile
    if not profiles:
        raise InputError(f"{folder}: has no compute profiles")
    return profiles


def text(profiles: Profiles) -> str:
    models = sorted({name.split("-")[0] for name in profiles}, key=lambda model: time_ms(profiles, model, "float32", "compute_s") or 0)
    parts = [
        rows([what, *HEADINGS], [model_row(profiles, model, part) for model in models]) for what, part in PARTS.items()
    ]
    methods = [name for name in profiles if name.count("-") > 1]
    if methods:
        parts.append(rows(METHOD_HEADINGS, [method_row(profiles, name) for name in methods]))
    parts.append(in_markdown(origin(profiles)) + "\n")
    return "\n".join(parts)


def rows(headings: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    lines = [headings, [":---"] + ["---:"] * (len(headings) - 1), *cells]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def time_ms(profiles: Profiles, model: str, kind: str, part: str) -> float | None:
    profile = profiles.get(f"{model}-{kind}")
    return 1e3 * profile[part] if profile else None


def model_row(profiles: Profiles, model: str, part: str) -> list[str]:
    times = [time_ms(profiles, model, kind, part) for kind in ("float32", "bfloat16", "estimated")]
    measured, _, estimated = times
    ratio = estimated / measured if estimated and measured else None
    return [model, *(UNKNOWN if number is None else three_digits(number) for number in (*times, ratio))]


def method_row(profiles: Profiles, name: str) -> list[str]:
    model, _, method = name.split("-", 2)
    profile = profiles[name]
    return [f"{method}, {model}", *(three_digits(1e3 * profile[part]) for part in ("encode_s", "decode_s"))]


def origin(profiles: Profiles) -> str:
    measured = [profile for profile in profiles.values() if profile["origin"] == "measured"]
    estimated = [profile for profile in profiles.values() if profile["origin"] == "estimated"]
    devices = sorted({profile["device"]["name"] for profile in measured})
    libraries = sorted({profile["device"]["libraries"]["libtorch"] for profile in measured})
    sheets = sorted({profile["device"]["name"] for profile in estimated})
    sizes = sorted({profile["configuration"]["training"]["batch_size_per_worker"] for profile in measured})
    return (
        f"measured on {', '.join(devices)} with LibTorch {', '.join(libraries)} · estimated for {', '.join(sheets)} · "
        f"one worker, {', '.join(map(str, sizes))} images of 32 x 32 per iteration"
    )


if __name__ == "__main__":
    sys.exit(main())
