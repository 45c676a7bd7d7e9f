# SPDX-License-Identifier: Apache-2.0
"""A worker of exchange_benchmark that uses PyTorch: torch.distributed.all_reduce over its own Gloo."""
from __future__ import annotations

import argparse
import json
import os
import time

import torch
import torch.distributed as dist


def busy_s() -> float:
    """Return the busy time of all CPUs since the machine started."""
    with open("/proc/stat", encoding="ascii") as file:
        fields = [float(field) for field in file.readline().split()[1:8]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--rank", "--world-size", "--elements", "--repetitions"):
        parser.add_argument(name, type=int, required=True)
    for name in ("--address", "--rendezvous"):
        parser.add_argument(name, required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", f"file://{options.rendezvous}/pytorch", rank=options.rank, world_size=options.world_size
    )
    tensor = torch.ones(options.elements)
    dist.all_reduce(tensor)
    if not bool((tensor == options.world_size).all()):
        raise RuntimeError("torch.distributed gives a wrong sum")
    began_s, ended_s = [], []
    busy_before_s = busy_s()
    for _ in range(options.repetitions):
        tensor.fill_(1)
        dist.barrier()
        began_s.append(time.monotonic())
        dist.all_reduce(tensor)
        ended_s.append(time.monotonic())
    dist.barrier()
    library = f"PyTorch {torch.__version__} (Gloo)"
    report = {"began_s": began_s, "ended_s": ended_s, "busy_s": busy_s() - busy_before_s, "library": library}
    print(json.dumps(report), flush=True)
    # Without this, the end of the interpreter may find threads of PyTorch 2's Gloo that still run, and abort.
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
