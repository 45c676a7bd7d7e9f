# SPDX-License-Identifier: Apache-2.0
"""Sets up, builds and uses Thinpipe on a new Debian 13 as its ordinary user, and then its package on another one.

It copies the tree's files. The compiler cache build/debian13-ccache stays, so that later calls are fast. Exits with 77 and
the reason where no such system can be made.
"""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import debian_root
import debian_use
from debian_root import USER, DebianRoot
from debian_use import skip

TREE = Path(__file__).resolve().parents[2]
BUILD = TREE / "build"
CACHE = BUILD / "debian13-ccache"
RELEASE = "trixie"
FREE_BYTES = 15e9  # for two systems with their packages, and the build
HOME = debian_use.Use.home
SOURCES = f"{HOME}/thinpipe"


def copy_tree(root):
    """Copies the tree's files, those of a clone without what git ignores, to the user's home."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=TREE, check=True,
                            capture_output=True, text=True)
    for file in filter(None, listed.stdout.split("\0")):
        if (TREE / file).exists():  # not deleted since the last commit
            copy = root.root / SOURCES.lstrip("/") / file
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(TREE / file, copy)
    root.check("chown", "--recursive", f"{USER}:{USER}", SOURCES)


def build(root):
    copy_tree(root)
    CACHE.mkdir(exist_ok=True)
    os.chown(CACHE, USER, USER)
    root.check("scripts/setup.sh", "python", folder=SOURCES)
    root.check("apt-get", "-q", "install", "-y", "--no-install-recommends", "dpkg-dev", "file")
    commands = """set -e
export CCACHE_DIR=/ccache
cmake --preset release -DTHINPIPE_TESTS=OFF -DTHINPIPE_BENCHMARKS=OFF
cmake --build --preset release
cd build/release && cpack -G DEB
"""
    root.check("bash", "-c", commands, user=USER, folder=SOURCES, mounts=[(CACHE, "/ccache")])


class SourcesTest(debian_use.Use):
    """From the build folder."""

    thinpipe = f"{SOURCES}/build/release/thinpipe"
    worker = f"{SOURCES}/build/release/thinpipe-trainer"
    plotting = f"{SOURCES}/plotting"


class PackageTest(debian_use.PackageUse):
    """From the package, on a system that has built nothing."""

    @classmethod
    def setUpClass(cls):
        packages = list((SourcesTest.root.root / SOURCES.lstrip("/") / "build/release").glob("thinpipe_*.deb"))
        if len(packages) != 1:
            raise RuntimeError(f"cpack made {len(packages)} packages instead of one")
        cls.install(DebianRoot(SourcesTest.root.root.parent / "other", RELEASE), packages[0])


if __name__ == "__main__":
    BUILD.mkdir(exist_ok=True)
    if reason := debian_root.lacks(BUILD, FREE_BYTES):
        skip(reason)
    with tempfile.TemporaryDirectory(prefix="debian13-", dir=BUILD) as name:
        os.chmod(name, 0o755)
        try:
            SourcesTest.root = DebianRoot(Path(name) / "root", RELEASE)
        except debian_root.CannotMake as error:
            skip(error)
        build(SourcesTest.root)
        unittest.main(verbosity=2)
