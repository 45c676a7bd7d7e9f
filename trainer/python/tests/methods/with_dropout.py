# SPDX-License-Identifier: Apache-2.0
"""A linear model that drops inputs."""
from torch import nn


class WithDropout(nn.Module):
    def __init__(self, data):
        super().__init__()
        self.layer = nn.Linear(data.channels * data.height * data.width, data.classes)

    def forward(self, inputs):
        return self.layer(nn.functional.dropout(inputs.flatten(1), 0.5, self.training))
