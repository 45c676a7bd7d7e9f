# SPDX-License-Identifier: Apache-2.0
"""Linear models with a frozen part, a tuple as output, and a mode of their own."""
from torch import nn


class Plain(nn.Module):
    def __init__(self, data):
        super().__init__()
        self.normalisation = nn.BatchNorm1d(data.channels * data.height * data.width)
        self.layer = nn.Linear(data.channels * data.height * data.width, data.classes)

    def forward(self, inputs):
        return self.layer(self.normalisation(inputs.flatten(1)))


class Frozen(Plain):
    def __init__(self, data):
        super().__init__(data)
        self.normalisation.requires_grad_(False)


class Pair(Plain):
    def forward(self, inputs):
        return super().forward(inputs), None


class KeepsStatistics(Plain):
    def train(self, mode=True):
        super().train(mode)
        self.normalisation.eval()
        return self
