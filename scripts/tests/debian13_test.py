# SPDX-License-Identifier: Apache-2.0
"""Builds the programs on Debian 13, with its LibTorch 2.6, GCC 14 and Python 3.13, and trains with them.

The system is made with debootstrap. Exits with 77 and the reason where none can be made.
"""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import debian_root
from debian_root import USER, DebianRoot

SOURCES = Path(__file__).resolve().parents[2]
FREE_BYTES = 15e9


def skip(reason):
    print("SKIPPED:", reason)
    sys.exit(77)


def copy_sources(root):
    """Copies the files of the working tree that Git knows."""
    (root / "thinpipe").mkdir()
    names = subprocess.run(["git", "-C", SOURCES, "ls-files", "-z"], check=True, capture_output=True).stdout
    existing = b"\0".join(name for name in names.split(b"\0") if name and (SOURCES / name.decode()).exists())
    with subprocess.Popen(["tar", "-C", SOURCES, "--null", "--files-from=-", "-c"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as packed:
        unpacked = subprocess.Popen(["tar", "-C", root / "thinpipe", "-x"], stdin=packed.stdout)
        packed.stdin.write(existing)
        packed.stdin.close()
        if unpacked.wait() != 0:
            raise RuntimeError("cannot copy the sources")


def build(root):
    mounts = []
    # A later run compiles only what has changed.
    if shutil.which("ccache"):
        found = subprocess.run(["ccache", "--get-config", "cache_dir"], capture_output=True, text=True, check=True)
        if Path(found.stdout.strip()).is_dir():
            mounts = [(found.stdout.strip(), "/root/.cache/ccache")]
    root.check("scripts/setup.sh", "python", folder="/thinpipe")
    root.check("cmake", "--preset", "release", "-DTHINPIPE_TESTS=OFF", "-DTHINPIPE_BENCHMARKS=OFF", folder="/thinpipe")
    root.check("cmake", "--build", "--preset", "release", folder="/thinpipe", mounts=mounts)
    root.check("cmake", "--install", "build/release", "--prefix", "/usr/local", folder="/thinpipe")


class Debian13Test(unittest.TestCase):
    def as_user(self, *command):
        return ROOT.check(*command, user=USER, folder="/home/thinpipe")

    def test_doctor_finds_all_that_a_run_needs(self):
        output = self.as_user("thinpipe", "doctor")
        self.assertIn("works  LibTorch: the worker program runs with 2.6", output)
        self.assertIn("works  virtual network: three-switch", output)

    def test_the_smoke_experiment_runs_and_is_drawn(self):
        self.as_user("thinpipe", "run", "smoke-loopback")
        self.as_user("python3", "/usr/local/share/thinpipe/plotting/time_to_accuracy.py", "results/smoke-loopback",
                     "--target", "0.9")

    def test_a_capped_network_runs(self):
        output = self.as_user("thinpipe", "run", "smoke-loopback", "--results", "capped", "--only", "dense", "--set",
                              "topology=three-switch")
        self.assertIn("completed, accuracy", output)

    def test_methods_in_python_files_keep_their_promises(self):
        methods = "trainer/python/tests/methods/topk_residual.py:MyTopK"
        self.as_user("thinpipe", "check-method", f"/thinpipe/{methods}", "--workers", "2")


if __name__ == "__main__":
    if reason := debian_root.lacks(SOURCES / "build", FREE_BYTES):
        skip(reason)
    with tempfile.TemporaryDirectory(prefix="debian13-", dir=SOURCES / "build") as name:
        try:
            ROOT = DebianRoot(Path(name) / "root", "trixie")
        except debian_root.CannotMake as error:
            skip(error)
        copy_sources(ROOT.root)
        build(ROOT)
        unittest.main(verbosity=2)
