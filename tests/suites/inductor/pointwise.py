# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element-wise programs: every family of functions, every dtype, every way to lie in memory."""

import torch
import torch.nn.functional as F

from .registry import Work, program

SHAPE = (37, 129)


def values(device, *shape, dtype=torch.float32, low=-3.0, high=3.0, seed=0):
    """Reproducible values between two bounds."""
    generator = torch.Generator().manual_seed(seed)
    shape = shape or SHAPE
    return (torch.rand(shape, generator=generator, dtype=torch.float64) * (high - low) + low).to(dtype).to(device)


def integers(device, *shape, dtype=torch.int32, low=-100, high=100, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(low, high, shape or SHAPE, generator=generator).to(dtype).to(device)


def chain(x, y):
    return torch.sin(x) * torch.cos(y) + torch.exp(-x.abs()) / (1 + y * y) - torch.tanh(x - y)


for _dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):

    @program("pointwise", f"chain_{str(_dtype)[6:]}", timed=_dtype == torch.float32)
    def chained(device, dtype=_dtype):
        return Work(chain, [(values(device, dtype=dtype), values(device, dtype=dtype, seed=1))])


@program("pointwise")
def activations(device):
    def function(x):
        return [
            F.gelu(x),
            F.gelu(x, approximate="tanh"),
            F.silu(x),
            F.mish(x),
            F.softplus(x),
            F.elu(x),
            F.selu(x),
            F.hardswish(x),
            F.hardsigmoid(x),
            F.leaky_relu(x),
            F.relu6(x),
            F.logsigmoid(x),
            F.celu(x),
            F.hardtanh(x),
            F.softsign(x),
            F.tanhshrink(x),
            F.hardshrink(x),
            F.softshrink(x),
        ]

    return Work(function, [(values(device),)])


@program("pointwise")
def special_functions(device):
    def function(x, positive):
        return [
            torch.erf(x),
            torch.erfc(x),
            torch.lgamma(positive),
            torch.digamma(positive),
            torch.erfinv(x / 4),
            torch.special.i0(x),
            torch.special.i1(x),
            torch.special.ndtr(x),
            torch.special.entr(positive),
            torch.special.log_ndtr(x),
            torch.special.bessel_j0(x),
            torch.sinc(x),
            torch.logit(positive / 4),
        ]

    return Work(function, [(values(device), values(device, low=0.1, high=3.5))])


@program("pointwise")
def exponentials_and_roots(device):
    def function(x, p):
        return [
            torch.exp(x),
            torch.exp2(x),
            torch.expm1(x),
            torch.log(p),
            torch.log2(p),
            torch.log10(p),
            torch.log1p(p),
            torch.sqrt(p),
            torch.rsqrt(p),
            p**2,
            p**0.5,
            p**-1.5,
            p**x,
            2.0**x,
            torch.pow(x, 3),
            torch.logaddexp(x, p),
            torch.logaddexp2(x, p),
            torch.xlogy(x, p),
            torch.hypot(x, p),
        ]

    return Work(function, [(values(device), values(device, low=0.1, high=4.0))])


@program("pointwise")
def trigonometry(device):
    def function(x):
        unit = x / 4
        return [
            torch.sin(x),
            torch.cos(x),
            torch.tan(x),
            torch.asin(unit),
            torch.acos(unit),
            torch.atan(x),
            torch.sinh(x),
            torch.cosh(x),
            torch.tanh(x),
            torch.asinh(x),
            torch.acosh(x.abs() + 1.1),
            torch.atanh(unit),
            torch.atan2(x, unit + 1),
            torch.deg2rad(x),
            torch.sin(x * 1000),
        ]

    return Work(function, [(values(device),)])


@program("pointwise")
def rounding(device):
    def function(x):
        return [
            x.round(),
            x.floor(),
            x.ceil(),
            x.trunc(),
            x.frac(),
            x.round(decimals=2),
            torch.fmod(x, 0.7),
            torch.remainder(x, 0.7),
            x % 1.5,
            x // 0.4,
            x.to(torch.int32),
            x.to(torch.int64),
            x.to(torch.int8),
            torch.div(x, 0.3, rounding_mode="trunc"),
        ]

    halves = torch.tensor([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5, -0.0, 7.999999], device=device)
    return Work(function, [(values(device),), (halves,)])


@program("pointwise")
def not_finite(device):
    def function(x):
        return [
            torch.isnan(x),
            torch.isinf(x),
            torch.isfinite(x),
            torch.nan_to_num(x),
            torch.signbit(x),
            x.sign(),
            x.clamp(-1, 1),
            torch.maximum(x, x.flip(0)),
            torch.minimum(x, x.flip(0)),
            torch.fmax(x, x.flip(0)),
            torch.fmin(x, x.flip(0)),
            torch.relu(x),
            torch.copysign(x.new_ones(()), x),
            x == x,
            x > 1,
            x.heaviside(x.new_ones(())),
        ]

    x = torch.tensor([0.0, -0.0, 1.5, -1.5, float("inf"), float("-inf"), float("nan"), 3e38, -3e38, 1e-40], device=device)
    return Work(function, [(x,)])


for _dtype in (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64):

    @program("pointwise", f"integers_{str(_dtype)[6:]}")
    def integer_arithmetic(device, dtype=_dtype):
        def function(x, y):
            nonzero = torch.where(y == 0, torch.ones_like(y), y)
            return [
                x + y,
                x - y,
                x * y,
                x // nonzero,
                x % nonzero,
                x & y,
                x | y,
                x ^ y,
                ~x,
                x << 2,
                x >> 1,
                -x,
                x.abs() if x.dtype != torch.uint8 else x,
                torch.maximum(x, y),
                torch.minimum(x, y),
                x == y,
                x < y,
                x / nonzero,
                torch.div(x, nonzero, rounding_mode="trunc"),
                x.to(torch.float32) * 0.5,
                x.clamp(3, 20),
            ]

        low = 0 if dtype == torch.uint8 else -100
        return Work(function, [(integers(device, dtype=dtype, low=low), integers(device, dtype=dtype, low=low, seed=1))])


@program("pointwise")
def booleans(device):
    def function(a, b, x):
        return [
            a & b,
            a | b,
            a ^ b,
            ~a,
            torch.where(a, x, -x),
            x.masked_fill(b, 7.0),
            a.to(torch.int32) + b,
            a.to(torch.float32) * x,
            torch.logical_not(x > 0),
            torch.logical_xor(x > 0, a),
            a == b,
            a < b,
        ]

    a = values(device) > 0
    return Work(function, [(a, values(device, seed=1) > 1, values(device, seed=2))])


# A cast there and back is left out by the compiler, unlike in eager mode.
@program("pointwise", tolerance=(1e-2, 0.5))
def casts(device):
    def function(x, i):
        kinds = (torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.int16, torch.int64, torch.bool)
        return (
            [x.to(k).to(torch.float32) for k in kinds]
            + [i.to(k) for k in kinds]
            + [x.to(torch.bfloat16).to(torch.float16), (x.to(torch.float16) + i).to(torch.float32)]
        )

    return Work(function, [(values(device, high=90), integers(device))])


@program("pointwise", gpu=True)
def float8(device):
    def function(x):
        small = x.to(torch.float8_e4m3fn)
        wide = x.to(torch.float8_e5m2)
        return [small.to(torch.float32) * 2, wide.to(torch.float16) + 1, (x * 0.3).to(torch.float8_e4m3fn).to(torch.bfloat16)]

    return Work(function, [(values(device, dtype=torch.bfloat16),)])


@program("pointwise")
def bit_patterns(device):
    def function(x, i):
        return [x.view(torch.int32) ^ 0x55, (i | 0x3F800000).view(torch.float32), x.to(torch.float16).view(torch.int16) + 1]

    return Work(function, [(values(device), integers(device, low=0))])


@program("pointwise")
def broadcasting(device):
    def function(a, b, c, d):
        return a * b + c - d, (a + 1) * (d + c), torch.where(b > 0, a, c)

    return Work(function, [(values(device, 8, 1, 33, 5), values(device, 7, 1, 5), values(device, 33, 1), values(device, 1))])


@program("pointwise", timed=True)
def transposed_arguments(device):
    def function(x, y):
        return x.t() + y, (x * 2).t().contiguous(), x[::2, 1::3] * 3

    return Work(function, [(values(device, 129, 257), values(device, 257, 129))])


@program("pointwise")
def permuted_five_dimensions(device):
    def function(x, y):
        return x.permute(4, 2, 0, 1, 3) + y, x.transpose(1, 3).reshape(-1) * 0.5

    return Work(function, [(values(device, 3, 5, 7, 4, 9), values(device, 9, 7, 3, 5, 4))])


@program("pointwise")
def in_place_arguments(device):
    def function(x, y):
        x.mul_(2).add_(y)
        y[1:] -= x[:-1]
        return x.sum(1)

    return Work(function, [(values(device), values(device, seed=1))])


@program("pointwise")
def fused_multiplications(device):
    def function(a, b, c):
        return [
            torch.addcmul(a, b, c, value=0.5),
            torch.addcdiv(a, b, c.abs() + 1, value=2),
            torch.lerp(a, b, c),
            a * b + c,
            a - b * c,
            torch.square(a) - torch.reciprocal(c.abs() + 1),
        ]

    return Work(function, [(values(device), values(device, seed=1), values(device, seed=2))])


@program("pointwise")
def made_from_nothing(device):
    def function(x):
        rows = torch.arange(x.shape[0], device=x.device)
        grid = torch.linspace(0, 1, x.shape[1], device=x.device)
        return x + rows[:, None] * grid, torch.full_like(x, 2.5) * x, torch.eye(x.shape[1], device=x.device) + grid

    return Work(function, [(values(device),)])


@program("pointwise", train=True)
def gradients(device):
    def function(x, y):
        return chain(x, y) + F.gelu(x) * F.silu(y) + torch.where(x > y, x * x, y.abs().sqrt())

    return Work(function, [(values(device).requires_grad_(), values(device, seed=1).requires_grad_())])


@program("pointwise")
def long_chain(device):
    def function(x):
        for step in range(25):
            x = torch.sin(x * (1 + step / 100)) + 0.1 * x
        return x

    return Work(function, [(values(device),)])


@program("pointwise")
def sizes_from_none_to_many(device):
    def function(x):
        return x * 2 + 1, torch.relu(x)

    return Work(
        function,
        [(values(device, n),) for n in (1, 2, 31, 1025, 4097)]
        + [(torch.empty(0, device=device),), (values(device, 1).reshape(()),)],
    )


@program("pointwise")
def random_numbers(device):
    def function(x):
        return torch.rand_like(x) + torch.randn_like(x) * 0 + F.dropout(torch.ones_like(x), 0.25)

    def check(expected, got):
        mean = got.double().mean().item()  # 0.5 of the first, 1.0 of the dropout
        assert abs(mean - 1.5) < 0.1, mean
        assert 0.6 < (got >= 1.3).double().mean().item() < 0.85

    return Work(function, [(values(device, 64, 512),)], check=check)
