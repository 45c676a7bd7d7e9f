# SPDX-License-Identifier: Apache-2.0
"""Installs a build in a folder and uses it where neither the sources nor the build can be seen.

Usage: install_test.py BUILD_FOLDER
Exits with 77 and the reason if this machine allows no mount namespace.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(sys.argv.pop(1)).resolve()
# Empty folders cover the sources and the build.
HIDE = 'for folder in "$0" "$1"; do if [ -d "$folder" ]; then mount -t tmpfs none "$folder"; fi; done; shift; exec "$@"'
NAMESPACE = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c", HIDE, ROOT, BUILD]
# The user's choices would be taken before what is installed.
CHOICES = ("THINPIPE", "THINPIPE_TRAINER", "THINPIPE_PYTHON", "PYTHONPATH")


def call(*command, **options):
    environment = {name: value for name, value in os.environ.items() if name not in CHOICES}
    return subprocess.run([str(word) for word in command], env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, **options)


class InstallTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.share = PREFIX / "share/thinpipe"

    def run_hidden(self, *command):
        ended = call(*NAMESPACE, *command, cwd=self.folder)
        self.assertEqual(ended.returncode, 0, ended.stdout)
        return ended.stdout

    def thinpipe(self, *arguments):
        return self.run_hidden(PREFIX / "bin/thinpipe", *arguments)

    def test_no_file_names_the_sources_or_the_build(self):
        own = re.compile(rb"(?<![\w./-])(" + b"|".join(re.escape(bytes(path)) for path in {ROOT, BUILD}) + rb")\b")
        files = [path for path in PREFIX.rglob("*") if path.is_file()]
        self.assertGreater(len(files), 50)
        self.assertEqual([path for path in files if own.search(path.read_bytes())], [])

    def test_files_would_name_no_sources_without_ccache_either(self):
        commands = [entry["command"] for entry in json.loads((BUILD / "compile_commands.json").read_text())]
        self.assertGreater(len(commands), 50)
        self.assertEqual([command for command in commands if not re.search(r" -fmacro-prefix-map=/\S+/= ", command)], [])

    def test_the_sources_are_hidden(self):
        self.assertEqual(self.run_hidden("ls", "-A", ROOT), "")
        self.assertEqual(call(*NAMESPACE, BUILD / "thinpipe", "--version", cwd=self.folder).returncode, 127)

    def test_the_version_is_that_of_the_build(self):
        version = re.search(r"^project\(thinpipe VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
        self.assertRegex(self.thinpipe("--version"), rf"^thinpipe {re.escape(version)} \(([0-9a-f]{{10}}|unknown)")

    def test_the_smoke_experiment_runs_by_its_name_and_is_drawn_and_packed(self):
        self.thinpipe("run", "smoke-loopback")
        self.thinpipe("export", "results/smoke-loopback", "--output", "records.jsonl")
        records = [json.loads(line) for line in (self.folder / "records.jsonl").read_text().splitlines()]
        self.assertEqual([record["status"] for record in records], ["completed"] * 3)
        self.run_hidden("env", f"MPLCONFIGDIR={self.folder}", "/usr/bin/python3", "-B",
                        self.share / "plotting/time_to_accuracy.py", "results/smoke-loopback", "--target", "0.9")
        self.assertGreater((self.folder / "results/smoke-loopback/time_to_accuracy.png").stat().st_size, 0)
        self.thinpipe("bundle", "results/smoke-loopback", "--with-logs")
        self.run_hidden("tar", "xzf", "smoke-loopback.tar.gz")
        self.run_hidden("sh", "-c", "cd smoke-loopback && sha256sum --quiet --strict -c SHA256SUMS")
        shipped = (self.share / "experiments/smoke-loopback.json").read_bytes()
        self.assertEqual((self.folder / "smoke-loopback/experiment.json").read_bytes(), shipped)
        self.assertIn("plotting/time_to_accuracy.py BUNDLE --target 0.9 --output time_to_accuracy.png\n",
                      (self.folder / "smoke-loopback/ARTEFACT.md").read_text(encoding="utf-8"))

    def test_shipped_files_are_found(self):
        for kind, name in (("topologies", "three-switch"), ("experiments", "quickstart"), ("trainers", "pytorch-ddp"),
                           ("profiles", "a40"), ("synchronisers", "topk")):
            self.assertRegex(self.thinpipe("list", kind), rf"(?m)^{name}: ")
        self.assertIn("topk", self.thinpipe("plan", self.share / "experiments/quickstart.json"))
        self.assertIn("topk", self.thinpipe("plan", "quickstart"))
        for kind in ("experiment", "record", "topology"):
            json.loads(self.thinpipe("schema", kind))
        self.thinpipe("advise", "three-switch", "--parameters", "1000000", "--compute", "20 ms")

    def test_manual_pages_and_completions_are_where_systems_look(self):
        self.assertIn("thinpipe", (PREFIX / "share/man/man1/thinpipe-run.1").read_text(encoding="utf-8"))
        self.assertTrue((PREFIX / "share/bash-completion/completions/thinpipe").is_file())
        self.assertTrue((PREFIX / "share/zsh/site-functions/_thinpipe").is_file())

    def test_every_file_that_a_shipped_one_names_as_its_schema_exists(self):
        named = 0
        for path in (*self.share.glob("experiments/**/*.json"), *self.share.glob("topologies/*.json")):
            if schema := json.loads(path.read_text(encoding="utf-8")).get("$schema"):
                named += 1
                self.assertTrue((path.parent / schema).is_file(), f"{path}: {schema}")
        self.assertGreater(named, 20)

    def test_a_script_as_trainer_finds_the_package(self):
        (self.folder / "train.py").write_text("import thinpipe\nopen('place', 'w').write(thinpipe.__file__)\n"
                                              "thinpipe.report(iteration=1, test_accuracy=0.5)\n")
        base = {"topology": "loopback", "workers": 2, "trainer": {"command": ["/usr/bin/python3", "-B", "train.py"]}}
        (self.folder / "mine.json").write_text(json.dumps({"name": "mine", "base": base}))
        self.thinpipe("run", "mine.json")
        whole = PREFIX / "lib/thinpipe/python"
        package = whole if (whole / "thinpipe/_core.so").exists() else self.share / "trainer/python"
        self.assertEqual((self.folder / "place").read_text(), f"{package}/thinpipe/__init__.py")

    def test_methods_in_python_files_work(self):
        if not (PREFIX / "lib/thinpipe/python/__main__.py").exists():
            self.skipTest("the build has no Python package")
        shutil.copy(ROOT / "trainer/python/tests/methods/topk_residual.py", self.folder)
        self.thinpipe("check-method", "topk_residual.py:MyTopK", "--workers", "2")


if __name__ == "__main__":
    tried = call(*NAMESPACE, "true")
    if tried.returncode != 0:
        print("SKIPPED: no mount namespace here:", tried.stdout)
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="thinpipe-install-") as name:
        PREFIX = Path(name).resolve() / "prefix"
        installed = call("cmake", "--install", BUILD, "--prefix", PREFIX)
        if installed.returncode != 0:
            sys.exit(f"cannot install {BUILD}:\n{installed.stdout[-3000:]}")
        unittest.main(verbosity=2)
