#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""thinpipe.top_k against torch.topk. Usage: selection_test.py FOLDER, the one with the package thinpipe."""
import math
import sys

import torch

sys.path.insert(0, sys.argv.pop(1))
import thinpipe


def chosen_by_torch(values, k):
    """A stable sort keeps the order of equal magnitudes; torch.topk does not."""
    return values.abs().sort(descending=True, stable=True).indices[:k].sort().values


def expect_error(call, *words):
    try:
        call()
    except ValueError as error:
        assert all(word in str(error) for word in words), error
    else:
        raise AssertionError(f"no error with {words}")


generator = torch.Generator().manual_seed(1)
for size in (1, 7, 1000, 100_003):
    for values in (torch.randn(size, generator=generator), torch.randint(-3, 4, (size,), generator=generator).float()):
        for k in {0, 1, size // 3, size}:
            assert thinpipe.top_k(values, k).equal(chosen_by_torch(values, k)), (size, k)
assert thinpipe.top_k(torch.tensor([1.0, math.nan, 9.0]), 1).tolist() == [1]
expect_error(lambda: thinpipe.top_k(torch.zeros(3), 4), "from 0 to", "3", "4")
expect_error(lambda: thinpipe.top_k(torch.zeros(4, 4).t()[0], 1), "contiguous")
expect_error(lambda: thinpipe.top_k(torch.zeros(3, dtype=torch.float64), 1), "float32")
