# SPDX-License-Identifier: Apache-2.0
"""Thinpipe's training data, read independently to compare with: Fashion-MNIST, and the order of an epoch's examples."""
from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

FASHION_MNIST = Path("/usr/share/datasets/fashion-mnist")
MASK = 0xFFFFFFFF
BATCH_ORDER = 0xFFFFFFFF  # the stream's number among a seed's streams: trainer/base/philox.hh
SHARED = 0xFFFFFFFF  # the stream is the same on all workers


def philox_words(seed: int, step: int, purpose: int, lanes: range) -> np.ndarray:
    """Returns four words per lane, by the generator's definition (Salmon et al., Parallel Random Numbers, 2011)."""
    lane = np.arange(lanes.start, lanes.stop, dtype=np.uint64)
    counter = [np.full_like(lane, step & MASK), np.full_like(lane, purpose), np.full_like(lane, SHARED), lane]
    key = [seed & MASK, seed >> 32]
    low, shift = np.uint64(MASK), np.uint64(32)
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * counter[0], np.uint64(0xCD9E8D57) * counter[2]
        counter = [
            (b >> shift) ^ counter[1] ^ np.uint64(key[0]),
            b & low,
            (a >> shift) ^ counter[3] ^ np.uint64(key[1]),
            a & low,
        ]
        key = [(key[0] + 0x9E3779B9) & MASK, (key[1] + 0xBB67AE85) & MASK]
    return np.stack(counter, axis=1).reshape(-1)


def words_of_stream(seed: int, step: int, purpose: int):
    """Yields the words of a stream in order, without end."""
    at_once = 4096
    begin = 0
    while True:
        yield from philox_words(seed, step, purpose, range(begin, begin + at_once)).tolist()
        begin += at_once


def epoch_order(examples: int, seed: int, epoch: int) -> Tensor:
    """Returns the order of the examples for all workers: in iteration i, worker r takes batch i x workers + r."""
    words, order = words_of_stream(seed, epoch, BATCH_ORDER), list(range(examples))
    for remaining in range(examples, 1, -1):
        product = next(words) * remaining
        while product & MASK < 2**32 % remaining:
            product = next(words) * remaining
        chosen = product >> 32
        order[remaining - 1], order[chosen] = order[chosen], order[remaining - 1]
    return torch.tensor(order)


class FashionMnist:
    """uint8 images [n, 1, 28, 28] and labels [n]; the first `count` of a part, or all."""

    def __init__(self, part: str, count: int | None = None, folder: Path = FASHION_MNIST) -> None:
        def read(kind: str, offset: int) -> np.ndarray:
            with gzip.open(folder / f"{part}-{kind}-ubyte.gz") as file:
                return np.frombuffer(file.read(), np.uint8, offset=offset)

        images = read("images-idx3", 16).reshape(-1, 1, 28, 28)[:count]
        self.images = torch.from_numpy(images.copy())
        self.labels = torch.from_numpy(read("labels-idx1", 8)[:count].astype(np.int64))

    def __len__(self) -> int:
        return len(self.labels)

    def batch(self, places: Tensor) -> tuple[Tensor, Tensor]:
        # (x / 255 - mean) / deviation in the trainer's order of operations, so that the bits are equal. In a narrow
        # residual network, the last bit of an input changes the fourth digit of the loss within three steps.
        mean, deviation = 0.2860, 0.3530
        images = self.images[places].to(torch.float32)
        return images * np.float32(1 / (255 * deviation)) + np.float32(-mean / deviation), self.labels[places]
