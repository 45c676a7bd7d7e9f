# SPDX-License-Identifier: Apache-2.0
"""Tests which data of a user's function are accepted.

Usage: datasets_test.py FOLDER     FOLDER has the package thinpipe
"""
from __future__ import annotations

import sys
import unittest

import torch

sys.path.insert(0, sys.argv.pop())
from thinpipe import datasets  # noqa: E402
from thinpipe.scripts import InvalidScript  # noqa: E402


def tokens(count: int, length: int = 4) -> torch.Tensor:
    return torch.arange(count * length).reshape(count, length) % 7


def images(count: int, side: int = 2) -> torch.Tensor:
    return torch.zeros(count, 3, side, side)


class DatasetsTest(unittest.TestCase):
    def made(self, train, test):
        def load():
            return train, test

        return datasets.make(load, "{}")

    def assert_refused(self, train, test, message: str) -> None:
        with self.assertRaisesRegex(InvalidScript, message):
            self.made(train, test)

    def test_parts_may_differ_in_size(self):
        parts = self.made((tokens(5), tokens(5)), (tokens(3).int(), tokens(3).to(torch.uint8)))
        self.assertEqual([len(parts[part][0]) for part in ("train", "test")], [5, 3])
        self.assertEqual(parts["test"][1].dtype, torch.long)

    def test_parts_must_fit_one_model(self):
        labels = torch.tensor([0, 1])
        self.assert_refused((images(2), labels), (images(2).byte(), labels),
                            "same type of inputs, but have torch.float32 and torch.uint8")
        self.assert_refused((images(2), labels), (images(2, side=3), labels),
                            r"same shape of an input, but have \[3, 2, 2\] and \[3, 3, 3\]")
        self.assert_refused((tokens(2), tokens(2)), (tokens(2), labels),
                            "same labels per example, but have one per token and one")

    def test_tokens_are_not_negative(self):
        labels = torch.tensor([0, 1])
        self.assert_refused((tokens(2), labels), (tokens(2) - 1, labels), "load, test: tokens must be .* one is -1")


if __name__ == "__main__":
    unittest.main()
