# SPDX-License-Identifier: Apache-2.0
"""Communication hooks for the trainer pytorch-ddp, as users write them, and some that fail."""
import itertools
import math

import torch
import torch.distributed as dist

import thinpipe


def fp16(state, bucket):
    """PyTorch's fp16_compress_hook."""
    half = bucket.buffer().to(torch.float16).div_(dist.get_world_size())
    thinpipe.report(payload_bytes=2 * half.numel())

    def decompress(future):
        gradient = bucket.buffer()
        gradient.copy_(future.value()[0])
        return gradient

    return dist.all_reduce(half, async_op=True).get_future().then(decompress)


class Counter:
    steps = 0


def made(model, keeps: int = thinpipe.field(2, at_least=1)):
    """Makes that hook, with a state."""

    def hook(state, bucket):
        state.steps += 1
        return fp16(None, bucket)

    print("a hook may print", keeps)
    return Counter(), hook


def of_thinpipe(model, optimiser, method: str = "fp16"):
    """Lets a method of Thinpipe synchronise the gradients."""
    options = {"variant": "pytorch"} if method == "fp16" else {}
    thinpipe.ddp_hook(model, {"name": method, **options}, optimiser=optimiser)


def skips_a_step(model, optimiser):
    """The second gradient is not finite."""
    steps = itertools.count(1)

    def spoil(module, inputs, outputs):
        if next(steps) == 2:
            outputs.register_hook(lambda gradient: gradient * math.nan)

    model.register_forward_hook(spoil)
    of_thinpipe(model, optimiser, "dense")


def returns_text(model):
    return "a hook"


def fails(state, bucket):
    raise ValueError("no gradient is good enough")


def fails_later(state, bucket):
    future = dist.all_reduce(bucket.buffer(), async_op=True).get_future()
    return future.then(lambda done: done.value()[0] / "two")


def without_parameters():
    pass
