# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values for the arguments of a guessed signature: a launch that may stay inside of its arrays.

Arrays are far larger than what sizes ask for, and have as much memory before their first element. Strides of one
array follow one another as those of a contiguous tensor do, and extents are small. Whether an access leaves its array
all the same is for the interpreter to say.
"""

import re
import zlib
from dataclasses import dataclass

import numpy as np
from harness.element_types import NUMPY_TYPES, SIGNATURE_NAMES
from tilewright.tools.tensor_descriptor import TensorDescriptor

TYPES = {short: np.dtype(NUMPY_TYPES[name]) for name, short in SIGNATURE_NAMES.items()}
_ZERO = re.compile(r"^off|offset$|^start|_start$|_begin$|_idx$|idx$|^pad|rank|^pid|_id$|seed|^is_|layer")
_FEW = re.compile(
    r"^(b|h|z|g|hq|hk|hv|hkv|bs|nh|nb|b_?dim)$|batch|n?_?heads?($|_num|s_)|num_(head|group|expert|split|chunk|stage)|group$|"
    r"groups$|topk|top_k|n_?expert|splits?$|repeat|rep$|ratio|step"
)
_BLOCK = re.compile(r"group_?size|block|chunk_?size|page_?size|tile")
_BOUNDS = re.compile(r"cu_|indptr|start_loc|offsets?$|seqlens_|_seqlens?$|split_offsets|cumsum|starts?$|begins?$")
_LENGTHS = re.compile(r"lens?$|lengths?$|seq_?lens?|sizes?$|num_")
_POSITIVE = re.compile(r"scale|var|rstd|sum|amax|absmax|norm|^s$|_s$|lse|max")
_NEGATIVE = re.compile(r"^g$|^gk$|^gv$|decay|^dt|^a_log|cumsum|^w$|^log")
_INDICES = re.compile(
    r"idx|indices|index|_ids?$|^ids?$|table|slot|mapping|expert|req_|b_loc|label|target|token|count|lock|perm|sorted|position|"
    r"segment|num_|block"
)


REPEAT = 65521


@dataclass(frozen=True)
class Attempt:
    """How large things are in one guess of a launch."""

    size: int  # extents of tensors
    few: int = 2  # heads, groups, batches
    elements: int = 1 << 18
    unit_strides: bool = True  # the last stride of each array is 1
    positive: bool = False  # floats lie in (0.1, 1)


# In this order; what the interpreter refuses is tried again with the next one.
ATTEMPTS = (
    Attempt(192),
    Attempt(77, few=3),
    Attempt(96, elements=1 << 20),
    Attempt(64, few=1, elements=1 << 19, positive=True),
    Attempt(33, few=1, elements=1 << 20, unit_strides=False),
    Attempt(16, few=1, elements=1 << 21),
)


def plain_name(name) -> str:
    return re.sub(r"_?(ptrs?|pointers?)$", "", name.lower())


def array_of(name) -> str:
    """What names the array in a stride's name: `stride_q` of `stride_qm`, `stride_x` of `stride_x_batch`."""
    return re.sub(
        r"_?([a-z0-9]|_(batch|heads?|seq(len)?|dim|rows?|cols?|tokens?|split|block|expert|page|slot|bs|nh|hd))$", "", name
    )


def strides_of(names, attempt) -> dict:
    """A value for each parameter that is a stride; those that follow one another belong to one array."""
    groups, last = [], -2
    for position, name in enumerate(names):
        if "stride" not in name.lower():
            continue
        stem = array_of(name.lower())
        if position == last + 1 and groups and stem == groups[-1][0]:
            groups[-1][1].append(name)
        else:
            groups.append((stem, [name]))
        last = position
    values = {}
    row = -(-max(attempt.size, 128) // 64) * 64
    for _, members in groups:
        alone = len(members) == 1
        step = 1 if attempt.unit_strides and not alone else row
        for name in reversed(members):
            values[name] = step
            step = row if step == 1 else step * (row if step == row else attempt.few + 1)
    return values


class Arguments:
    """The arguments of one attempt at a guess: `bound` has a value for every parameter."""

    def __init__(self, function, guess, facts, attempt):
        self.attempt, self.facts = attempt, facts
        self.random = np.random.default_rng(zlib.crc32(function.__name__.encode()))
        strides = strides_of([p.name for p in function.params], attempt)
        self.bound = {}
        for parameter in function.params:
            name = parameter.name
            if name in guess.signature:
                self.bound[name] = self._value(name, guess.signature[name], strides)
            elif name in strides and type(guess.constants.get(name)) is int and guess.constants[name] != 1:
                self.bound[name] = strides[name]
            else:
                self.bound[name] = guess.constants.get(name)

    def _value(self, name, kind, strides):
        if kind.startswith("tensordesc"):
            element, block = re.fullmatch(r"tensordesc<(\w+)\[([\d,]+)\].*>", kind).groups()
            block = [int(extent) for extent in block.split(",")]
            rows = -(-self.attempt.size // 16) * 16
            shape = [self.attempt.few] * (len(block) - 2) + [rows] * min(len(block), 2)
            count = int(np.prod(shape))
            return TensorDescriptor.from_tensor(self._data(name, TYPES[element], count).reshape(shape), block)
        if kind.startswith("*"):
            return self._array(plain_name(name), self.facts.words.get(name, set()), TYPES[kind.lstrip("*k")])
        if kind.startswith(("fp", "bf")):
            return 1e-5 if "eps" in name.lower() else 0.5
        if kind == "i1":
            return True
        return strides[name] if name in strides else self._integer(name.lower())

    def _integer(self, name) -> int:
        if _ZERO.search(name):
            return 0
        if _FEW.search(name):
            return self.attempt.few
        return 32 if _BLOCK.search(name) else self.attempt.size

    def _array(self, name, words, dtype):
        """The second half of a memory: an address a little before the array is no mistake of the guess that matters."""
        count = self.attempt.elements
        is_index = dtype.kind in "iu" and dtype.itemsize >= 4 and (words & {"index", "bound"} or _INDICES.search(name))
        memory = np.empty(2 * count, dtype)
        for half in (memory[:count], memory[count:]):
            # Random numbers take their time: those of long arrays repeat, at a distance that is no stride.
            half[...] = self._indices(name, dtype, count) if is_index else np.resize(self._data(name, dtype, REPEAT), count)
        return memory[count:]

    def _indices(self, name, dtype, count):
        if _BOUNDS.search(name):
            return (np.minimum(np.arange(count), 16) * self.attempt.size).astype(dtype)
        if _LENGTHS.search(name):
            return np.full(count, self.attempt.size, dtype)
        return self.random.integers(0, 4, count).astype(dtype)

    def _data(self, name, dtype, count):
        """Small numbers: sums and products of many of them stay finite."""
        random = self.random
        if dtype == np.bool_:
            return random.random(count) < 0.7
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            return random.integers(info.min, info.max, count, dtype=dtype, endpoint=True)
        if self.attempt.positive or _POSITIVE.search(name):
            values = random.uniform(0.1, 1, count)
        elif _NEGATIVE.search(name):
            values = -random.uniform(0, 0.1, count)
        else:
            values = random.standard_normal(count) * 0.5
        return values.astype(dtype)
