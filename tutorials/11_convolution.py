# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lesson 11: a convolution as a matrix product that is never written down.

Tiles gathered by computed addresses, and masks that stand for the padding.

    python tutorials/11_convolution.py [--quick]
"""

import lesson
import numpy as np

import tilewright as tw
import tilewright.language as tl

# Images are batch x height x width x C, filters K x R x S x C. An output pixel (p, q) of
# filter k is the sum over r, s, c of
#
#   image[p * stride - pad + r, q * stride - pad + s, c] * filter[k, r, s, c]
#
# which is a matrix product: a row for each output pixel, with all R * S * C inputs it
# sees side by side, times a column for each filter. Written to memory, that matrix
# would repeat each input R * S times. So it is not: the kernel loads a tile of it
# from where its elements are in the image. With the channels innermost, a tile's
# row is contiguous: one tap (r, s), and BLOCK_C channels.


@tw.jit
def convolution_kernel(
    image_ptr,
    filter_ptr,
    bias_ptr,
    out_ptr,
    batch,
    height,
    width,
    C,
    K,
    out_height,
    out_width,
    stride,
    pad,
    R: tl.constexpr,
    S: tl.constexpr,
    RELU: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    pixels = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    filters = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    # From the number of a pixel to its image, row and column.
    q = pixels % out_width
    p = pixels // out_width % out_height
    image = pixels // (out_width * out_height)
    top = p * stride - pad
    left = q * stride - pad
    inside = pixels < batch * out_height * out_width
    channels = tl.arange(0, BLOCK_C)

    blocks_c = tl.cdiv(C, BLOCK_C)
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    # One loop over taps and blocks of channels, not two nested ones: the pipeline of
    # loads then runs through all of them.
    for step in range(0, R * S * blocks_c):
        tap = step // blocks_c
        c = step % blocks_c * BLOCK_C + channels
        y = top + tap // S
        x = left + tap % S
        # A tap beyond the border reads nothing: zero is the padding.
        seen = inside & (y >= 0) & (y < height) & (x >= 0) & (x < width)
        address = ((image * height + y) * width + x) * C
        a = tl.load(image_ptr + address[:, None] + c[None, :], mask=seen[:, None] & (c[None, :] < C), other=0.0)
        b_ptrs = filter_ptr + (filters[None, :] * (R * S) + tap) * C + c[:, None]
        b = tl.load(b_ptrs, mask=(filters[None, :] < K) & (c[:, None] < C), other=0.0)
        accumulator = tl.dot(a, b, accumulator)

    accumulator += tl.load(bias_ptr + filters, mask=filters < K, other=0.0).to(tl.float32)[None, :]
    if RELU:
        accumulator = tl.maximum(accumulator, 0.0)
    tl.store(
        out_ptr + pixels[:, None] * K + filters[None, :],
        accumulator.to(out_ptr.dtype.element_ty),
        mask=inside[:, None] & (filters[None, :] < K),
    )


def convolution(images, filters, bias, stride: int, pad: int, relu: bool):
    """images (batch, height, width, C), filters (K, R, S, C) to (batch, out height, out width, K)."""
    batch, height, width, c = images.shape
    k, r, s, _ = filters.shape
    out_height, out_width = (height + 2 * pad - r) // stride + 1, (width + 2 * pad - s) // stride + 1
    out = lesson.zeros((batch, out_height, out_width, k), "float16")
    block_m, block_n, block_c = (128, 128, 64) if lesson.ON_GPU else (32, 32, 16)
    grid = (tw.cdiv(batch * out_height * out_width, block_m), tw.cdiv(k, block_n))
    convolution_kernel[grid](
        images,
        filters,
        bias,
        out,
        batch,
        height,
        width,
        c,
        k,
        out_height,
        out_width,
        stride,
        pad,
        R=r,
        S=s,
        RELU=relu,
        BLOCK_M=block_m,
        BLOCK_N=block_n,
        BLOCK_C=block_c,
        num_warps=8,
        num_stages=3,
    )
    return out


def reference(images, filters, bias, stride: int, pad: int, relu: bool):
    """Tap by tap, in float64."""
    images = np.pad(images.astype(np.float64), ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    _, r, s, _ = filters.shape
    rows, columns = (images.shape[1] - r) // stride + 1, (images.shape[2] - s) // stride + 1
    out = np.zeros((images.shape[0], rows, columns, filters.shape[0])) + bias
    for i in range(r):
        for j in range(s):
            seen = images[:, i : i + rows * stride : stride, j : j + columns * stride : stride][:, :rows, :columns]
            out += seen @ filters[:, i, j].T.astype(np.float64)
    return np.maximum(out, 0) if relu else out


def check(image_shape: tuple, filter_shape: tuple, stride: int, pad: int, relu: bool):
    rng = np.random.default_rng(0)
    # Whole numbers whose sums float16 holds: exact.
    images, filters = (rng.integers(-2, 3, shape).astype(np.float16) for shape in (image_shape, filter_shape))
    bias = rng.integers(-5, 6, filter_shape[0]).astype(np.float16)
    there = [lesson.to_device(array) for array in (images, filters, bias)]
    out = convolution(there[0], there[1], there[2], stride, pad, relu)
    k, r, s, c = filter_shape
    lesson.check(
        f"{r} x {s}, {c} to {k} channels, stride {stride}, pad {pad}",
        out,
        reference(images, filters, bias, stride, pad, relu),
        tolerance=0.0,
    )


def sweep():
    """Operations per second of 3 x 3 layers of a residual network, batch 128, beside torch (cuDNN)."""
    import torch

    layers = [(64, 56), (128, 28), (256, 14), (512, 7)]
    speeds = {"Tilewright": [], "torch": []}
    for channels, side in layers:
        images = torch.randn(128, side, side, channels, device="cuda").half()
        filters = torch.randn(channels, 3, 3, channels, device="cuda").half() / (3 * channels**0.5)
        bias = torch.randn(channels, device="cuda").half()
        operations = 2 * 128 * side * side * channels * channels * 9
        # torch's names for the same memory: batch, channels, height, width.
        their_images, their_filters = images.permute(0, 3, 1, 2), filters.permute(0, 3, 1, 2)
        speeds["Tilewright"].append(
            lesson.tflops_per_second(lambda: convolution(images, filters, bias, 1, 1, False), operations)
        )
        speeds["torch"].append(
            lesson.tflops_per_second(lambda: torch.nn.functional.conv2d(their_images, their_filters, bias, 1, 1), operations)
        )
    lesson.show("convolution", "channels", [channels for channels, _ in layers], speeds, unit="TFLOP/s")


if __name__ == "__main__":
    options = lesson.arguments(__doc__.splitlines()[0])
    check((2, 7, 9, 16), (24, 3, 3, 16), stride=1, pad=1, relu=False)
    check((1, 8, 8, 24), (40, 3, 3, 24), stride=2, pad=1, relu=True)
    check((3, 6, 5, 8), (16, 1, 1, 8), stride=1, pad=0, relu=False)
    if lesson.ON_GPU and not options.quick:
        sweep()
