#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the name of this machine's CPU as records have it (common/protocol/machine_names.cc), and its cores.

"AMD EPYC, family 25, model 17, 2.60 GHz (2 cores)": of a name without digits, family, model and clock are added, because
hypervisors give one name to CPUs of very different speed.
"""
from __future__ import annotations

import os
import re
from pathlib import Path


def cpu_name(info: str) -> str:
    """Returns the name of the first CPU in the text of /proc/cpuinfo."""

    def field(key: str, value: str = ".*") -> str | None:
        found = re.search(rf"^{key}\t+: ({value})$", info, re.MULTILINE)
        return found[1] if found else None

    name = field("model name")
    if name is None:
        return "unknown"
    if re.search(r"\d", name):
        return name
    family, model, bogomips = field("cpu family"), field("model"), field("bogomips", r"[0-9.]+")
    parts = [name, family and f"family {family}", model and f"model {model}", bogomips and f"{float(bogomips) / 2e3:.2f} GHz"]
    return ", ".join(part for part in parts if part)


def machine() -> str:
    return f"{cpu_name(Path('/proc/cpuinfo').read_text(encoding='utf-8'))} ({os.cpu_count()} cores)"


if __name__ == "__main__":
    print(machine())
