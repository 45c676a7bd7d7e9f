# SPDX-License-Identifier: Apache-2.0
"""Builds the image of scripts/container/Containerfile on a base from debootstrap, and uses it as its ordinary user.

Exits with 77 and the reason where no image can be built or no container can run.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import debian_root

ROOT = Path(__file__).resolve().parents[2]
FREE_BYTES = 20e9  # for the base, the build with its packages, and the image
BASE = "localhost/thinpipe-base:12"
IMAGE = "localhost/thinpipe:test"

# Containers are made in a mount namespace of their own, which takes every mount with it when they end: what is deleted
# afterwards is no folder of this machine. Where both versions of control groups are mounted, crun refuses to start, so
# it sees version 2 alone.
PRIVATE = """if [ -d /sys/fs/cgroup/unified ]; then
  umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup
fi
exec "$0" "$@"
"""


def skip(reason):
    print("SKIPPED:", reason)
    sys.exit(77)


def lacks():
    for program in ("podman", "buildah"):
        if shutil.which(program) is None:
            return f"{program} is not installed (scripts/setup.sh full)"
    return debian_root.lacks(ROOT / "build", FREE_BYTES)


class Engine:
    """Podman and Buildah with images in a folder."""

    def __init__(self, folder):
        self.storage = ["--root", folder / "images", "--runroot", folder / "run", "--storage-driver", "vfs"]
        # Podman would raise limits, which needs a privilege that root may lack.
        limits = []
        for name, largest in (("nofile", 1024), ("nproc", 32768)):
            hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))[1]
            value = largest if hard == resource.RLIM_INFINITY else min(hard, largest)
            limits.append(f'"{name}={value}:{value}"')
        settings = folder / "containers.conf"
        settings.write_text(f"[containers]\ndefault_ulimits = [{', '.join(limits)}]\n", encoding="utf-8")
        self.environment = os.environ | {"CONTAINERS_CONF": str(settings), "BUILDAH_ISOLATION": "chroot"}

    def call(self, program, *arguments, **options):
        command = ["unshare", "--mount", "bash", "-c", PRIVATE, program, *self.storage, *arguments]
        return subprocess.run([str(word) for word in command], env=self.environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)

    def run(self, *arguments):
        return self.call("podman", "run", "--rm", "--network", "none", "--cgroups", "disabled", *arguments)


def make_base(engine, folder):
    root = folder / "base"
    try:
        debian_root.make(root, "bookworm")
    except debian_root.CannotMake as error:
        skip(error)
    with subprocess.Popen(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE) as packed:
        imported = engine.call("podman", "import", "-", BASE, stdin=packed.stdout)
    if imported.returncode != 0 or packed.returncode != 0:
        raise RuntimeError(f"cannot import the base: {imported.stdout}")
    shutil.rmtree(root)
    tried = engine.run(BASE, "true")
    if tried.returncode != 0:
        skip(f"podman cannot run a container here: {tried.stdout[-1000:]}")


def build(engine):
    caches = []
    # Whoever has ccache has just compiled most of it.
    if shutil.which("ccache"):
        found = subprocess.run(["ccache", "--get-config", "cache_dir"], capture_output=True, text=True, check=True)
        cache = Path(found.stdout.strip())
        if cache.is_dir():
            caches = ["--volume", f"{cache}:/root/.cache/ccache"]
    built = engine.call("buildah", "build", "--network", "host", *caches, "--build-arg", f"BASE={BASE}", "--build-arg",
                        f"COMMIT={'ab' * 20}-dirty", "--file", ROOT / "scripts/container/Containerfile", "--tag", IMAGE,
                        ROOT)
    if built.returncode != 0:
        raise RuntimeError(f"cannot build the image:\n{built.stdout[-6000:]}")


class ContainerTest(unittest.TestCase):
    def run_image(self, *arguments, flags=()):
        ended = ENGINE.run(*flags, IMAGE, *arguments)
        return ended.returncode, ended.stdout

    def test_doctor_names_what_default_flags_forbid(self):
        status, output = self.run_image("doctor")
        self.assertEqual(status, 1, output)
        self.assertIn("FAILS  user namespaces: cannot create the namespaces", output)
        self.assertIn("Parts of /proc are covered", output)
        self.assertIn("--security-opt systempaths=unconfined", output)
        self.assertIn("works  worker program: /thinpipe/build/release/thinpipe-trainer", output)
        self.assertIn("works  data set fashion_mnist", output)

    def test_doctor_finds_all_that_a_run_needs_with_the_documented_flag(self):
        status, output = self.run_image("doctor", flags=("--security-opt", "unmask=ALL"))
        self.assertEqual(status, 0, output)
        self.assertIn("works  virtual network: three-switch", output)

    def test_the_smoke_experiment_runs_with_default_flags(self):
        script = """set -e
test "$(id -u)" = 1000
thinpipe run experiments/smoke-loopback.json >&2
python3 /thinpipe/plotting/time_to_accuracy.py results/smoke-loopback --target 0.9 >&2
test -s results/smoke-loopback/time_to_accuracy.png
thinpipe export results/smoke-loopback --output records.jsonl >&2
echo records:
cat records.jsonl
"""
        status, output = self.run_image("-c", script, flags=("--entrypoint", "sh"))
        self.assertEqual(status, 0, output)
        records = [json.loads(line) for line in output.split("records:\n")[1].splitlines() if line.startswith("{")]
        self.assertEqual([record["status"] for record in records], ["completed"] * 3, output)
        origins = {(record["provenance"]["git_commit"], record["provenance"]["dirty"]) for record in records}
        self.assertEqual(origins, {("ab" * 20, True)}, output)

    def test_a_capped_network_runs_with_the_documented_flag(self):
        status, output = self.run_image("run", "experiments/smoke-loopback.json", "--only", "dense", "--set",
                                        "topology=three-switch", flags=("--security-opt", "unmask=ALL"))
        self.assertEqual(status, 0, output)
        self.assertIn("completed, accuracy", output)

    def test_methods_in_python_files_work(self):
        method = "/thinpipe/trainer/python/tests/methods/topk_residual.py:MyTopK"
        status, output = self.run_image("check-method", method, "--workers", "1,2", "--backend", "in_process")
        self.assertEqual(status, 0, output)


if __name__ == "__main__":
    if reason := lacks():
        skip(reason)
    with tempfile.TemporaryDirectory(prefix="container-", dir=ROOT / "build") as name:
        ENGINE = Engine(Path(name))
        make_base(ENGINE, Path(name))
        build(ENGINE)
        unittest.main(verbosity=2)
