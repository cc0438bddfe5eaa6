# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gathers, scatters, views, padding, and images."""

import torch
import torch.nn.functional as F

from .pointwise import integers, values
from .registry import Work, program


@program("indexing")
def gathers(device):
    def function(x, rows, columns):
        return [
            x[rows],
            x[:, columns],
            x[rows[:20], columns[:20]],
            torch.gather(x, 1, columns.expand(40, -1)),
            torch.index_select(x, 0, rows),
            torch.take_along_dim(x, rows[:, None] % 40, 0),
            x[rows - 40],
        ]

    return Work(
        function,
        [
            (
                values(device, 40, 50),
                integers(device, 40, dtype=torch.int64, low=0, high=40),
                integers(device, 33, dtype=torch.int64, low=0, high=50),
            )
        ],
    )


@program("indexing", tolerance=(1e-4, 1e-4))
def scatters(device):
    def function(x, rows, y):
        table = torch.zeros_like(x)
        return [
            table.scatter_add(0, rows, y),
            table.index_add(0, rows[:, 0], y),
            table.scatter_reduce(0, rows, y, "amax"),
            table.index_put((rows[:, 0],), y, accumulate=True),
            table.scatter(1, rows % 7, 3.0),
        ]

    return Work(
        function,
        [(values(device, 40, 50), integers(device, 30, 50, dtype=torch.int64, low=0, high=40), values(device, 30, 50, seed=1))],
    )


@program("indexing", train=True)
def embedding(device):
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Embedding(100, 48), torch.nn.Linear(48, 8)).to(device)
    return Work(module, [(integers(device, 16, 12, dtype=torch.int64, low=0, high=100),)])


@program("indexing")
def slices_written(device):
    def function(x, y):
        z = x.clone()
        z[1:10, ::2] = y[1:10, :65]
        z[..., -1] = 0
        z[z > 2] = -1
        return z, torch.slice_scatter(x, y[:5], 0, 3, 8), torch.select_scatter(x, y[0], 0, 7)

    return Work(function, [(values(device), values(device, seed=1))])


@program("indexing")
def joined(device):
    def function(x, y):
        return [
            torch.cat([x, y * 2, x[:, :3]], 1),
            torch.stack([x, y, x + y], 1),
            torch.cat([x.t(), y.t()]).relu(),
            torch.hstack([x, y]),
            x.repeat(2, 3),
            x.repeat_interleave(3, 0),
            x.expand(4, *x.shape).sum(0),
        ]

    return Work(function, [(values(device), values(device, seed=1))])


@program("indexing")
def moved(device):
    def function(x):
        return [
            x.roll(3, 0),
            x.roll((-2, 5), (0, 1)),
            x.flip(1),
            x.rot90(),
            torch.tril(x),
            torch.triu(x, 2),
            torch.diagonal(x) * 2,
            x.unfold(1, 8, 3) + 1,
            torch.chunk(x, 3, 1)[1] * 2,
            x.diag_embed()[..., 0],
        ]

    return Work(function, [(values(device),)])


@program("indexing")
def padded(device):
    def function(x):
        return [
            F.pad(x, (3, 5), value=1.5),
            F.pad(x, (2, 2, 1, 4)),
            F.pad(x[None], (4, 3, 2, 1), mode="reflect"),
            F.pad(x[None], (4, 3, 2, 1), mode="replicate"),
            F.pad(x[None], (1, 1, 1, 1), mode="circular"),
            F.pad(x, (-2, -3)),
        ]

    return Work(function, [(values(device),)])


@program("indexing")
def one_hot_and_lookup(device):
    def function(labels, edges, x):
        return [
            F.one_hot(labels, 11),
            torch.bucketize(x, edges),
            torch.searchsorted(edges, x, right=True),
            (labels[:, None] == torch.arange(11, device=labels.device)).float(),
        ]

    edges = torch.linspace(-2, 2, 17, device=device)
    return Work(function, [(integers(device, 64, dtype=torch.int64, low=0, high=11), edges, values(device))])


@program("indexing", train=True, tolerance=(1e-4, 1e-4))
def resized_images(device):
    def function(x):
        return [
            F.interpolate(x, scale_factor=2, mode="nearest"),
            F.interpolate(x, size=(20, 31), mode="bilinear"),
            F.interpolate(x, scale_factor=0.5, mode="area"),
            F.pixel_shuffle(x, 2),
        ]

    return Work(function, [(values(device, 2, 4, 12, 18).requires_grad_(),)])


@program("indexing", train=True)
def pooled_images(device):
    def function(x):
        return [F.max_pool2d(x, 2), F.avg_pool2d(x, 3, 2, 1), F.adaptive_avg_pool2d(x, (3, 5)), F.max_pool2d(x, 3, 1, 1)]

    return Work(function, [(values(device, 2, 4, 15, 21).requires_grad_(),)])


@program("indexing", gpu=True, train=True, tolerance=(1e-4, 1e-4))
def sampled_grid(device):
    def function(x, grid):
        return F.grid_sample(x, grid, align_corners=False)

    return Work(function, [(values(device, 2, 3, 16, 16).requires_grad_(), values(device, 2, 9, 9, 2, low=-1, high=1))])


@program("indexing")
def views_of_views(device):
    def function(x):
        y = x.view(37, 3, 43).transpose(0, 2)
        z = y.reshape(43, -1)[3:20]
        return z.contiguous().view(-1, 3) * 2, y.flatten(1).sum(1), torch.as_strided(x, (20, 30), (100, 2), 5) + 1

    return Work(function, [(values(device),)])


@program("indexing", train=True)
def rotary_embedding(device):
    def function(q, k, angles):
        def rotate(x):
            first, second = x.chunk(2, -1)
            return torch.cat((-second, first), -1)

        cosine, sine = angles.cos(), angles.sin()
        return q * cosine + rotate(q) * sine, k * cosine + rotate(k) * sine

    return Work(
        function,
        [
            (
                values(device, 2, 4, 33, 64).requires_grad_(),
                values(device, 2, 4, 33, 64, seed=1).requires_grad_(),
                values(device, 33, 64, seed=2),
            )
        ],
    )
