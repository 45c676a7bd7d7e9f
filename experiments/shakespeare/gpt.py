# SPDX-License-Identifier: Apache-2.0
"""A language model of nanoGPT's size and form: 10.7 million parameters with the defaults."""
from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.queries_keys_values, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.dropout(self.attention(self.before_attention(x)))
        return x + self.dropout(self.mlp(self.before_mlp(x)))

    def attention(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        by_head = (batch, length, self.heads, width // self.heads)
        queries, keys, values = (part.view(by_head).transpose(1, 2)
                                 for part in self.queries_keys_values(x).split(width, dim=2))
        scores = queries @ keys.transpose(2, 3) / (width // self.heads) ** 0.5
        later = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        weights = self.dropout(F.softmax(scores.masked_fill(later, float("-inf")), dim=3))
        return self.projection((weights @ values).transpose(1, 2).reshape(batch, length, width))


class Gpt(nn.Module):
    """A decoder-only transformer whose output layer shares the weights of the token embedding."""

    def __init__(self, data, layers: int = 6, heads: int = 6, width: int = 384, dropout: float = 0.2) -> None:
        super().__init__()
        self.tokens = nn.Embedding(data.classes, width)
        self.positions = nn.Embedding(data.sequence_length, width)
        self.blocks = nn.Sequential(*(Block(width, heads, dropout) for _ in range(layers)))
        self.last_norm = nn.LayerNorm(width)
        self.output = nn.Linear(width, data.classes, bias=False)
        self.output.weight = self.tokens.weight
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.02 / (2 * layers) ** 0.5 if "projection" in name else 0.02)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        return self.output(self.last_norm(self.blocks(x)))
