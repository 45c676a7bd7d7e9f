# SPDX-License-Identifier: Apache-2.0
"""A Slurm cluster of four nodes on this machine, as root, for tests: munge, slurmctld and four slurmd.

The nodes share this machine's network, or each is in a host of an emulated one (cluster_mode_test.py).
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

NODES = 4
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol", "sinfo")
START_S = 60


def missing() -> str | None:
    """Returns why there can be no cluster here, or None."""
    absent = [program for program in PROGRAMS if shutil.which(program, path=PATH) is None]
    if absent:
        return f"Slurm is not installed: there is no {', '.join(absent)} (scripts/setup.sh full installs it)"
    if os.geteuid() != 0:
        return "the test cluster's daemons need root"
    return None


PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Cluster:
    """Runs while it is entered. `environment` lets Slurm's programs find it.

    addresses: of the nodes, if they have a host each. The daemons of this object's own host are then those of the first
    node; join() starts that of another.
    """

    def __init__(self, configuration: str = "", addresses: list[str] | None = None) -> None:
        self._further = configuration
        self._addresses = addresses
        self._daemons: dict[str, subprocess.Popen] = {}
        self._folder: Path | None = None
        self.environment: dict[str, str] = {}

    def __enter__(self) -> Cluster:
        self._folder = Path(tempfile.mkdtemp(prefix="thinpipe-slurm-", dir="/var/tmp"))
        self._folder.chmod(0o755)
        try:
            self._start_munge()
            self._write_configuration()
            self.start("slurmctld")
            for node in range(1 if self._addresses else NODES):
                self.start(f"n{node}")
            if not self._addresses:
                self.wait_until_idle()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for daemon in reversed(self._daemons.values()):
            daemon.terminate()
        for daemon in self._daemons.values():
            try:
                daemon.wait(timeout=10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def start(self, name: str) -> None:
        """Starts "slurmctld" or a node's slurmd, such as "n0"."""
        program = ["slurmctld", "-D"] if name == "slurmctld" else ["slurmd", "-D", "-N", name]
        self._spawn(name, [*program, "-L", self._folder / f"{name}.log"])

    def kill_node(self, name: str) -> None:
        """Kills a node's daemon and all that it started, as if the node had lost its power, and tells Slurm."""
        daemon = self._daemons.pop(name)
        daemon.kill()
        daemon.wait()
        mark = f"SLURMD_NODENAME={name}".encode()
        for process in processes_with(mark):
            os.kill(process, signal.SIGKILL)
        self.call("scontrol", "update", f"nodename={name}", "state=down", "reason=test")

    def repair_node(self, name: str) -> None:
        self.start(name)
        self.call("scontrol", "update", f"nodename={name}", "state=resume")

    def call(self, *command: str) -> str:
        return subprocess.run(command, env=self.environment, check=True, capture_output=True, text=True).stdout

    def wait_until_idle(self) -> None:
        wait_for(lambda: self.call("sinfo", "--noheader", "--format=%T %D").split() == ["idle", str(NODES)], START_S)

    @property
    def folder(self) -> Path:
        return self._folder

    def _start_munge(self) -> None:
        folder = self._folder / "munge"
        folder.mkdir()
        key = folder / "key"
        key.write_bytes(os.urandom(1024))
        shutil.chown(folder, "munge", "munge")
        shutil.chown(key, "munge", "munge")
        key.chmod(0o400)
        files = {"key-file": key, "socket": folder / "socket", "pid-file": folder / "pid", "log-file": folder / "log",
                 "seed-file": folder / "seed"}
        self._spawn(
            "munged", ["munged", "--foreground", "--force", *(f"--{name}={file}" for name, file in files.items())], "munge"
        )
        wait_for((folder / "socket").exists, START_S)

    def _write_configuration(self) -> None:
        folder = self._folder
        for name in ("state", *(f"spool-n{node}" for node in range(NODES))):
            (folder / name).mkdir()
        addresses = self._addresses or ["localhost"] * NODES
        nodes = "\n".join(
            f"NodeName=n{node} NodeHostname=localhost NodeAddr={address} Port={free_port()} CPUs=1 RealMemory=2000 State=UNKNOWN"
            for node, address in enumerate(addresses)
        )
        (folder / "slurm.conf").write_text(f"""\
ClusterName=test
SlurmctldHost=localhost({addresses[0]})
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
SlurmUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldPort={free_port()}
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SchedulerParameters=batch_sched_delay=0,sched_interval=2
{nodes}
PartitionName=main Nodes=n[0-{NODES - 1}] Default=YES MaxTime=INFINITE State=UP
{self._further}
""", encoding="utf-8")
        self.environment = os.environ | {"PATH": PATH, "SLURM_CONF": str(folder / "slurm.conf")}

    def _spawn(self, name: str, command: list, user: str | None = None) -> None:
        with (self._folder / f"{name}.out").open("ab") as output:
            self._daemons[name] = subprocess.Popen(
                [str(word) for word in command], env=self.environment or os.environ | {"PATH": PATH}, stdin=subprocess.DEVNULL,
                stdout=output, stderr=subprocess.STDOUT, user=user, start_new_session=True,
            )


def processes_with(mark: bytes) -> list[int]:
    """Returns this machine's processes whose environment has the variable, and the step daemons that started them."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark not in (folder / "environ").read_bytes().split(b"\0"):
                continue
            found.add(int(folder.name))
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if Path(f"/proc/{parent}/comm").read_text().startswith("slurmstepd"):
                found.add(parent)
        except (OSError, ValueError):
            continue  # it has just ended
    return sorted(found)


def wait_for(condition, limit_s: float) -> None:
    """Waits until the condition holds. Raises TimeoutError after the limit."""
    until = time.monotonic() + limit_s
    while not holds(condition):
        if time.monotonic() > until:
            raise TimeoutError(f"{condition} did not hold within {limit_s} s")
        time.sleep(0.2)


def holds(condition) -> bool:
    try:
        return bool(condition())
    except subprocess.CalledProcessError:
        return False
