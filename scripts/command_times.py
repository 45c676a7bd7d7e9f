#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how long each command of the README, the tutorials and the how-to guides takes, and how much memory and disk,
and writes docs/reference/command-times.md, and what a machine needs into docs/how-to/install.md, from
results/reference/command-times.json.

    scripts/command_times.py                           pages of which some command has no time yet
    scripts/command_times.py docs/how-to/figures.md    only these pages, again
    scripts/command_times.py --builds README.md        also commands that install, build and check: about an hour
    scripts/command_times.py --write                   only these two pages, after a change of a command
    scripts/command_times.py --check                   exits with 1 if they are out of date

A page's commands run in its order, in a new clone of the last commit, as a reader would type them; programs are those
of --build (build/release), unless --builds builds them. Nothing else should run on the machine meanwhile.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs" / "tests"))
from check_docs import STAND_INS  # noqa: E402
from page_commands import commands  # noqa: E402
from page_text import blocks  # noqa: E402

from cpu_name import machine  # noqa: E402
from machine_use import MachineUse  # noqa: E402

TIMES = ROOT / "results" / "reference" / "command-times.json"
TABLE = ROOT / "docs" / "reference" / "command-times.md"
# What a command begins with, and why it has no time.
NOT_MEASURED = {
    "build/release/thinpipe shell three-switch --host w3": "until you leave the shell",
    "scripts/check_pytorch.sh": "depends on your PyTorch",
    "pip install": "downloads, and builds for your PyTorch",
}
# Measured only with --builds.
BUILDS = ("./quickstart.sh", "./check.sh", "scripts/setup.sh", "cmake", "pip")
NEEDS_A_CLUSTER = "--executor slurm"
# Results that a page's commands refer to, but that come from another page's command.
FROM_ELSEWHERE = ("quickstart", "convergence", "bandwidth-by-prune-ratio")
HEAD = """# How long commands take

Wall time of every command of the README, the tutorials and the how-to guides, each run once, in the order of its page.
Memory is the most that the whole machine used at a time, disk what is used after the command, both relative to the moment before it; less than 0.1 GB is not listed, and - is not measured yet.
Times of runs depend little on the machine where the emulated network limits them, and much on its cores elsewhere.
`scripts/command_times.py` measures them and writes this page.
"""
INSTALL = ROOT / "docs" / "how-to" / "install.md"
NEEDS_BEGIN, NEEDS_END = "<!-- needs: begin -->", "<!-- needs: end -->"
# What install.md says that a machine needs: for what, and the page and command that were measured.
NEEDS = (
    ("all from the README's first command: packages, build, six methods with eight workers", "README.md", "./quickstart.sh"),
    ("one experiment with eight workers, the README's", "README.md", "build/release/thinpipe run my.json"),
    ("packages for the tests, two builds and the tests", "README.md", "./check.sh"),
)


class Failure(Exception):
    """A command of a page failed."""


def pages() -> list[Path]:
    folders = (ROOT / "docs" / "tutorials", ROOT / "docs" / "how-to")
    return [ROOT / "README.md", *(page for folder in folders for page in sorted(folder.glob("*.md")))]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def plain(command: str) -> str:
    """Returns the command on one line and without the comment at its end."""
    joined = re.sub(r"\s*\\\n\s*", " ", command)
    comment = re.match(r"""(?:[^'"#]|'[^']*'|"[^"]*"|(?<=\S)#)*""", joined)
    return comment[0].strip() if comment else joined.strip()


def commands_of(page: Path) -> Iterator[str]:
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.info.split()[:1] == ["sh"]:
            for _, command in commands(block.text):
                yield plain(command)


def why_not(command: str) -> str | None:
    if NEEDS_A_CLUSTER in command:
        return "until the cluster has run it"
    return next((why for beginning, why in NOT_MEASURED.items() if command.startswith(beginning)), None)


def builds(command: str) -> bool:
    return command.startswith(BUILDS)


def key_of(page: Path, command: str) -> tuple[str, str]:
    """Returns what a time is known by. `my.json` is another file on each page, but what builds is the same everywhere."""
    return ("", command) if builds(command) else (name_of(page), command)


def read_times() -> dict[tuple[str, str], dict]:
    if not TIMES.exists():
        return {}
    entries = json.loads(TIMES.read_text(encoding="utf-8"))["commands"]
    return {(entry["page"], entry["command"]): entry for entry in entries}


def write_times(times: dict[tuple[str, str], dict]) -> None:
    known = {key_of(page, command) for page in pages() for command in commands_of(page)}
    entries = [times[key] for key in sorted(times) if key in known]
    TIMES.write_text(json.dumps({"commands": entries}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def commit() -> str:
    return subprocess.run(["git", "rev-parse", "--short=10", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def prepare(clone: Path, page: Path, build: Path | None) -> None:
    """Makes the clone, with the page's files and the results of other pages in it."""
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    if build:
        (clone / "build").mkdir()
        (clone / "build" / "release").symlink_to(build)
    text = page.read_text(encoding="utf-8")
    found = list(blocks(text))
    whole = [block for block in found if block.info == "json" and '"base"' in block.text]
    if whole:
        (clone / "my.json").write_text(whole[0].text, encoding="utf-8")
    for block in found:
        if name := re.fullmatch(r"python (\S+)", block.info):
            (clone / name[1]).write_text(block.text, encoding="utf-8")
    for name in FROM_ELSEWHERE:
        source = clone / "results" / "reference" / STAND_INS.get(name, name)
        if f"results/{name}" in text and not (clone / "results" / name).exists():
            shutil.copytree(source, clone / "results" / name)


def measure(page: Path, options: argparse.Namespace, times: dict[tuple[str, str], dict]) -> None:
    with tempfile.TemporaryDirectory(prefix="command-times-") as folder:
        clone = Path(folder) / "thinpipe"
        prepare(clone, page, None if options.builds else options.build.resolve())
        environment = {
            **os.environ,
            "MPLCONFIGDIR": str(Path(folder) / "matplotlib"),
            "PATH": f"{clone / 'build' / 'release'}:{os.environ['PATH']}",
            "CCACHE_DISABLE": "1",  # a reader's first build finds nothing there
        }
        for command in commands_of(page):
            if why_not(command) or (builds(command) and not options.builds):
                continue
            began = time.monotonic()
            with MachineUse(clone) as use:
                ran = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=clone, env=environment,
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            seconds = time.monotonic() - began
            if ran.returncode:
                raise Failure(f"{name_of(page)}: '{command}' ended with {ran.returncode}: {ran.stdout[-2000:]}")
            print(f"{seconds:7.1f} s  {command}", flush=True)
            key = key_of(page, command)
            times[key] = {"page": key[0], "command": command, "seconds": round(seconds, 2),
                          "memory_bytes": use.memory_bytes, "disk_bytes": use.disk_bytes,
                          "machine": machine(), "commit": commit(), "date": datetime.date.today().isoformat()}
            write_times(times)


def readable(seconds: float) -> str:
    if seconds < 1:
        return "below 1 s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min"


def time_of(entry: dict | None) -> str:
    return readable(entry["seconds"]) if entry else "not measured yet"


def size_of(entry: dict | None, kind: str) -> str:
    if entry and kind not in entry:
        return "-"
    size_gb = entry[kind] / 1e9 if entry else 0
    return f"{size_gb:.1f} GB" if size_gb >= 0.1 else ""


def table(times: dict[tuple[str, str], dict]) -> str:
    out = HEAD
    if times:
        shown = {kind: ", ".join(sorted({entry[kind] for entry in times.values()})) for kind in ("machine", "commit", "date")}
        out += "\nMachine: {machine}; commit: {commit}; {date}.\n".format(**shown)
    for page in pages():
        rows = list(dict.fromkeys(commands_of(page)))
        if not rows:
            continue
        title = page.read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
        out += f"\n## {title}\n\n[{name_of(page)}]({os.path.relpath(page, TABLE.parent)})\n\n"
        out += "| command | time | memory | disk |\n|---|---:|---:|---:|\n"
        for command in rows:
            entry = times.get(key_of(page, command))
            took = why_not(command) or time_of(entry)
            sizes = f"{size_of(entry, 'memory_bytes')} | {size_of(entry, 'disk_bytes')}"
            out += f"| `{command.replace('|', chr(92) + '|')}` | {took} | {sizes} |\n"
    return out


def needs(times: dict[tuple[str, str], dict]) -> str:
    """Returns install.md's table of the memory, disk and time of what people do first."""
    out = "| for | command | memory | disk | time |\n|---|---|---:|---:|---:|\n"
    for purpose, page, command in NEEDS:
        entry = times.get(key_of(ROOT / page, command))
        sizes = [size_of(entry, kind) or "below 0.1 GB" for kind in ("memory_bytes", "disk_bytes")] if entry else ["", ""]
        out += f"| {purpose} | `{command}` | {sizes[0]} | {sizes[1]} | {time_of(entry)} |\n"
    return out


def with_needs(text: str, times: dict[tuple[str, str], dict]) -> str:
    """Returns install.md's text with the table in its place."""
    before, _, rest = text.partition(NEEDS_BEGIN)
    _, _, after = rest.partition(NEEDS_END)
    return f"{before}{NEEDS_BEGIN}\n\n{needs(times)}\n{NEEDS_END}{after}"


def lacking(times: dict[tuple[str, str], dict], page: Path) -> list[str]:
    return [each for each in commands_of(page) if key_of(page, each) not in times and not why_not(each)]


def check(times: dict[tuple[str, str], dict]) -> int:
    for page in pages():
        for command in lacking(times, page):
            print(f"not measured yet: {name_of(page)}: {command}")
    known = [command for page in pages() for command in commands_of(page)]
    problems = [f"NOT_MEASURED has '{beginning}', which no page uses"
                for beginning in NOT_MEASURED if not any(command.startswith(beginning) for command in known)]
    install = INSTALL.read_text(encoding="utf-8")
    for page, found, expected in ((TABLE, TABLE.read_text(encoding="utf-8"), table(times)), (INSTALL, install, with_needs(install, times))):
        if found != expected:
            problems.append(f"{name_of(page)} is out of date: run scripts/command_times.py --write")
    print("\n".join(problems), end="\n" if problems else "", file=sys.stderr)
    return 1 if problems else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", type=Path, nargs="*", metavar="PAGE")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--builds", action="store_true", help="measure commands that install, build and check, too")
    parser.add_argument("--write", action="store_true", help="only write the pages")
    parser.add_argument("--check", action="store_true", help="only check")
    options = parser.parse_args()
    times = read_times()
    if options.check:
        return check(times)
    chosen = [page.resolve() for page in options.pages]
    if not chosen and not options.write:
        chosen = [page for page in pages() if any(not builds(command) for command in lacking(times, page))]
    try:
        for page in chosen:
            measure(page, options, times)
    except Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    TABLE.write_text(table(times), encoding="utf-8")
    INSTALL.write_text(with_needs(INSTALL.read_text(encoding="utf-8"), times), encoding="utf-8")
    return check(times)


if __name__ == "__main__":
    sys.exit(main())
