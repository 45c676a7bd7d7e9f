# SPDX-License-Identifier: Apache-2.0
"""What an ordinary user of a Debian system does with Thinpipe, as test cases for package_test.py and debian13_test.py."""

import shutil
import subprocess
import sys
import unittest

from debian_root import USER


def skip(reason):
    print("SKIPPED:", reason)
    sys.exit(77)


class Use(unittest.TestCase):
    """With the programs that a system's root has in a folder."""

    root = None
    home = "/home/thinpipe"
    thinpipe = "thinpipe"
    worker = "/usr/bin/thinpipe-trainer"
    plotting = "/usr/share/thinpipe/plotting"

    def as_user(self, *command):
        return self.root.check(*command, user=USER, folder=self.home)

    def test_doctor_finds_all_that_a_run_needs(self):
        output = self.as_user(self.thinpipe, "doctor")
        self.assertIn("works  virtual network: three-switch", output)
        self.assertIn(f"works  worker program: {self.worker}", output)
        self.assertIn("works  data set fashion_mnist", output)

    def test_an_ordinary_user_runs_the_smoke_experiment_draws_it_and_packs_it(self):
        self.as_user(self.thinpipe, "run", "smoke-loopback")
        self.as_user("/usr/bin/python3", f"{self.plotting}/time_to_accuracy.py", "results/smoke-loopback", "--target", "0.9")
        self.as_user("test", "-s", "results/smoke-loopback/time_to_accuracy.png")
        self.as_user(self.thinpipe, "bundle", "results/smoke-loopback", "--force")
        self.as_user("tar", "tzf", "smoke-loopback.tar.gz", "smoke-loopback/figures/time_to_accuracy.png")

    def test_a_capped_network_runs(self):
        output = self.as_user(self.thinpipe, "run", "smoke-loopback", "--results", "capped", "--only", "dense", "--set",
                              "topology=three-switch")
        self.assertIn("completed, accuracy", output)


class PackageUse(Use):
    """With a package that install() has installed."""

    compilers = None

    @classmethod
    def install(cls, root, package):
        """Installs a package with apt: alone with Debian's PyTorch, and then what it recommends."""
        cls.root = root
        shutil.copy(package, root.root / package.name)
        apt_install = ("apt-get", "-q", "install", "-y", "--no-install-recommends")
        root.check("apt-get", "-q", "update")
        root.check(*apt_install, f"./{package.name}", "python3-torch")
        # Debian 12's matplotlib depends on one, through SciPy.
        cls.compilers = [name for name in ("g++", "gcc", "cc", "cmake") if root.run("sh", "-c", f"command -v {name}")[0] == 0]
        recommended = subprocess.run(["dpkg-deb", "-f", package, "Recommends"], check=True, capture_output=True, text=True)
        root.check(*apt_install, *recommended.stdout.strip().split(", "))

    def test_it_needs_no_compiler(self):
        self.assertEqual(self.compilers, [])

    def test_debians_python_has_the_package(self):
        self.assertIn("Synchroniser", self.as_user("python3", "-c", "import thinpipe; print(thinpipe.Synchroniser)"))
