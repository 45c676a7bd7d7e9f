#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants faults, one at a time, in a copy of the tree, and checks that the quick tests catch each of them.

Each fault is an edit that someone might make in good faith. It must compile, and a test that ./check.sh runs without
--full must fail. The copy and its build are in build/planted-faults; your own files are never touched.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from faults import FAULTS, Fault

ROOT = Path(__file__).resolve().parent.parent
COPY = ROOT / "build" / "planted-faults" / "tree"
BUILD = COPY / "build" / "dev"  # the preset's build folder
PRESET = "dev"
LONGEST_TEST_S = 300
OUTPUT_LINES = 30


class Undecided(Exception):
    """It is undecided whether the tests catch a fault."""


def check_table(faults: list[Fault]) -> None:
    """Exits naming each entry whose old text does not occur exactly once."""
    wrong = []
    for fault in faults:
        file = ROOT / fault.file
        count = file.read_text().count(fault.old) if file.is_file() else 0
        if count != 1:
            found = f"occurs {count} times" if file.is_file() else "cannot be found, as there is no such file"
            wrong.append(f'  "{fault.name}": the old text must occur once in {fault.file}, but {found}')
    if wrong:
        sys.exit("planted_faults: update the table of faults:\n" + "\n".join(wrong))


def bring_copy_up_to_date() -> None:
    """Copies the working tree's files, except those that git ignores. Unchanged files keep their times."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    wanted = {name for name in os.fsdecode(listed).split("\0") if name and (ROOT / name).is_file()}
    for folder, folders, names in os.walk(COPY):
        if Path(folder) == COPY:
            folders[:] = [name for name in folders if name != "build"]
        for name in names:
            file = Path(folder) / name
            if str(file.relative_to(COPY)) not in wanted:
                file.unlink()
    for name in wanted:
        source, target = ROOT / name, COPY / name
        if not target.is_file() or source.read_bytes() != target.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        shutil.copymode(source, target)


def run_cmake(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["cmake", *arguments]
    return subprocess.run(command, cwd=COPY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def build(programs: list[str]) -> subprocess.CompletedProcess[str]:
    return run_cmake("--build", "--preset", PRESET, "--target", *programs)


def last_lines(output: str) -> str:
    return "".join(f"    {line}\n" for line in output.splitlines()[-OUTPUT_LINES:])


def run_tests(fault: Fault) -> subprocess.CompletedProcess[str]:
    if fault.is_ctest:
        command = ["ctest", "--output-on-failure", "--no-tests=error", "-LE", "slow", "-R", f"^{fault.tests}$"]
    else:
        command = [str(BUILD / fault.program), f"--gtest_filter={fault.tests}"]
    try:
        return subprocess.run(
            command, cwd=BUILD, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            timeout=LONGEST_TEST_S,
        )
    except subprocess.TimeoutExpired as error:
        raise Undecided(f"{fault.tests} did not finish within {LONGEST_TEST_S} s") from error


def matches(gtest_filter: str, case: str) -> bool:
    """Returns whether GoogleTest runs the case: patterns are joined with colons, excluded ones follow a minus."""
    wanted, _, unwanted = gtest_filter.partition("-")

    def any_of(patterns: str) -> bool:
        return any(fnmatch.fnmatchcase(case, pattern) for pattern in patterns.split(":"))

    return any_of(wanted or "*") and not any_of(unwanted)


def cases_of(program: Path) -> list[str]:
    listed = subprocess.run([program, "--gtest_list_tests"], check=True, capture_output=True, text=True).stdout
    cases = []
    suite = ""
    for line in listed.splitlines():
        name = line.partition("#")[0].rstrip()
        if line.startswith("  "):
            cases.append(suite + name.strip())
        elif name.endswith("."):
            suite = name
    return cases


def check_that_tests_are_quick(faults: list[Fault]) -> None:
    """Exits if the tests that should catch a fault run only with ./check.sh --full."""
    listing = ["ctest", "--show-only=json-v1", "-LE", "slow"]
    shown = subprocess.run(listing, cwd=BUILD, check=True, capture_output=True, text=True).stdout
    quick_tests = set()
    quick_filters: dict[str, list[str]] = {}
    for test in json.loads(shown)["tests"]:
        quick_tests.add(test["name"])
        program, *arguments = test.get("command", [""])
        for argument in arguments:
            if argument.startswith("--gtest_filter="):
                quick_filters.setdefault(program, []).append(argument.partition("=")[2])
    wrong = []
    for fault in faults:
        if fault.is_ctest:
            expected = [fault.tests]
            slow = [] if fault.tests in quick_tests else expected
        else:
            program = BUILD / fault.program
            expected = [case for case in cases_of(program) if matches(fault.tests, case)]
            filters = quick_filters.get(str(program), [])
            slow = [case for case in expected if not any(matches(one, case) for one in filters)]
        if not expected:
            wrong.append(f'  "{fault.name}": {fault.program} has no test {fault.tests}')
        elif slow:
            wrong.append(f'  "{fault.name}": ./check.sh without --full does not run {", ".join(slow)}')
    if wrong:
        sys.exit("planted_faults: update the table of faults:\n" + "\n".join(wrong))


def check_that_tests_pass(faults: list[Fault]) -> None:
    """Exits if the expected tests fail or are skipped without a fault: a failure with one would then prove nothing."""
    wrong = []
    for fault in {(fault.program, fault.tests): fault for fault in faults}.values():
        try:
            ended = run_tests(fault)
        except Undecided as error:
            wrong.append(f"  {error}\n")
            continue
        passed = re.search(r"\[  PASSED  \] [1-9]|\b100% tests passed", ended.stdout)
        skipped_by_ctest = fault.is_ctest and "***Skipped" in ended.stdout
        if ended.returncode != 0 or not passed or skipped_by_ctest:
            wrong.append(f"  {fault.program}: {fault.tests}\n{last_lines(ended.stdout)}")
    if wrong:
        sys.exit("planted_faults: these tests do not pass without a fault, so they cannot show one:\n" + "".join(wrong))


def failed_tests(fault: Fault, output: str) -> list[str]:
    if fault.is_ctest:
        return [fault.tests]
    failed = list(dict.fromkeys(re.findall(r"^\[  FAILED  \] (\S+\.\S+?)(?:,|$| \()", output, re.MULTILINE)))
    if failed:
        return failed
    begun = re.findall(r"^\[ RUN      \] (\S+)", output, re.MULTILINE)
    return begun[-1:]  # the test in which the program ended


def try_fault(fault: Fault) -> list[str]:
    """Plants the fault in the copy while it is tested. Returns the tests that caught it."""
    file = COPY / fault.file
    sound = file.read_text()
    try:
        file.write_text(sound.replace(fault.old, fault.new))
        built = build([fault.program])
        if built.returncode != 0:
            raise Undecided(f"the fault does not compile:\n{last_lines(built.stdout)}")
        ended = run_tests(fault)
    finally:
        file.write_text(sound)  # with a new time, so that it is recompiled
    return failed_tests(fault, ended.stdout) if ended.returncode != 0 else []


def try_faults(faults: list[Fault]) -> int:
    """Tests each fault, prints a line for it, and returns how many were caught."""
    width = max(len(fault.name) for fault in faults)
    file_width = max(len(fault.file) for fault in faults)
    caught = 0
    for fault in faults:
        began = time.monotonic()
        try:
            tests = try_fault(fault)
            verdict = "caught" if tests else "MISSED"
            more = f" and {len(tests) - 1} more" if len(tests) > 1 else ""
            remark = f"by {tests[0]}{more}" if tests else f"although {fault.tests} ran"
        except Undecided as error:
            verdict, remark = "ERROR", str(error)
        caught += verdict == "caught"
        took_s = time.monotonic() - began
        print(f"{verdict:6}   {fault.name:{width}}   {fault.file:{file_width}}   {took_s:5.1f} s   {remark}", flush=True)
    return caught


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="Examples:\n"
        "  scripts/planted_faults.py                      all of them\n"
        "  scripts/planted_faults.py 'cap off by 5 %' 'swapped rank'\n"
        "Exit codes: 0 if every fault was caught; 1 if not, or if the table of faults is out of date.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--list", action="store_true", help="print the faults and plant none")
    parser.add_argument("names", nargs="*", metavar="NAME", help="plant only these")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    unknown = set(arguments.names) - {fault.name for fault in FAULTS}
    if unknown:
        sys.exit(f"planted_faults: unknown fault {', '.join(sorted(unknown))}; see --list")
    faults = [fault for fault in FAULTS if not arguments.names or fault.name in arguments.names]
    check_table(FAULTS)
    if arguments.list:
        width = max(len(fault.name) for fault in faults)
        for fault in faults:
            print(f"{fault.name:{width}}   {fault.file}")
        return 0

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # as an exception, so that the fault is removed
    bring_copy_up_to_date()
    ended = run_cmake("--preset", PRESET, "--log-level=WARNING")
    if ended.returncode == 0:
        ended = build(sorted({fault.program for fault in faults}))
    if ended.returncode != 0:
        sys.exit(f"planted_faults: the tree cannot be built without a fault:\n{last_lines(ended.stdout)}")
    check_that_tests_are_quick(faults)
    check_that_tests_pass(faults)
    caught = try_faults(faults)
    rooms = len({fault.room for fault in faults})
    print(f"{caught} of {len(faults)} planted faults, in {rooms} folders, were caught")
    return 0 if caught == len(faults) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
