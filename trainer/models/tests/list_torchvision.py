# SPDX-License-Identifier: Apache-2.0
"""Writes the names and shapes of torchvision's parameters, which our models must have, to torchvision/*.txt.

Usage: list_torchvision.py   (needs torchvision; torchvision/VERSION records its version)

Each line is `name [shape]`: the parameters in order, an empty line, the buffers in order.
"""

from pathlib import Path

import torchvision

FOLDER = Path(__file__).parent / "torchvision"


def lines(items):
    return "".join(f"{name} {list(tensor.shape)}\n" for name, tensor in items)


def main():
    for name in ("alexnet", "vgg16", "vgg19", "resnet18", "resnet50", "resnet152", "vit_b_16"):
        model = getattr(torchvision.models, name)(weights=None)
        text = lines(model.named_parameters()) + "\n" + lines(model.named_buffers())
        (FOLDER / f"{name}.txt").write_text(text)
    (FOLDER / "VERSION").write_text(torchvision.__version__ + "\n")


if __name__ == "__main__":
    main()
