# SPDX-License-Identifier: Apache-2.0
"""PyTorch's PowerSGD hook with the options of our `powersgd`, starting from the same Q."""

import math
from unittest import mock

import numpy as np
import torch
from torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, powerSGD_hook


def normal_numbers(words, count):
    """Returns Box and Muller's transform of a stream's words, as fill_normal() in low_rank.cc computes it."""
    uniform = np.array([next(words) >> 8 for _ in range(count + count % 2)]) * 2.0**-24
    radius, angle = np.sqrt(-2 * np.log1p(-uniform[::2])), 2 * math.pi * uniform[1::2]
    pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return torch.from_numpy(pairs.reshape(-1)[:count].astype(np.float32))


def register(model, options, parameters, words_of):
    """parameters: in our order; no two matrices have the same number of columns.

    words_of(step, parameter): the stream from which a parameter's Q is drawn in a step, counted from 1.
    """
    state = PowerSGDState(
        process_group=None,
        matrix_approximation_rank=options["rank"],
        start_powerSGD_iter=options["start_step"],
        min_compression_rate=options["min_compression"],
    )

    def randn(batch, columns, rank, **_):
        (parameter,) = (i for i, of in enumerate(parameters) if of.dim() > 1 and of[0].numel() == columns)
        words = words_of(state.iter + 1, parameter)
        return normal_numbers(words, columns * rank).view(batch, columns, rank)

    def hook(state, bucket):
        with mock.patch.object(torch, "randn", randn):
            return powerSGD_hook(state, bucket)

    model.register_comm_hook(state, hook)
