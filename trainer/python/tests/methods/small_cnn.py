# SPDX-License-Identifier: Apache-2.0
"""The twin of the model small_cnn in C++."""
import torch
from torch import nn


class SmallCnn(nn.Module):
    """Two 3x3 convolutions with max-pooling, two linear layers."""

    def __init__(self, data, width: int = 8, hidden: int = 512):
        super().__init__()
        self.conv1 = nn.Conv2d(data.channels, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.fc1 = nn.Linear(2 * width * (data.height // 4) * (data.width // 4), hidden)
        self.fc2 = nn.Linear(hidden, data.classes)

    def forward(self, images):
        x = torch.relu(torch.max_pool2d(self.conv1(images), 2))
        x = torch.relu(torch.max_pool2d(self.conv2(x), 2))
        return self.fc2(torch.relu(self.fc1(x.flatten(1))))
