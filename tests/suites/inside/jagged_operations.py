# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FBGEMM's operations on jagged tensors, which tests compare with and which are in C++ there.

Rows of different lengths are one tensor of `values`, and `offsets` says where each begins. Importing this defines those
that are missing.
"""

import torch

LIBRARY = torch.library.Library("fbgemm", "FRAGMENT")


def operation(schema):
    def add(function):
        name = schema[: schema.index("(")]
        if not hasattr(torch.ops.fbgemm, name):
            LIBRARY.define(schema)
            LIBRARY.impl(name, function, "CompositeImplicitAutograd")
        return function

    return add


def places(offsets, total):
    """Row and column of each value."""
    rows = torch.repeat_interleave(torch.arange(len(offsets) - 1, device=offsets.device), offsets.diff())
    return rows[:total], (torch.arange(len(rows), device=offsets.device) - offsets[rows])[:total]


@operation("asynchronous_complete_cumsum(Tensor lengths) -> Tensor")
def complete_sum(lengths):
    return torch.cat([lengths.new_zeros(1), lengths.cumsum(0).to(lengths.dtype)])


@operation("jagged_to_padded_dense(Tensor values, Tensor[] offsets, SymInt[] max_lengths, float padding_value=0) -> Tensor")
def to_dense(values, offsets, max_lengths, padding_value=0.0):
    rows, columns = places(offsets[0], len(values))
    dense = values.new_full((len(offsets[0]) - 1, max_lengths[0], *values.shape[1:]), padding_value)
    fits = columns < max_lengths[0]
    return dense.index_put((rows[fits], columns[fits]), values[: len(rows)][fits])


@operation("dense_to_jagged(Tensor dense, Tensor[] x_offsets, SymInt? total_L=None) -> (Tensor, Tensor[])")
def to_jagged(dense, x_offsets, total_L=None):
    rows, columns = places(x_offsets[0], total_L)
    values = dense[rows, columns.clamp(max=dense.shape[1] - 1)]
    fits = (columns < dense.shape[1]).reshape(-1, *(1,) * (values.dim() - 1))
    return torch.where(fits, values, 0), x_offsets


@operation("jagged_index_select(Tensor values, Tensor lengths, Tensor indices, SymInt? n=None) -> Tensor[]")
def index_select(values, lengths, indices, n=None):
    ends = lengths.cumsum(0)
    parts = [values[ends[index] - lengths[index] : ends[index]] for index in indices.tolist()]
    return [torch.cat(parts) if parts else values[:0], lengths[indices]]


@operation(
    "pack_segments_v2(Tensor t_in, Tensor lengths, SymInt max_length, bool pad_minf=False, "
    "bool return_presence_mask=False) -> (Tensor, Tensor)"
)
def pack_segments(t_in, lengths, max_length, pad_minf=False, return_presence_mask=False):
    padding = float("-inf") if pad_minf else 0.0
    mask = torch.arange(max_length, device=t_in.device) < lengths[:, None]
    return to_dense(t_in, [complete_sum(lengths)], [max_length], padding), mask


@operation("jagged_dense_elementwise_add_jagged_output(Tensor x_values, Tensor[] x_offsets, Tensor y) -> (Tensor, Tensor[])")
def add_dense(x_values, x_offsets, y):
    return x_values + to_jagged(y, x_offsets)[0], x_offsets


@operation("jagged_dense_bmm(Tensor x_values, Tensor x_offsets, Tensor y, SymInt max_L) -> (Tensor, Tensor)")
def dense_product(x_values, x_offsets, y, max_L):
    return to_jagged(to_dense(x_values, [x_offsets], [max_L]) @ y, [x_offsets])[0], x_offsets


@operation("jagged_jagged_bmm(Tensor x_values, Tensor y_values, Tensor x_offsets, SymInt max_L) -> Tensor")
def jagged_product(x_values, y_values, x_offsets, max_L):
    x, y = (to_dense(values, [x_offsets], [max_L]) for values in (x_values, y_values))
    return x.transpose(1, 2) @ y


@operation("jagged_softmax(Tensor values, Tensor x_offsets, SymInt max_L) -> (Tensor, Tensor)")
def softmax(values, x_offsets, max_L):
    dense = to_dense(values, [x_offsets], [max_L], float("-inf"))
    return to_jagged(dense.softmax(1), [x_offsets])[0], x_offsets
