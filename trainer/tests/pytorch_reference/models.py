# SPDX-License-Identifier: Apache-2.0
"""Thinpipe's models made of PyTorch's layers, to compare with; parameters have the same names."""
from __future__ import annotations

from torch import Tensor, max_pool2d, nn, relu


class Mlp(nn.Module):
    def __init__(self, hidden: list[int], channels: int, side: int, classes: int) -> None:
        super().__init__()
        units = [channels * side**2, *hidden, classes]
        self.layers = [f"fc{place}" for place in range(1, len(units))]
        for layer, inside, outside in zip(self.layers, units, units[1:]):
            self.add_module(layer, nn.Linear(inside, outside))

    def forward(self, x: Tensor) -> Tensor:
        x = x.flatten(1)
        for layer in self.layers[:-1]:
            x = relu(getattr(self, layer)(x))
        return getattr(self, self.layers[-1])(x)


class SmallCnn(nn.Module):
    def __init__(self, width: int, hidden: int, channels: int, side: int, classes: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.fc1 = nn.Linear(2 * width * (side // 4) ** 2, hidden)
        self.fc2 = nn.Linear(hidden, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = relu(max_pool2d(self.conv1(x), 2))
        x = relu(max_pool2d(self.conv2(x), 2))
        return self.fc2(relu(self.fc1(x.flatten(1))))


class Block(nn.Module):
    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outside)
        self.downsample = None
        if stride != 1 or inside != outside:
            self.downsample = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        x = relu(self.bn1(self.conv1(x)))
        return relu(self.bn2(self.conv2(x)) + shortcut)


class Resnet(nn.Module):
    def __init__(self, width: int, stages: int, blocks_per_stage: int, channels: int, classes: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        inside = width
        self.stages = []  # names; the modules are registered under torchvision's
        for stage in range(stages):
            outside, blocks = width << stage, []
            for block in range(blocks_per_stage):
                blocks.append(Block(inside, outside, 2 if stage > 0 and block == 0 else 1))
                inside = outside
            self.stages.append(f"layer{stage + 1}")
            self.add_module(self.stages[-1], nn.Sequential(*blocks))
        self.fc = nn.Linear(inside, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = relu(self.bn1(self.conv1(x)))
        for stage in self.stages:
            x = getattr(self, stage)(x)
        return self.fc(x.mean((2, 3)))


def make(description: dict, channels: int = 1, side: int = 28, classes: int = 10) -> nn.Module:
    """Returns a model. description: the member "model" of a configuration, with all its options."""
    options = {key: value for key, value in description.items() if key != "name"}
    if description["name"] == "mlp":
        return Mlp(**options, channels=channels, side=side, classes=classes)
    if description["name"] == "small_cnn":
        return SmallCnn(**options, channels=channels, side=side, classes=classes)
    if description["name"] == "resnet":
        return Resnet(**options, channels=channels, classes=classes)
    raise ValueError(f"the model {description['name']} is not written in PyTorch")
