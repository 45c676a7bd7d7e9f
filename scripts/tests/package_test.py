# SPDX-License-Identifier: Apache-2.0
"""Makes the Debian package of a build, installs it with apt in a new system, and uses it there.

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
import debian_use
from debian_use import skip

BUILD = Path(sys.argv.pop(1)).resolve()
FREE_BYTES = 5e9


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


class PackageTest(debian_use.PackageUse):
    pass


if __name__ == "__main__":
    if reason := lacks():
        skip(reason)
    with tempfile.TemporaryDirectory(prefix="package-", dir=BUILD) as name:
        package = make_package(Path(name))
        try:
            root = debian_root.DebianRoot(Path(name) / "root", platform.freedesktop_os_release()["VERSION_CODENAME"])
        except debian_root.CannotMake as error:
            skip(error)
        PackageTest.install(root, package)
        unittest.main(verbosity=2)
