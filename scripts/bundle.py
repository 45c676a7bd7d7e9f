# SPDX-License-Identifier: Apache-2.0
"""Packs results for others: records, experiment, versions, checksums and an appendix that says how to reproduce them.

`thinpipe bundle` starts it, and names itself in THINPIPE; its --help has the options.
The archive has one folder, NAME/:

  ARTEFACT.md          hardware, software, time, what to run, how to compare, the expected exit status
  SHA256SUMS           of all other files: sha256sum -c SHA256SUMS
  records.jsonl        all records, whatever their status, as thinpipe export writes them
  experiment.json      the experiment's file, if it is known
  versions.json        each origin of the records: program, commit, machine, libraries
  figures/             pictures beside the records
  logs/RUN_ID/         logs of runs (--with-logs)

docs/how-to/artefact.md describes the files. Exit status: 0 written; 1 a failure; 2 wrong input.
"""

from __future__ import annotations

import argparse
import datetime
import gzip
import hashlib
import io
import json
import os
import shlex
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from pathlib import Path

from picture_command import command_of_picture

ROOT = Path(__file__).resolve().parents[1]
THINPIPE = Path(os.environ["THINPIPE"])
# Of the provenance, what differs between runs of one program on one machine.
OF_A_RUN = {
    "command_line",
    "started_at",
    "ended_at",
    "dataset_hash",
    "examples_per_worker",
    "congestion_control",
    "slurm_job",
}
PICTURES = (".png", ".svg", ".pdf")
DEFAULT_TOLERANCE = "5%"
OPTIONS_OF_RUNS = ("--set", "--only", "--repeat")


class InputError(Exception):
    """The user's input is wrong; the message has the place, the rule and the remedy."""


def read_records(results: Path) -> tuple[bytes, list[dict]]:
    """Returns the records as thinpipe exports them, as text and as objects."""
    with tempfile.TemporaryDirectory() as folder:
        exported = Path(folder) / "records.jsonl"
        ended = subprocess.run([THINPIPE, "export", results, "--output", exported], capture_output=True, text=True, check=False)
        if ended.returncode:
            raise InputError(ended.stderr.strip().removeprefix("thinpipe: "))
        for line in ended.stderr.splitlines():
            if "warning" in line:
                print(line, file=sys.stderr)
        text = exported.read_bytes()
    return text, [json.loads(line) for line in text.splitlines()]


def with_name(text: bytes, name: str) -> bytes:
    """Returns the experiment with its name, which is that of its file if it has none: the bundle's has another."""
    experiment = json.loads(text)
    if not isinstance(experiment, dict):
        raise ValueError("an experiment is an object")
    if "name" in experiment:
        return text
    return (json.dumps({"name": name, **experiment}, indent=2, ensure_ascii=False) + "\n").encode()


def experiment_file(named: Path | None, records: list[dict]) -> bytes | None:
    """Returns the text of the experiment's file: the named one, or the one of the tree with the records' name."""
    if named:
        try:
            return with_name(named.read_bytes(), named.stem)
        except OSError as error:
            raise InputError(f"--experiment {named}: cannot be read: {error.strerror}; name the experiment's file") from error
        except ValueError as error:
            raise InputError(f"--experiment {named}: is no experiment: {error}; name the experiment's file") from error
    names = {record["experiment"] for record in records}
    file = ROOT / "experiments" / f"{next(iter(names))}.json"
    if len(names) > 1 or not file.exists():
        return None
    try:
        return with_name(file.read_bytes(), file.stem)
    except ValueError as error:
        raise InputError(f"{file}: is no experiment: {error}; name another file with --experiment") from error


def origins_of(records: list[dict]) -> list[dict]:
    """Returns the different origins, each with its number of runs."""
    counts: Counter[str] = Counter()
    for record in records:
        origin = {key: value for key, value in record["provenance"].items() if key not in OF_A_RUN}
        counts[json.dumps(origin, sort_keys=True)] += 1
    return [json.loads(origin) | {"runs": count} for origin, count in sorted(counts.items())]


def command_lines(records: list[dict]) -> list[str]:
    """Returns the different commands that made the records, in the order of their first runs."""
    lines = [record["provenance"].get("command_line") for record in records]
    return list(dict.fromkeys(shlex.join(line) for line in lines if line))


def figure_commands(name: str, pictures: list[Path]) -> list[str]:
    """Returns the commands that draw the pictures, and the one that makes the tables of reference results."""
    commands = []
    for picture in pictures:
        command = command_of_picture(picture)
        if command is None and (ROOT / "plotting" / f"{picture.stem}.py").is_file():
            command = f"plotting/{picture.stem}.py RESULTS"  # the default name, from times when files had no command
        if command is None:
            commands.append(f"# {picture.name}: the file does not say what drew it")
        else:
            commands.append(f"/usr/bin/python3 {command.replace('RESULTS', 'BUNDLE', 1)} --output {shlex.quote(picture.name)}")
    script = ROOT / "scripts" / "reference.sh"
    if script.is_file() and f"\nmake_{name}() {{\n" in script.read_text(encoding="utf-8"):
        commands.append(f"scripts/reference.sh --made {name}")
    return commands


def wall_time_s(record: dict) -> float:
    ends = [record["provenance"].get(key) for key in ("started_at", "ended_at")]
    if None in ends:
        return 0
    began, ended = (datetime.datetime.fromisoformat(str(end).replace("Z", "+00:00")) for end in ends)
    return max(0.0, (ended - began).total_seconds())


def duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min" if minutes else f"{seconds:.0f} s"


# The appendix


def text_of(value: object) -> str:
    return "unknown" if value is None else str(value)


def environment_table(origins: list[dict]) -> list[str]:
    lines = ["| runs | CPU | cores | memory | GPU | kernel | LibTorch | compiler | commit |", "|---|---|---|---|---|---|---|---|---|"]
    for origin in origins:
        memory = origin.get("memory_bytes")
        commit = text_of(origin.get("git_commit")) + (" with uncommitted changes" if origin.get("dirty") else "")
        cells = [
            origin["runs"],
            origin.get("cpu"),
            origin.get("cores"),
            f"{memory / 1e9:.1f} GB" if memory else None,
            origin.get("gpu") or "none",
            origin.get("kernel"),
            origin.get("libraries", {}).get("libtorch"),
            f"{text_of(origin.get('compiler'))}, {text_of(origin.get('build_type'))}",
            commit,
        ]
        lines.append(f"| {' | '.join(text_of(cell).replace('|', '/') for cell in cells)} |")
    return lines


def status_lines(records: list[dict]) -> list[str]:
    statuses = Counter(record["status"] for record in records)
    lines = [f"{len(records)} runs: " + ", ".join(f"{count} {status}" for status, count in sorted(statuses.items())) + "."]
    for record in records:
        if record["status"] != "completed":
            reason = (record.get("error") or {}).get("message", "no reason in the record")
            lines.append(f"- `{record['label']}` {record['status']}: {' '.join(str(reason).split())}")
    verdicts = Counter(record["fidelity"]["verdict"] for record in records if record.get("fidelity"))
    if verdicts:
        lines += ["", "Emulated networks: " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())) + "."]
    return lines


def compare_with_itself(records: bytes, *more: str) -> int:
    """Returns the exit status of a perfect reproduction."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "records.jsonl"
        file.write_bytes(records)
        command = [THINPIPE, "compare", file, file, "--within", DEFAULT_TOLERANCE, *more]
        return subprocess.run(command, capture_output=True, check=False).returncode


def expectation(records: bytes) -> list[str]:
    status = compare_with_itself(records)
    lines = [f"Expected exit status: {status}, that of these records compared with themselves."]
    if status != 0:
        lines += ["Even a perfect reproduction has points that cannot be judged, such as single seeds or degraded networks;"]
        lines += ["`--json` has the reasons."]
        if compare_with_itself(records, "--despite", "network") == 0:
            lines += ["With `--despite network` it is 0."]
    return [*lines, "1: something differs. 2: nothing differs, but something cannot be judged."]


def block(lines: list[str]) -> list[str]:
    return ["```sh", *lines, "```"]


def appendix(name: str, records: list[dict], files: dict[str, bytes], running: int, figures: list[str]) -> str:
    commits = sorted({text_of(record["provenance"].get("git_commit")) for record in records})
    total_s = sum(wall_time_s(record) for record in records)
    seeds = sorted({record["config"].get("seed") for record in records}, key=str)
    has_experiment = "experiment.json" in files
    lines = [f"# Artefact: {name}", "", *status_lines(records)]
    if running:
        lines += ["", f"{running} more runs had no record when the bundle was made: they were running, waiting or lost."]
    lines += ["", "## Environment", "", *environment_table(origins_of(records)), ""]
    lines += [f"The runs took {duration(total_s)} together, from start to end of each. Seeds: {', '.join(map(str, seeds))}.", ""]
    lines += ["## Get the program", ""]
    lines += block([f"git checkout {commits[0]}", "./quickstart.sh  # installs packages and builds, then trains a first example"])
    if len(commits) > 1:
        lines += ["", f"Other runs are of commit {', '.join(commits[1:])}."]
    lines += ["", "## Check the bundle", "", *block(["sha256sum -c SHA256SUMS"]), "", "## Run", ""]
    experiment = records[0]["experiment"]
    if has_experiment:
        experiment = json.loads(files["experiment.json"])["name"]
        lines += ["With the program's folder as the working directory, and `BUNDLE` for this one.", "Paths in the file are relative to its folder.", ""]
        run = "build/release/thinpipe run experiments/reproduction.json --results results/reproduction"
        lines += block(["cp BUNDLE/experiment.json experiments/reproduction.json", *(run + options for options in options_of(records))])
        if others := sorted({record["experiment"] for record in records} - {experiment}):
            lines += ["", f"The records also have runs of {', '.join(others)}, whose files are not part of this bundle."]
    else:
        lines += ["The experiment's file is not part of this bundle; each record's `config` is its whole configuration."]
    if made_by := command_lines(records):
        lines += ["", "These records were made by:", "", *block(made_by)]
    lines += ["", "## Compare", ""]
    lines += block([f"build/release/thinpipe compare BUNDLE results/reproduction/{experiment} --within {DEFAULT_TOLERANCE}"])
    lines += ["", *expectation(files["records.jsonl"]), ""]
    lines += ["## Tables and figures", ""]
    made = ["build/release/thinpipe report BUNDLE", "build/release/thinpipe report BUNDLE --html report.html"]
    lines += block(made + (figures or ["/usr/bin/python3 plotting/time_to_accuracy.py BUNDLE --output time_to_accuracy.pdf"]))
    lines += ["", "## Files", "", *(f"- `{file}` ({len(content)} bytes)" for file, content in sorted(files.items())), ""]
    return "\n".join(lines)


def options_of(records: list[dict]) -> list[str]:
    """Returns the options that decide what runs there are, of each command that made records; repeated runs count once."""
    found = []
    for record in records:
        words = [part for word in record["provenance"].get("command_line") or [] for part in split_option(word)]
        pairs = [pair for pair in zip(words, words[1:], strict=False) if pair[0] in OPTIONS_OF_RUNS]
        found.append("".join(f" {shlex.join(pair)}" for pair in pairs))
    return list(dict.fromkeys(found))


def split_option(word: str) -> list[str]:
    option, equals, value = word.partition("=")
    return [option, value] if equals and option in OPTIONS_OF_RUNS else [word]


# The archive


def run_folders(results: Path, records: list[dict]) -> dict[str, Path]:
    """Returns the folders of the records' runs that lie below the results."""
    found = {}
    for record in records:
        for folder in (results / record["run_id"], results / record["experiment"] / record["run_id"]):
            if folder.is_dir():
                found[record["run_id"]] = folder
    return found


def runs_without_record(results: Path) -> int:
    """Counts the folders of runs that have begun and have no record."""
    if not results.is_dir():
        return 0
    folders = {path.parent for path in (*results.glob("*/.lock"), *results.glob("*/*/.lock"))}
    return sum(1 for folder in folders if not (folder / "run.json").exists())


def collect(results: Path, experiment: Path | None, with_logs: bool) -> dict[str, bytes]:
    text, records = read_records(results)
    name = name_of(results)
    files = {"records.jsonl": text}
    if (found := experiment_file(experiment, records)) is not None:
        files["experiment.json"] = found
    files["versions.json"] = (json.dumps(origins_of(records), indent=2, sort_keys=True) + "\n").encode()
    beside = results if results.is_dir() else results.parent
    pictures = [path for path in sorted(beside.iterdir()) if path.suffix in PICTURES and path.is_file()]
    files |= {f"figures/{picture.name}": picture.read_bytes() for picture in pictures}
    if with_logs:
        for run_id, folder in run_folders(results, records).items():
            for log in sorted(folder.glob("*.log")):
                files[f"logs/{run_id}/{log.name}"] = log.read_bytes()
    figures = figure_commands(name, pictures)
    files["ARTEFACT.md"] = appendix(name, records, files, runs_without_record(results), figures).encode()
    sums = [f"{hashlib.sha256(content).hexdigest()}  {file}\n" for file, content in sorted(files.items())]
    files["SHA256SUMS"] = "".join(sums).encode()
    return files


def name_of(results: Path) -> str:
    folder = results if results.is_dir() else results.parent
    is_named = results.is_dir() or results.name == "records.jsonl"
    return folder.resolve().name if is_named else results.stem


def archive(name: str, files: dict[str, bytes]) -> bytes:
    """Returns a tar.gz without times, owners or anything else that differs between two calls."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for file, content in sorted(files.items()):
            entry = tarfile.TarInfo(f"{name}/{file}")
            entry.size, entry.mode = len(content), 0o644
            tar.addfile(entry, io.BytesIO(content))
    return gzip.compress(plain.getvalue(), compresslevel=9, mtime=0)


def write_atomically(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def check_output(output: Path, force: bool) -> None:
    if not output.name.endswith(".tar.gz"):
        raise InputError(f"--output {output}: must end in .tar.gz")
    if not output.parent.is_dir():
        raise InputError(f"--output {output}: the folder {output.parent} does not exist; create it first")
    if output.exists() and not output.is_file():
        raise InputError(f"--output {output}: is not a plain file; name a file to write")
    if output.exists() and not force:
        raise InputError(f"--output {output}: exists already; --force replaces it")


def main() -> int:
    parser = argparse.ArgumentParser(prog="thinpipe bundle")
    parser.add_argument("results", type=Path)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--experiment", type=Path)
    parser.add_argument("--with-logs", action="store_true")
    parser.add_argument("--force", action="store_true")
    options = parser.parse_args()
    try:
        name = name_of(options.results)
        output = options.output or Path(f"{name}.tar.gz")
        check_output(output, options.force)
        files = collect(options.results, options.experiment, options.with_logs)
        write_atomically(output, archive(name, files))
    except InputError as error:
        print(f"thinpipe: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"thinpipe: {error}", file=sys.stderr)
        return 1
    print(f"wrote {len(files)} files to {output}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
