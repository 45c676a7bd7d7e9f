# SPDX-License-Identifier: Apache-2.0
"""`thinpipe bundle` of the program that THINPIPE names: what the archive has, and who can read it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest
import unittest.mock
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import bundle

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ROOT / "results" / "reference" / "convergence" / "records.jsonl"
THINPIPE = os.environ["THINPIPE"]


class BundleTest(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.output = self.folder / "mine.tar.gz"
        self.results = self.folder / "mine"
        self.results.mkdir()
        lines = RECORDS.read_text(encoding="utf-8").splitlines()
        self.records = [json.loads(line) for line in lines if '"label":"dense' in line]
        self.write_records()

    def write_records(self) -> None:
        for record in self.records:
            run = self.results / record["run_id"]
            run.mkdir(exist_ok=True)
            (run / "run.json").write_text(json.dumps(record), encoding="utf-8")
            (run / "controller.log").write_text("a line\n", encoding="utf-8")

    def bundle(self, *more: str | Path) -> subprocess.CompletedProcess[str]:
        command = [THINPIPE, "bundle", self.results, "--output", self.output, *more]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def unpacked(self, *more: str | Path) -> Path:
        ended = self.bundle(*more)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        (self.folder / "out").mkdir()
        subprocess.run(["tar", "xzf", self.output, "-C", self.folder / "out"], check=True)
        return self.folder / "out" / "mine"

    def test_others_read_it_and_its_checksums_hold(self) -> None:
        folder = self.unpacked()
        with tarfile.open(self.output) as tar:
            names = sorted(entry.name for entry in tar.getmembers())
        expected = ["ARTEFACT.md", "SHA256SUMS", "experiment.json", "records.jsonl", "versions.json"]
        self.assertEqual(names, [f"mine/{name}" for name in expected])
        self.assertEqual(names, subprocess.check_output(["tar", "tzf", self.output], text=True).split())
        subprocess.run(["sha256sum", "--quiet", "--strict", "-c", "SHA256SUMS"], cwd=folder, check=True)
        self.assertEqual(len((folder / "records.jsonl").read_text(encoding="utf-8").splitlines()), len(self.records))

    def test_the_same_results_give_the_same_bytes(self) -> None:
        self.assertEqual(self.bundle().returncode, 0)
        first = self.output.read_bytes()
        os.utime(self.results, (0, 0))
        self.assertEqual(self.bundle("--force").returncode, 0)
        self.assertEqual(self.output.read_bytes(), first)

    def test_runs_of_one_program_on_one_machine_have_one_environment(self) -> None:
        for i, record in enumerate(self.records):
            record["provenance"] |= {"slurm_job": str(i), "examples_per_worker": [i, 9], "congestion_control": ["cubic", "bbr"][i % 2]}
        self.write_records()
        versions = json.loads((self.unpacked() / "versions.json").read_text(encoding="utf-8"))
        self.assertEqual([origin["runs"] for origin in versions], [len(self.records)])

    def test_an_experiment_without_a_name_has_that_of_its_file(self) -> None:
        (self.folder / "experiments").mkdir()
        (self.folder / "experiments" / "mine.json").write_text('{"base": {}}', encoding="utf-8")
        with unittest.mock.patch.object(bundle, "ROOT", self.folder):
            text = bundle.experiment_file(None, [{"experiment": "mine"}])
        self.assertEqual(json.loads(text), {"name": "mine", "base": {}})
        with self.assertRaisesRegex(bundle.InputError, "is no experiment: an experiment is an object; name the"):
            (self.folder / "list.json").write_text("[]", encoding="utf-8")
            bundle.experiment_file(self.folder / "list.json", [])

    def test_its_appendix_has_the_expected_status(self) -> None:
        appendix = (self.unpacked() / "ARTEFACT.md").read_text(encoding="utf-8")
        compared = subprocess.run(
            [THINPIPE, "compare", self.results, self.folder / "out" / "mine"], capture_output=True, check=False
        )
        self.assertIn(f"Expected exit status: {compared.returncode},", appendix)
        self.assertIn(self.records[0]["provenance"]["git_commit"], appendix)
        self.assertIn(self.records[0]["provenance"]["kernel"], appendix)

    def test_its_appendix_has_the_options_that_made_the_runs(self) -> None:
        command = ["thinpipe", "run", "mine.json", "--set", "training.epochs=2", "--repeat=3", "--results", "there"]
        for record in self.records:
            record["provenance"]["command_line"] = command
            record["experiment"] = "mine"
        self.records[0]["provenance"]["command_line"] = [*command, "--only", "dense*"]
        self.write_records()
        own = self.folder / "mine.json"
        own.write_text('{"base": {}}', encoding="utf-8")
        folder = self.unpacked("--experiment", own)
        self.assertEqual(json.loads((folder / "experiment.json").read_text(encoding="utf-8")), {"name": "mine", "base": {}})
        appendix = (folder / "ARTEFACT.md").read_text(encoding="utf-8")
        run = "build/release/thinpipe run experiments/reproduction.json --results results/reproduction --set training.epochs=2 --repeat 3"
        self.assertIn(f"\n{run}\n", appendix)
        self.assertIn(f"\n{run} --only 'dense*'\n", appendix)
        self.assertIn("compare BUNDLE results/reproduction/mine ", appendix)

    def test_it_tells_of_runs_that_failed_or_have_no_record(self) -> None:
        self.records[0]["status"] = "failed"
        self.records[0]["error"] = {"kind": "crash", "message": "rank 3 ended"}
        self.write_records()
        running = self.results / "0123456789abcdef"
        running.mkdir()
        (running / ".lock").touch()
        appendix = (self.unpacked() / "ARTEFACT.md").read_text(encoding="utf-8")
        self.assertIn("1 failed", appendix)
        self.assertIn("rank 3 ended", appendix)
        self.assertIn("1 more runs had no record", appendix)

    def test_its_appendix_has_the_command_of_every_figure(self) -> None:
        for suffix in (".png", ".svg", ".pdf"):
            script = [ROOT / "plotting" / "level_over_bytes.py", self.results, "--output", self.results / f"a{suffix}"]
            subprocess.run(["/usr/bin/python3", "-B", *script, "--rename", "dense=plain (1)"], check=True, capture_output=True)
        (self.results / "speedup.png").write_bytes(b"of an older version")
        (self.results / "photo.png").write_bytes(b"of another program")
        appendix = (self.unpacked() / "ARTEFACT.md").read_text(encoding="utf-8")
        for suffix in (".png", ".svg", ".pdf"):
            drawn = f"plotting/level_over_bytes.py BUNDLE --rename 'dense=plain (1)' --output a{suffix}\n"
            self.assertIn(f"/usr/bin/python3 {drawn}", appendix)
        self.assertIn("/usr/bin/python3 plotting/speedup.py BUNDLE --output speedup.png\n", appendix)
        self.assertIn("# photo.png: the file does not say what drew it\n", appendix)

    def test_logs_are_packed_if_asked(self) -> None:
        folder = self.unpacked("--with-logs")
        log = folder / "logs" / self.records[0]["run_id"] / "controller.log"
        self.assertEqual(log.read_text(encoding="utf-8"), "a line\n")

    def test_it_replaces_only_if_asked(self) -> None:
        self.output.write_text("mine", encoding="utf-8")
        ended = self.bundle()
        self.assertEqual(ended.returncode, 2)
        self.assertIn("exists already; --force replaces it", ended.stderr)
        self.assertEqual(self.output.read_text(encoding="utf-8"), "mine")
        self.assertEqual(self.bundle("--force").returncode, 0)

    def test_wrong_input_is_refused_and_leaves_nothing(self) -> None:
        ended = self.bundle("--experiment", self.folder / "missing.json")
        self.assertEqual(ended.returncode, 2)
        self.assertIn("missing.json: cannot be read", ended.stderr)
        for output, rule in (("mine.zip", "must end in .tar.gz"), ("no/mine.tar.gz", "create it first")):
            self.output = self.folder / output
            ended = self.bundle()
            self.assertEqual(ended.returncode, 2)
            self.assertIn(rule, ended.stderr)
        self.results = self.folder / "nothing"
        self.output = self.folder / "mine.tar.gz"
        ended = self.bundle()
        self.assertEqual((ended.returncode, "is neither a folder of results nor" in ended.stderr), (2, True), ended.stderr)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["mine"])


if __name__ == "__main__":
    unittest.main()
