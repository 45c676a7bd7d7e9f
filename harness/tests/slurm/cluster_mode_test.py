# SPDX-License-Identifier: Apache-2.0
"""Trains in mode "cluster" on a Slurm cluster whose nodes are the hosts of an emulated network.

Usage: [EPOCHS=N] cluster_mode_test.py PATH/thinpipe [TEST...]
Two sites of two nodes each, with 100 Mbit/s between them, give the same parameters as mode "live" over the same topology.
The times of both are printed; several epochs make them worth comparing.
Exits with 77 and the reason if there can be no cluster here.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from cluster import NODES, Cluster, missing, processes_with, wait_for

PROGRAM = ""
FOLDER = Path()
EPOCHS = int(os.environ.get("EPOCHS", "1"))
START_S = 60
END_S = 300

SITES = {
    "name": "two-sites",
    "switches": ["left", "right"],
    "hosts": {"w": NODES},
    "links": [
        {"between": ["w0..w1", "left"]},
        {"between": ["w2..w3", "right"]},
        {"between": ["left", "right"], "rate": "100 Mbit/s", "bottleneck": True},
    ],
}
MACHINES = {"name": "four-machines", "kind": "cluster", "hosts": {"w": NODES}}
IN_FOLDER = MACHINES | {"name": "folder-machines", "rendezvous": "folder"}
METHODS = {
    "dense": {"synchroniser": {"name": "dense"}},
    "topk": {"synchroniser": {"name": "topk", "ratio": 0.1}},
    "pactrain": {"synchroniser": {"name": "pactrain"}, "pruning": {"ratio": 0.5}},
}


SCRIPT = """
import os
import thinpipe
place = [os.environ[name] for name in ("RANK", "WORLD_SIZE", "SLURMD_NODENAME", "MASTER_ADDR", "GLOO_SOCKET_IFNAME")]
print("rank {} of {} on {}, master {}, interface {}".format(*place))
for iteration in range(3):
    thinpipe.report(iteration=iteration, **({"test_accuracy": 0.25 * iteration} if iteration else {}))
"""


def experiment(mode: str, topology: str) -> dict:
    return {
        "name": mode,
        "base": {
            "mode": mode,
            "topology": topology,
            "collective": {"name": "island"},
            "model": {"name": "small_cnn"},
            "dataset": {"name": "synthetic", "train_examples": 1024},
            "pretraining": {"iterations": 0},
            "training": {"batch_size_per_worker": 8, "evaluate_every_iterations": 16, "epochs": EPOCHS},
        },
        "sweep": {"method": METHODS},
    }


def write(name: str, content: dict) -> None:
    (FOLDER / name).write_text(json.dumps(content), encoding="utf-8")


def records(name: str) -> dict[str, dict]:
    """Returns an experiment's records by their methods."""
    files = (FOLDER / "results" / name).glob("*/run.json")
    return {record["label"]: record for record in (json.loads(file.read_text()) for file in files)}


class ClusterModeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.cluster = cls.enterClassContext(Cluster(addresses=addresses()))
        (FOLDER / "slurm.conf").symlink_to(cls.cluster.folder / "slurm.conf")
        cls.cluster.wait_until_idle()

    def thinpipe(self, *arguments: str, status: int = 0) -> str:
        ended = subprocess.run([PROGRAM, *arguments], cwd=FOLDER, env=self.cluster.environment, timeout=END_S,
                               capture_output=True, text=True)
        logs = "".join(file.read_text() for file in FOLDER.glob("results/*/slurm/*.log"))
        self.assertEqual(ended.returncode, status, ended.stdout + ended.stderr + logs)
        return ended.stdout + ended.stderr

    def test_gives_the_parameters_of_the_emulated_network(self) -> None:
        output = self.thinpipe("run", "cluster.json", "--executor", "slurm")
        self.assertIn("3 of 3 runs ended", output)
        emulated, real = records("live"), records("cluster")
        self.assertEqual(set(real), set(METHODS))
        for method, record in real.items():
            self.assertEqual(record["status"], "completed", record["error"])
            self.assertEqual(record["cluster"]["reduction_tree"], [-1, 0, 1, 2])
            self.assertEqual(record["parameters_hash"], emulated[method]["parameters_hash"], method)
            self.assertEqual(record["iterations"], emulated[method]["iterations"])
            print(f"{method}: {1e3 * record['iteration_time_s']['mean']:.1f} ms per iteration, "
                  f"{1e3 * emulated[method]['iteration_time_s']['mean']:.1f} ms emulated", file=sys.stderr)

        network = real["dense"]["cluster"]
        self.assertEqual([node["address"] for node in network["nodes"]], addresses())
        self.assertEqual({node["network_interface"] for node in network["nodes"]}, {"eth0"})
        self.assertEqual(network["islands"], [[0, 1], [2, 3]])
        rate = network["before"]["bit_per_s"]
        for near, far in ((0, 2), (1, 3), (2, 1), (3, 0)):
            self.assertGreater(rate[near][far], 80e6)
            self.assertLess(rate[near][far], 100e6)
            self.assertGreater(network["before"]["round_trips_s"][near][far], 0)
        self.assertEqual(real["dense"]["fidelity"]["verdict"], "real")
        outside = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
        again = subprocess.run([PROGRAM, "run", "cluster.json"], cwd=FOLDER, env=outside, capture_output=True, text=True)
        self.assertEqual(again.returncode, 0, "a finished sweep needs no machines: " + again.stderr)
        sent = real["dense"]["traffic"]["wire_bytes"]["w2->network"]
        self.assertGreater(sent, real["dense"]["traffic"]["sent_bytes_per_worker"] / 2)

    def test_goes_on_whatever_strangers_send(self) -> None:
        write("strangers.json", experiment("cluster", "machines.json") | {
            "name": "strangers", "sweep": {"method": {"dense": METHODS["dense"]}}})
        with Strangers() as strangers:
            self.thinpipe("run", "strangers.json", "--executor", "slurm")
        (record,) = records("strangers").values()
        self.assertEqual(record["status"], "completed", record["error"])
        self.assertEqual(record["parameters_hash"], records("live")["dense"]["parameters_hash"])
        self.assertGreater(strangers.connections, 1)
        # Gloo's pairs listen at the loopback interface for a moment.
        self.assertLessEqual({address for address, _ in strangers.listeners}, {addresses()[0], "127.0.0.1"})
        self.assertIn(addresses()[0], {address for address, _ in strangers.listeners})
        (run,) = FOLDER.glob("results/strangers/*/run.json")
        said = "".join(file.read_text() for file in run.parent.glob("*-0.log"))
        self.assertIn("closed a connection from " + addresses()[0], said)
        meeting = json.loads((run.parent / "worker-0.json").read_text())["rendezvous_addresses"]
        self.assertTrue(all(place.startswith(addresses()[0] + ":") for place in meeting), meeting)

    def test_workers_may_meet_in_the_folder(self) -> None:
        write("folder.json", experiment("cluster", "folder-machines.json") | {
            "name": "folder", "sweep": {"method": {"dense": METHODS["dense"]}}})
        self.thinpipe("run", "folder.json", "--executor", "slurm")
        (record,) = records("folder").values()
        self.assertEqual(record["status"], "completed", record["error"])
        self.assertEqual(record["parameters_hash"], records("live")["dense"]["parameters_hash"])
        (run,) = FOLDER.glob("results/folder/*/run.json")
        self.assertNotIn("rendezvous_addresses", json.loads((run.parent / "worker-0.json").read_text()))

    def test_tells_nobody_the_token(self) -> None:
        endless = experiment("cluster", "machines.json") | {"name": "secret", "sweep": {"method": {"dense": METHODS["dense"]}}}
        endless["base"]["training"]["epochs"] = 100_000
        write("secret.json", endless)
        command = [PROGRAM, "run", "secret.json", "--executor", "slurm"]
        with subprocess.Popen(command, cwd=FOLDER, env=self.cluster.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True) as controller:
            wait_for(lambda: any(file.stat().st_size for file in FOLDER.glob("results/secret/*/iterations.jsonl")), END_S)
            tokens = {token_of(worker) for node in range(NODES) for worker in workers_on(f"n{node}")}
            commands = b"".join(read(file) for file in Path("/proc").glob("[0-9]*/cmdline"))
            for worker in workers_on("n2"):
                os.kill(worker, signal.SIGKILL)
            output, _ = controller.communicate(timeout=END_S)
        (token,) = tokens  # all workers of the launch have the same one
        self.assertEqual(len(token), 32)
        self.assertNotIn(token, commands)
        files = [file for file in (FOLDER / "results" / "secret").rglob("*") if file.is_file()]
        self.assertGreater(len(files), NODES)
        raw = bytes.fromhex(token.decode())
        for file in files:
            self.assertFalse(token in file.read_bytes() or raw in file.read_bytes(), file)
        self.assertNotIn(token.decode(), output)

    def test_runs_a_script_on_every_machine(self) -> None:
        (FOLDER / "script.py").write_text(SCRIPT, encoding="utf-8")
        trainer = {"command": ["/usr/bin/python3", "script.py"], "method": "none"}
        base = {"mode": "cluster", "topology": "machines.json", "trainer": trainer}
        write("script.json", {"name": "script", "base": base})
        self.thinpipe("run", "script.json", "--executor", "slurm")
        (record,) = records("script").values()
        self.assertEqual([point["test_accuracy"] for point in record["curve"]], [0.25, 0.5])
        (run,) = FOLDER.glob("results/script/*/run.json")
        said = [(run.parent / f"worker-{rank}.log").read_text() for rank in range(NODES)]
        for rank, text in enumerate(said):
            self.assertIn(f"rank {rank} of {NODES} on n{rank}, master {addresses()[0]}, interface eth0", text)

    def test_a_worker_that_dies_ends_the_run_everywhere(self) -> None:
        endless = experiment("cluster", "machines.json")
        endless["base"]["training"]["epochs"] = 100_000
        write("endless.json", endless | {"name": "endless", "sweep": {"method": {"dense": METHODS["dense"]}}})
        command = [PROGRAM, "run", "endless.json", "--executor", "slurm"]
        with subprocess.Popen(command, cwd=FOLDER, env=self.cluster.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True) as controller:
            wait_for(lambda: any(file.stat().st_size for file in FOLDER.glob("results/endless/*/iterations.jsonl")), END_S)
            (victim,) = workers_on("n2")
            os.kill(victim, signal.SIGKILL)
            output, _ = controller.communicate(timeout=END_S)
        self.assertEqual(controller.returncode, 1, output)
        (record,) = records("endless").values()
        self.assertEqual(record["status"], "failed")
        self.assertEqual(record["error"]["rank"], 2, record["error"])
        self.assertIsNone(record["cluster"]["after"])
        self.assertEqual([workers_on(f"n{node}") for node in range(NODES)], [[]] * NODES)

    def test_the_measured_topology_can_be_emulated(self) -> None:
        self.thinpipe("run", "cluster.json", "--executor", "slurm", "--only", "dense")
        (run,) = [file.parent for file in FOLDER.glob("results/cluster/*/run.json")
                  if json.loads(file.read_text())["label"] == "dense"]
        write("again.json", experiment("live", str(run / "measured-topology.json")) | {"name": "again"})
        self.assertIn("island0", self.thinpipe("plan", "again.json", "--only", "dense", "--json", "--no-measuring"))

    def test_refuses_a_run_without_machines(self) -> None:
        outside = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
        ended = subprocess.run([PROGRAM, "run", "cluster.json", "--results", "none"], cwd=FOLDER, env=outside,
                               capture_output=True, text=True)
        self.assertEqual(ended.returncode, 2, ended.stderr)
        self.assertIn("--executor slurm", ended.stderr)


class Strangers:
    """While it is entered, connects to whatever the first worker listens at, and sends garbage, or nothing."""

    def __init__(self) -> None:
        self.listeners: set[tuple[str, int]] = set()
        self.connections = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Strangers:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        open_connections = []
        while not self._ended.wait(0.002):
            for place in self._listening() - self.listeners:
                self.listeners.add(place)
                for garbage in (b"", b"GET / HTTP/1.1\r\n\r\n", os.urandom(4096)):
                    try:
                        open_connections.append(socket.create_connection(place, timeout=1))
                        self.connections += 1
                        open_connections[-1].sendall(garbage)
                    except OSError:
                        continue  # it listens no more, or has seen enough
        for connection in open_connections:
            connection.close()

    def _listening(self) -> set[tuple[str, int]]:
        """Returns the places at which the trainers of this host listen."""
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        by_inode = {row[9]: row[1] for row in rows if row[3] == "0A"}
        own = set()
        for process in Path("/proc").glob("[0-9]*"):
            if not read(process / "cmdline").split(b"\0")[0].endswith(b"thinpipe-trainer"):
                continue
            try:
                links = [os.readlink(file) for file in (process / "fd").iterdir()]
            except OSError:
                continue
            own |= {by_inode[link[8:-1]] for link in links if link.startswith("socket:[") and link[8:-1] in by_inode}
        return {decoded(place) for place in own}


def decoded(place: str) -> tuple[str, int]:
    """Returns the address and port that /proc/net/tcp has in hexadecimal digits."""
    address, port = place.split(":")
    return socket.inet_ntoa(struct.pack("<I", int(address, 16))), int(port, 16)


def read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""  # the process has just ended


def token_of(process: int) -> bytes:
    variables = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    (token,) = (variable.partition(b"=")[2] for variable in variables if variable.startswith(b"THINPIPE_RUN_TOKEN="))
    return token


def workers_on(node: str) -> list[int]:
    """Returns the processes that train on the node, without what started them."""
    return [process for process in processes_with(f"SLURMD_NODENAME={node}".encode())
            if b"thinpipe-trainer\0work" in Path(f"/proc/{process}/cmdline").read_bytes()
            and not Path(f"/proc/{process}/cmdline").read_bytes().startswith(b"srun")]


def addresses() -> list[str]:
    return (FOLDER / "addresses").read_text().split()


def be_a_node(rank: int) -> None:
    """Runs the daemon of another node until the tests have ended."""
    wait_for((FOLDER / "slurm.conf").exists, START_S)
    environment = os.environ | {"SLURM_CONF": str((FOLDER / "slurm.conf").resolve())}
    with (FOLDER / f"n{rank}.out").open("ab") as output:
        daemon = subprocess.Popen(["/usr/sbin/slurmd", "-D", "-N", f"n{rank}"], env=environment,
                                  stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
    while not (FOLDER / "ended").exists():
        time.sleep(0.2)
    daemon.terminate()
    daemon.wait()


def be_a_host() -> int:
    """Is what each host of the emulated network runs: the first one the tests, the others a node."""
    rank = int(os.environ["RANK"])
    write_address(rank)
    if rank > 0:
        be_a_node(rank)
        return 0
    wait_for(lambda: len(list(FOLDER.glob("address-*"))) == NODES, START_S)
    in_order = [(FOLDER / f"address-{node}").read_text() for node in range(NODES)]
    (FOLDER / "addresses").write_text("\n".join(in_order))
    try:
        ended = unittest.main(argv=sys.argv[:1] + sys.argv[4:], exit=False)
    finally:
        (FOLDER / "ended").touch()
    return 0 if ended.result.wasSuccessful() else 1


def write_address(rank: int) -> None:
    fields = subprocess.run(["hostname", "-I"], check=True, capture_output=True, text=True).stdout.split()
    part = FOLDER / f"part-{rank}"
    part.write_text(fields[0])
    part.rename(FOLDER / f"address-{rank}")


def main() -> int:
    if why := missing():
        print(f"skipped: {why}")
        return 77
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        globals()["FOLDER"] = Path(folder)
        write("sites.json", SITES)
        write("machines.json", MACHINES)
        write("folder-machines.json", IN_FOLDER)
        write("live.json", experiment("live", "sites.json"))
        write("cluster.json", experiment("cluster", "machines.json"))
        subprocess.run([PROGRAM, "run", "live.json"], cwd=folder, check=True, timeout=END_S)
        host = [sys.executable, "-B", __file__, PROGRAM, "--host", folder, *sys.argv[2:]]
        return subprocess.run([PROGRAM, "exec", "sites.json", "--normal-priority", "--", *host], cwd=folder).returncode


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv[1])
    if sys.argv[2:3] == ["--host"]:
        FOLDER = Path(sys.argv[3])
        sys.exit(be_a_host())
    sys.exit(main())
