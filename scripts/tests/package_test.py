# SPDX-License-Identifier: Apache-2.0
"""Makes the Debian package of a build, installs it with apt in a new system without a compiler, and uses it there.

Usage: package_test.py BUILD_FOLDER
The system has the release of this machine. Exits with 77 and the reason where none can be made.
"""

import platform
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import debian_root
from debian_root import USER, DebianRoot

BUILD = Path(sys.argv.pop(1)).resolve()
FREE_BYTES = 5e9


def skip(reason):
    print("SKIPPED:", reason)
    sys.exit(77)


def lacks():
    system = platform.freedesktop_os_release()
    if system.get("ID") != "debian":
        return "this machine has no Debian, for which the package would be"
    if shutil.which("dpkg-shlibdeps") is None:
        return "dpkg-shlibdeps is not installed (dpkg-dev)"
    return debian_root.lacks(BUILD, FREE_BYTES)


def make_package(folder):
    made = subprocess.run(["cpack", "-G", "DEB", "--config", BUILD / "CPackConfig.cmake", "-B", folder], cwd=folder,
                          capture_output=True, text=True)
    packages = list(folder.glob("thinpipe_*.deb"))
    if made.returncode != 0 or len(packages) != 1:
        sys.exit(f"cannot make the package:\n{made.stdout[-3000:]}{made.stderr[-3000:]}")
    return packages[0]


class PackageTest(unittest.TestCase):
    def as_user(self, *command):
        return ROOT.check(*command, user=USER, folder="/home/thinpipe")

    def test_it_needs_no_compiler(self):
        for program in ("g++", "gcc", "cc", "cmake"):
            self.assertNotEqual(ROOT.run("sh", "-c", f"command -v {program}")[0], 0, f"{program} is installed")

    def test_doctor_finds_all_that_a_run_needs(self):
        output = self.as_user("thinpipe", "doctor")
        self.assertIn("works  virtual network: three-switch", output)
        self.assertIn("works  worker program: /usr/bin/thinpipe-trainer", output)
        self.assertIn("works  data set fashion_mnist", output)

    def test_an_ordinary_user_runs_the_smoke_experiment_and_draws_it(self):
        self.as_user("thinpipe", "run", "smoke-loopback")
        self.as_user("/usr/bin/python3", "/usr/share/thinpipe/plotting/time_to_accuracy.py", "results/smoke-loopback",
                     "--target", "0.9")
        self.as_user("test", "-s", "results/smoke-loopback/time_to_accuracy.png")

    def test_a_capped_network_runs(self):
        output = self.as_user("thinpipe", "run", "smoke-loopback", "--results", "capped", "--only", "dense", "--set",
                              "topology=three-switch")
        self.assertIn("completed, accuracy", output)

    def test_debians_python_has_the_package(self):
        self.assertIn("Synchroniser", self.as_user("python3", "-c", "import thinpipe; print(thinpipe.Synchroniser)"))


if __name__ == "__main__":
    if reason := lacks():
        skip(reason)
    with tempfile.TemporaryDirectory(prefix="package-", dir=BUILD) as name:
        package = make_package(Path(name))
        try:
            ROOT = DebianRoot(Path(name) / "root", platform.freedesktop_os_release()["VERSION_CODENAME"])
        except debian_root.CannotMake as error:
            skip(error)
        shutil.copy(package, ROOT.root / package.name)
        ROOT.check("apt-get", "-q", "update")
        recommended = subprocess.run(["dpkg-deb", "-f", package, "Recommends"], check=True, capture_output=True, text=True)
        # What pandas and PyTorch recommend in turn includes a compiler.
        ROOT.check("apt-get", "-q", "install", "-y", "--no-install-recommends", f"./{package.name}", "python3-torch",
                   *recommended.stdout.strip().split(", "))
        unittest.main(verbosity=2)
