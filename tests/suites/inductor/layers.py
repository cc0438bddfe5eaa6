# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules as models use them, forward and backward."""

import torch
import torch.nn.functional as F
from torch import nn

from .pointwise import integers, values
from .registry import Work, program

LOOSE = (1e-3, 1e-3)


class Attention(nn.Module):
    """Self-attention, by the library's product or written out."""

    def __init__(self, width, heads, written_out=False):
        super().__init__()
        self.heads, self.written_out = heads, written_out
        self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.project(x).chunk(3, -1))
        if self.written_out:
            scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
            mask = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
            y = F.softmax(scores.masked_fill(~mask, float("-inf")), -1) @ v
        else:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """One layer of a transformer."""

    def __init__(self, width, heads, written_out=False):
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, written_out)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.first(x))
        return x + self.feed(self.second(x))


class Transformer(nn.Module):
    """A language model of a few layers; returns the loss."""

    def __init__(self, words=512, width=64, heads=4, layers=2, length=64):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        inputs, targets = tokens[:, :-1], tokens[:, 1:]
        x = self.words(inputs) + self.places(torch.arange(inputs.shape[1], device=tokens.device))
        logits = self.head(self.norm(self.blocks(x)))
        return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def module_work(device, module, *inputs):
    return Work(module.to(device), [tuple(x.requires_grad_() if x.is_floating_point() else x for x in inputs)])


@program("layers", train=True, tolerance=LOOSE, timed=True)
def perceptron(device):
    torch.manual_seed(0)
    return module_work(
        device,
        nn.Sequential(nn.Linear(40, 80), nn.ReLU(), nn.Linear(80, 80), nn.Tanh(), nn.Linear(80, 10)),
        values(device, 32, 40),
    )


@program("layers", train=True, tolerance=LOOSE)
def convolutions_with_norms(device):
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, stride=2),
        nn.BatchNorm2d(16),
        nn.SiLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, 5),
    )
    return module_work(device, module, values(device, 4, 3, 20, 20))


@program("layers", train=True, tolerance=LOOSE)
def attention_of_library(device):
    torch.manual_seed(0)
    return module_work(device, Attention(64, 4), values(device, 2, 33, 64))


@program("layers", train=True, tolerance=LOOSE)
def attention_written_out(device):
    torch.manual_seed(0)
    return module_work(device, Attention(64, 4, written_out=True), values(device, 2, 33, 64))


@program("layers", train=True, tolerance=LOOSE, timed=True)
def transformer_block(device):
    torch.manual_seed(0)
    return module_work(device, Block(64, 4), values(device, 2, 33, 64))


@program("layers", train=True, tolerance=LOOSE)
def transformer_loss(device):
    torch.manual_seed(0)
    return Work(Transformer().to(device), [(integers(device, 2, 33, dtype=torch.int64, low=0, high=512),)])


@program("layers", tolerance=LOOSE)
def encoder_of_library(device):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
    return Work(layer.to(device).train(), [(values(device, 2, 20, 64),)])


@program("layers", train=True, tolerance=LOOSE)
def gated_feed_forward(device):
    torch.manual_seed(0)

    class Gated(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate, self.up, self.down = (
                nn.Linear(64, 176, bias=False),
                nn.Linear(64, 176, bias=False),
                nn.Linear(176, 64, bias=False),
            )

        def forward(self, x):
            return self.down(F.silu(self.gate(x)) * self.up(x))

    return module_work(device, Gated(), values(device, 33, 64))


@program("layers", train=True, tolerance=LOOSE)
def recurrent_cells(device):
    torch.manual_seed(0)

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.gated = nn.LSTMCell(16, 24), nn.GRUCell(24, 12)

        def forward(self, x):
            h = c = x.new_zeros(x.shape[1], 24)
            g = x.new_zeros(x.shape[1], 12)
            for step in x:
                h, c = self.cell(step, (h, c))
                g = self.gated(h, g)
            return h, c, g

    return module_work(device, Recurrent(), values(device, 5, 8, 16))


@program("layers", train=True, tolerance=LOOSE)
def residual_block(device):
    torch.manual_seed(0)

    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(8, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8)
            )

        def forward(self, x):
            return F.relu(x + self.body(x)).mean((2, 3))

    return module_work(device, Residual(), values(device, 2, 8, 12, 12))


@program("layers", train=True, tolerance=LOOSE)
def mixture_of_experts(device):
    torch.manual_seed(0)

    class Mixture(nn.Module):
        def __init__(self):
            super().__init__()
            self.router = nn.Linear(32, 4)
            self.up, self.down = nn.Parameter(torch.randn(4, 32, 48) / 6), nn.Parameter(torch.randn(4, 48, 32) / 7)

        def forward(self, x):
            weights, chosen = F.softmax(self.router(x), -1).topk(2, -1)
            hidden = F.gelu(torch.einsum("td,edh->teh", x, self.up))
            out = torch.einsum("teh,ehd->ted", hidden, self.down)
            return (out.gather(1, chosen[..., None].expand(-1, -1, 32)) * weights[..., None]).sum(1)

    return module_work(device, Mixture(), values(device, 21, 32))


@program("layers", train=True, gpu=True, tolerance=(3e-2, 3e-2), timed=True)
def block_in_brain_float(device):
    torch.manual_seed(0)
    return Work(Block(256, 8).to(device).bfloat16(), [(values(device, 4, 256, 256, dtype=torch.bfloat16).requires_grad_(),)])


@program("layers", train=True, gpu=True, tolerance=(3e-2, 3e-2))
def block_with_autocast(device):
    torch.manual_seed(0)
    block = Block(128, 4).to(device)

    def function(x):
        with torch.autocast(x.device.type, dtype=torch.bfloat16):
            return block(x).float()

    return Work(function, [(values(device, 4, 65, 128).requires_grad_(),)])


@program("layers", train=True, tolerance=LOOSE)
def checkpointed_block(device):
    from torch.utils.checkpoint import checkpoint

    torch.manual_seed(0)
    block = Block(64, 4).to(device)
    return Work(lambda x: checkpoint(block, x, use_reentrant=False), [(values(device, 2, 17, 64).requires_grad_(),)])


@program("layers", train=True, tolerance=LOOSE)
def variational_encoder(device):
    torch.manual_seed(0)

    class Variational(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode, self.decode = nn.Linear(40, 16), nn.Linear(8, 40)

        def forward(self, x, noise):
            mean, spread = self.encode(x).chunk(2, -1)
            y = self.decode(mean + noise * torch.exp(spread / 2))
            return F.mse_loss(y, x) - 0.5 * (1 + spread - mean**2 - spread.exp()).mean()

    return module_work(device, Variational(), values(device, 16, 40), values(device, 16, 8, seed=1))
