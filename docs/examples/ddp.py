# SPDX-License-Identifier: Apache-2.0
"""A training script for torchrun: DistributedDataParallel, with one rank per machine.

    torchrun --nnodes 8 ... ddp.py                          on eight machines
    thinpipe exec three-switch -- python3 ddp.py            on three-switch's eight hosts

Options choose what it sends for a gradient: --fp16 half of the bytes, --accumulate N one of N.
"""
import argparse
import contextlib
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=20)
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--fp16", action="store_true", help="compress gradients with DDP's fp16 hook")
parser.add_argument("--accumulate", type=int, default=1, help="backward passes per step")
options = parser.parse_args()

dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
rank, device = dist.get_rank(), torch.device("cpu")
if torch.cuda.is_available():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
torch.manual_seed(0)
classes = torch.randn(10, 784, device=device)  # each class is a pattern under noise
model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10)).to(device)
model = nn.parallel.DistributedDataParallel(model)
if options.fp16:
    model.register_comm_hook(None, fp16_compress_hook)
optimiser = torch.optim.SGD(model.parameters(), options.lr)
torch.manual_seed(1 + rank)

began = time.monotonic()
for step in range(options.steps):
    for backward in range(options.accumulate):
        labels = torch.randint(10, (32,), device=device)
        images = classes[labels] / 4 + torch.randn(32, 784, device=device)
        sends = backward == options.accumulate - 1
        with contextlib.nullcontext() if sends else model.no_sync():
            loss = nn.functional.cross_entropy(model(images), labels)
            (loss / options.accumulate).backward()
    optimiser.step()
    optimiser.zero_grad()
    if rank == 0:
        print(f"step {step + 1} loss {loss.item():.3f} after {time.monotonic() - began:.2f} s")
dist.barrier()
dist.destroy_process_group()
