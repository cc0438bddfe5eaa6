# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole training steps: model, loss, gradients and optimiser; parameters are compared after some steps."""

import torch
import torch.nn.functional as F
from torch import nn

from .layers import Transformer
from .pointwise import integers, values
from .registry import Work, program

LOOSE = (5e-3, 5e-3)


class Steps:
    """Trains a fresh copy of a model, and returns losses and parameters."""

    def __init__(self, make, loss, data, optimiser, steps=3, compile_optimiser=True, dtype=None):
        self.make, self.loss, self.data, self.optimiser = make, loss, data, optimiser
        self.steps, self.compile_optimiser, self.dtype = steps, compile_optimiser, dtype

    def run(self, transform):
        torch.manual_seed(0)
        model = self.make()
        optimiser = self.optimiser(model.parameters())

        def forward(*inputs):
            if self.dtype is None:
                return self.loss(model, *inputs)
            with torch.autocast(inputs[0].device.type, dtype=self.dtype):
                return self.loss(model, *inputs)

        forward = transform(forward)
        step = transform(optimiser.step) if self.compile_optimiser else optimiser.step
        losses = []
        for _ in range(self.steps):
            optimiser.zero_grad()
            loss = forward(*self.data)
            loss.backward()
            step()
            losses.append(loss.detach().clone())
        self.again = lambda: (optimiser.zero_grad(), forward(*self.data).backward(), step())
        return losses, [p.detach().clone() for p in model.parameters()]


def regression(device):
    return lambda: nn.Sequential(nn.Linear(24, 48), nn.GELU(), nn.LayerNorm(48), nn.Linear(48, 3)).to(device)


def squared(model, x, y):
    return F.mse_loss(model(x), y)


OPTIMISERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True),
    "adam": lambda p: torch.optim.Adam(p, lr=1e-3),
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-3, weight_decay=0.1),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=1e-3),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=1e-2),
    "nadam": lambda p: torch.optim.NAdam(p, lr=1e-3),
}

for _name, _optimiser in OPTIMISERS.items():

    @program("training", _name, tolerance=LOOSE)
    def optimised(device, optimiser=_optimiser):
        return Work(Steps(regression(device), squared, (values(device, 32, 24), values(device, 32, 3, seed=1)), optimiser), [])


@program("training", gpu=True, tolerance=LOOSE, timed=True)
def small_transformer(device):
    data = (integers(device, 8, 129, dtype=torch.int64, low=0, high=512),)
    make = lambda: Transformer(width=128, heads=4, layers=4, length=128).to(device)  # noqa: E731
    return Work(Steps(make, lambda m, x: m(x), data, OPTIMISERS["adamw"]), [])


@program("training", gpu=True, tolerance=(5e-2, 5e-2), timed=True)
def small_transformer_mixed_precision(device):
    data = (integers(device, 8, 257, dtype=torch.int64, low=0, high=2048),)
    make = lambda: Transformer(words=2048, width=256, heads=8, layers=6, length=256).to(device)  # noqa: E731
    return Work(Steps(make, lambda m, x: m(x), data, OPTIMISERS["adamw"], dtype=torch.bfloat16), [])


@program("training", tolerance=LOOSE)
def transformer_of_one_layer(device):
    data = (integers(device, 2, 17, dtype=torch.int64, low=0, high=64),)
    make = lambda: Transformer(words=64, width=32, heads=2, layers=1, length=16).to(device)  # noqa: E731
    return Work(Steps(make, lambda m, x: m(x), data, OPTIMISERS["sgd"], compile_optimiser=False), [])


@program("training", tolerance=LOOSE)
def image_classifier(device):
    def make():
        return nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(4 * 25, 10)
        ).to(device)

    data = (values(device, 8, 1, 12, 12), integers(device, 8, dtype=torch.int64, low=0, high=10))
    return Work(Steps(make, lambda m, x, y: F.cross_entropy(m(x), y), data, OPTIMISERS["sgd"]), [])


@program("training", tolerance=LOOSE)
def gradients_clipped(device):
    def make():
        return regression(device)()

    class Clipping(torch.optim.SGD):
        def step(self, closure=None):
            torch.nn.utils.clip_grad_norm_([p for g in self.param_groups for p in g["params"]], 0.1)
            return super().step(closure)

    return Work(
        Steps(
            make,
            squared,
            (values(device, 32, 24), values(device, 32, 3, seed=1)),
            lambda p: Clipping(p, lr=0.5),
            compile_optimiser=False,
        ),
        [],
    )


@program("training", tolerance=LOOSE)
def two_heads(device):
    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.first, self.second = nn.Linear(24, 32), nn.Linear(32, 5), nn.Linear(32, 1)

        def forward(self, x):
            y = F.silu(self.body(x))
            return self.first(y), self.second(y)

    def loss(model, x, labels, y):
        logits, value = model(x)
        return F.cross_entropy(logits, labels) + (value.squeeze(-1) - y).abs().mean()

    data = (values(device, 16, 24), integers(device, 16, dtype=torch.int64, low=0, high=5), values(device, 16, seed=2))
    return Work(Steps(lambda: Heads().to(device), loss, data, OPTIMISERS["adam"]), [])


@program("training", tolerance=LOOSE)
def low_rank_updates(device):
    class Low(nn.Module):
        def __init__(self):
            super().__init__()
            self.base = nn.Linear(24, 3).requires_grad_(False)
            self.down, self.up = nn.Parameter(torch.randn(24, 4) / 5), nn.Parameter(torch.zeros(4, 3))

        def forward(self, x):
            return self.base(x) + x @ self.down @ self.up

    return Work(
        Steps(
            lambda: Low().to(device),
            squared,
            (values(device, 32, 24), values(device, 32, 3, seed=1)),
            lambda p: torch.optim.SGD([q for q in p if q.requires_grad], lr=0.1),
        ),
        [],
    )
