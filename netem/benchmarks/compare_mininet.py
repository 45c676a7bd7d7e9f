#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the same network in Thinpipe and in Mininet with the same program (link_probe.py beside this file).

The network has three switches in a row with hosts at each; the two links between switches are capped. The traffic goes
from the first switch to the second, over one cap. Mininet (Debian's packages mininet and bridge-utils) needs root;
Thinpipe does not.

  sudo /usr/bin/python3 netem/benchmarks/compare_mininet.py                   both, at 100, 500 and 1000 Mbit/s
  /usr/bin/python3 netem/benchmarks/compare_mininet.py --only thinpipe --rates 100
  sudo /usr/bin/python3 netem/benchmarks/compare_mininet.py --build 8 64      the time to build and tear down a network
"""
import argparse
import json
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
PROBE = [sys.executable, str(HERE / "link_probe.py")]
COLUMNS = [("one flow", "one_flow_ratio"), ("four flows", "four_flows_ratio"), ("Jain", "four_flows_jain"),
           ("both: there", "both_there_ratio"), ("both: back", "both_back_ratio"),
           ("64 KiB", "message_64KiB_ratio"), ("1 MiB", "message_1MiB_ratio")]


def measure_thinpipe(program, rate_mbit):
    rate = f"bottleneck.rate={rate_mbit} Mbit/s"
    command = [program, "shell", "three-switch", "--set", rate, "--host", "w0", "--", *PROBE, "serve",
               "--and", "--host", "w3", "--", *PROBE, "measure", "w0", str(rate_mbit * 1e6)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def mininet_network(hosts, rate_mbit):
    # Imported here, because Thinpipe can be measured without Mininet.
    from mininet.link import Link, TCLink
    from mininet.net import Mininet
    from mininet.nodelib import LinuxBridge
    from mininet.topo import Topo

    class ThreeSwitch(Topo):
        def build(self):
            switches = [self.addSwitch(f"s{i}") for i in range(1, 4)]
            for i in range(hosts):
                self.addLink(self.addHost(f"w{i}"), switches[3 * i // hosts], cls=Link)
            for left, right in zip(switches, switches[1:]):
                self.addLink(left, right, cls=TCLink, bw=rate_mbit)

    return Mininet(topo=ThreeSwitch(), switch=LinuxBridge, controller=None, waitConnected=False)


def measure_mininet(rate_mbit):
    network = mininet_network(8, rate_mbit)
    network.start()
    try:
        server_host, client_host = network.get("w0"), network.get("w3")
        # The machine's default may differ from the algorithm that Thinpipe's routes name.
        for host in (server_host, client_host):
            host.cmd(f"ip route change 10.0.0.0/8 dev {host.defaultIntf()} src {host.IP()} congctl cubic")
        server = server_host.popen([*PROBE, "serve"])
        time.sleep(0.5)
        client = client_host.popen([*PROBE, "measure", server_host.IP(), str(rate_mbit * 1e6)],
                                   stdout=subprocess.PIPE)
        output, _ = client.communicate(timeout=110)
        server.kill()
        server.wait()
        return json.loads(output)
    finally:
        network.stop()


def build_mininet(hosts):
    start = time.monotonic()
    network = mininet_network(hosts, 100)
    network.start()
    network.stop()
    return time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["thinpipe", "mininet"])
    parser.add_argument("--rates", nargs="+", type=int, default=[100, 500, 1000], help="caps in Mbit/s")
    parser.add_argument("--build", nargs="+", type=int, metavar="HOSTS", help="only measure how long Mininet takes to build a network of HOSTS")
    parser.add_argument("--thinpipe", default=str(HERE.parent.parent / "build/release/thinpipe"))
    arguments = parser.parse_args()
    if arguments.build:
        for hosts in arguments.build:
            print(f"Mininet, {hosts} hosts: {build_mininet(hosts):.2f} s")
        return
    print("| cap, Mbit/s | emulator | " + " | ".join(name for name, _ in COLUMNS) + " | RTT |")
    print("|---" * (len(COLUMNS) + 3) + "|")
    for rate in arguments.rates:
        for name in ([arguments.only] if arguments.only else ["thinpipe", "mininet"]):
            result = measure_thinpipe(arguments.thinpipe, rate) if name == "thinpipe" else measure_mininet(rate)
            print(f"| {rate} | {name} | " + " | ".join(f"{result[key]:.3f}" for _, key in COLUMNS) +
                  f" | {1e6 * result['round_trip_s']:.0f} us |", flush=True)


if __name__ == "__main__":
    main()
