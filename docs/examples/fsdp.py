# SPDX-License-Identifier: Apache-2.0
"""Fully sharded data parallel training: every worker holds a part of the weights, and fetches the rest.

Needs PyTorch 2.6 or newer.

    thinpipe exec three-switch -- python3 fsdp.py
"""
import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=20)
options = parser.parse_args()

kind = "cuda" if torch.cuda.is_available() else "cpu"
if kind == "cuda":
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl" if kind == "cuda" else "gloo")
torch.manual_seed(0)
classes = torch.randn(10, 784, device=kind)
model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10)).to(kind)
fully_shard(model, mesh=init_device_mesh(kind, (dist.get_world_size(),)))
optimiser = torch.optim.SGD(model.parameters(), 0.1)
torch.manual_seed(1 + dist.get_rank())

for step in range(options.steps):
    labels = torch.randint(10, (32,), device=kind)
    loss = nn.functional.cross_entropy(model(classes[labels] / 4 + torch.randn(32, 784, device=kind)), labels)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    if dist.get_rank() == 0:
        print(f"step {step + 1} loss {loss.item():.3f}")
dist.barrier()
dist.destroy_process_group()
