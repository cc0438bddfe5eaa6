# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lesson 17: AdamW over all tensors of a model in one launch.

Pointers that are loaded from memory, work cut into pieces of one size, and what the
compiler has to be told about addresses that it does not see.

    python tutorials/17_fused_optimiser.py [--quick]
"""

import lesson
import numpy as np

import tilewright as tw
import tilewright.language as tl

# AdamW keeps two numbers for each parameter, running means of the gradient g and of its
# square, and in step s does
#
#   m = beta1 m + (1 - beta1) g          v = beta2 v + (1 - beta2) g^2
#   p = p - rate * decay * p - rate * (m / (1 - beta1^s)) / (sqrt(v / (1 - beta2^s)) + eps)
#
# Operation by operation that is a dozen kernels, each of which goes through memory. In one
# kernel it is four reads and three writes for each parameter, and hardly any arithmetic.
#
# A model has hundreds of tensors, most of them small: biases and norms of a few thousand
# elements. A launch for each of them takes longer to start than to run. So one launch does all.
# What it needs to know is in two tables:
#
#   tensors   for each tensor the addresses of p, g, m and v, and how many elements they have
#   pieces    for each program which tensor is its, and which piece of it
#
# All pieces have BLOCK elements, so programs take equally long, however uneven the tensors are.
FIELDS = tl.constexpr(5)


@tw.jit
def load_pointer(entry):
    """An address from a table, as a pointer to float32."""
    # A number becomes a pointer by a cast. What it points to the compiler cannot know: of
    # arguments it sees that they start at a multiple of 16 bytes, of this it would have to assume
    # nothing, and would load the elements one by one. The host promises what it has checked.
    return tl.multiple_of(tl.load(entry).to(tl.pointer_type(tl.float32)), 16)


@tw.jit
def load_piece(ptrs, inside, MASKED: tl.constexpr):
    # Everything is read once and not again before the next step: `evict_first` says that it need
    # not push other things out of the cache.
    if MASKED:
        piece = tl.load(ptrs, mask=inside, other=0.0, eviction_policy="evict_first")
    else:
        piece = tl.load(ptrs, eviction_policy="evict_first")
    return piece


@tw.jit
def store_piece(ptrs, piece, inside, MASKED: tl.constexpr):
    if MASKED:
        tl.store(ptrs, piece, mask=inside)
    else:
        tl.store(ptrs, piece)


@tw.jit
def update_piece(entry, offsets, inside, rate, beta1, beta2, eps, decay, mean_scale, square_scale, MASKED: tl.constexpr):
    p_ptrs = load_pointer(entry) + offsets
    g_ptrs = load_pointer(entry + 1) + offsets
    m_ptrs = load_pointer(entry + 2) + offsets
    v_ptrs = load_pointer(entry + 3) + offsets
    # All loads first, then the arithmetic: the memory has four requests of each thread to work on.
    g = load_piece(g_ptrs, inside, MASKED)
    p = load_piece(p_ptrs, inside, MASKED)
    m = load_piece(m_ptrs, inside, MASKED)
    v = load_piece(v_ptrs, inside, MASKED)
    m = beta1 * m + (1.0 - beta1) * g
    v = beta2 * v + (1.0 - beta2) * g * g
    update = m * mean_scale / (tl.sqrt(v * square_scale) + eps)
    p = p - rate * (update + decay * p)
    store_piece(p_ptrs, p, inside, MASKED)
    store_piece(m_ptrs, m, inside, MASKED)
    store_piece(v_ptrs, v, inside, MASKED)


@tw.jit
def adamw_kernel(
    tensors_ptr, pieces_ptr, rate, beta1, beta2, eps, decay, mean_scale, square_scale, arrays, BLOCK: tl.constexpr
):
    piece = pieces_ptr + tl.program_id(0) * 2
    entry = tensors_ptr + tl.load(piece) * FIELDS
    first = tl.load(piece + 1) * BLOCK
    offsets = first + tl.arange(0, BLOCK)
    size = tl.load(entry + 4)
    # A mask `offsets < size` ends somewhere, and of a size from memory the compiler cannot know that
    # it is not in the middle of four elements which would be loaded as one vector. So it would load
    # each by itself, in all pieces. Only the last piece of a tensor needs the mask: the others
    # take a path of their own, in whole vectors. All threads of a program go the same way.
    if first + BLOCK <= size:
        update_piece(entry, offsets, offsets < size, rate, beta1, beta2, eps, decay, mean_scale, square_scale, False)
    else:
        update_piece(entry, offsets, offsets < size, rate, beta1, beta2, eps, decay, mean_scale, square_scale, True)


# The powers beta^s are computed on the host, once for a step, and passed as floats. The number of
# the step itself would be an integer, and as in lesson 4 one of its values is 1 and every 16th
# a multiple of 16: three kernels for one.


def address_of(array) -> int:
    """Of the first element; it must be a multiple of 16 bytes, which the kernel takes for granted."""
    address = array.data_ptr() if lesson.ON_GPU else array.ctypes.data
    if address % 16:
        raise ValueError(f"the array begins at {address:#x}, which is no multiple of 16 bytes")
    return address


class AdamW:
    """For lists of contiguous float32 arrays; gradients are read from where they are now in each step."""

    def __init__(self, parameters, gradients, rate=1e-3, betas=(0.9, 0.999), eps=1e-8, decay=1e-2, block=2048):
        self.rate, self.betas, self.eps, self.decay, self.block = rate, betas, eps, decay, block
        self.steps = 0
        self.means, self.squares = ([lesson.zeros(tuple(p.shape), "float32") for p in parameters] for _ in range(2))
        self.arrays = list(zip(parameters, gradients, self.means, self.squares))
        sizes = [int(np.prod(p.shape)) for p in parameters]
        # The tables are made once: nothing is sent to the GPU in a step but the arguments.
        tensors = [(*map(address_of, four), size) for four, size in zip(self.arrays, sizes)]
        pieces = [(tensor, piece) for tensor, size in enumerate(sizes) for piece in range(tw.cdiv(size, block))]
        self.tensors = lesson.to_device(np.array(tensors, np.int64))
        self.pieces = lesson.to_device(np.array(pieces, np.int32))
        # The interpreter lets a kernel touch the arrays that it is given. These are only in a table, so
        # they are passed besides; a GPU needs nothing of that.
        self.known = () if lesson.ON_GPU else tuple(array for four in self.arrays for array in four)

    def step(self):
        self.steps += 1
        beta1, beta2 = self.betas
        adamw_kernel[(self.pieces.shape[0],)](
            self.tensors,
            self.pieces,
            self.rate,
            beta1,
            beta2,
            self.eps,
            self.decay,
            1 / (1 - beta1**self.steps),
            1 / (1 - beta2**self.steps),
            self.known,
            BLOCK=self.block,
            num_warps=8,
        )


def reference(parameters, gradients, steps: int, rate=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, decay=1e-2):
    results = []
    for p, g in zip(parameters, gradients):
        p, g, m, v = p.astype(np.float64), g.astype(np.float64), 0.0, 0.0
        for step in range(1, steps + 1):
            m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
            update = m / (1 - beta1**step) / (np.sqrt(v / (1 - beta2**step)) + eps)
            p = p - rate * decay * p - rate * update
        results.append(p)
    return results


def check(shapes: list[tuple], steps: int, block: int):
    rng = np.random.default_rng(0)
    parameters, gradients = ([rng.standard_normal(shape).astype(np.float32) for shape in shapes] for _ in range(2))
    expected = reference(parameters, gradients, steps)
    device_parameters = [lesson.to_device(p) for p in parameters]
    optimiser = AdamW(device_parameters, [lesson.to_device(g) for g in gradients], block=block)
    for _ in range(steps):
        optimiser.step()
    for shape, p, right in zip(shapes, device_parameters, expected):
        lesson.check(f"{steps} steps of {shape}", p, right, tolerance=5e-6)


def sweep():
    """Bandwidth of a step over 2^25 parameters against the size of a tensor, beside torch's two forms."""
    import torch

    total = 2**25
    sizes = [2**i for i in range(12, 25, 2)]
    speeds = {name: [] for name in ("Tilewright", "torch fused", "torch foreach")}
    for size in sizes:
        parameters = [torch.randn(size, device="cuda", requires_grad=True) for _ in range(total // size)]
        for p in parameters:
            p.grad = torch.randn_like(p)
        ours = AdamW([p.detach() for p in parameters], [p.grad for p in parameters])
        measured = {
            "Tilewright": ours.step,
            "torch fused": torch.optim.AdamW(parameters, fused=True).step,
            "torch foreach": torch.optim.AdamW(parameters, foreach=True).step,
        }
        for name, function in measured.items():
            speeds[name].append(lesson.gigabytes_per_second(function, 7 * 4 * total))
    lesson.show("fused AdamW", "elements", sizes, speeds)


# What to try: parameters in bfloat16 beside a copy in float32, both written here (`tl.pointer_type` of
# another type, and a table with one more column); m and v in 8 bits with a scale per piece, which
# halves what is moved; the norm of all gradients first, for clipping, by the same tables.

if __name__ == "__main__":
    options = lesson.arguments(__doc__.splitlines()[0])
    check([(7, 5), (1,), (300,), (2, 64)], steps=3, block=128)
    if lesson.ON_GPU:
        check([(1000, 513), (513,), (4, 4)], steps=20, block=2048)
    if lesson.ON_GPU and not options.quick:
        sweep()
