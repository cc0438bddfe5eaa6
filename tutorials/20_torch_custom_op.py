# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lesson 20: a kernel as an operator of torch.

Gradients, torch.compile without a break in the graph, torch.vmap.

    python tutorials/20_torch_custom_op.py [--quick]
"""

import lesson

import tilewright as tw
import tilewright.language as tl

torch = lesson.framework("torch", "pip install torch")

# Tensors on the CPU are refused by a kernel for the GPU. Kernels that are declared in this mode run in the
# interpreter, wherever their tensors are.
tw.knobs.runtime.interpret = not lesson.ON_GPU

# A kernel can be launched on tensors of torch at any time. But torch does not know what
# the launch does: it has no gradient, torch.compile has to leave the graph for it, and nothing can
# be moved across it. An operator tells torch all that. What this lesson makes one of is SiLU,
# x * sigmoid(x), and its gradient.


@tw.jit
def silu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, offsets < n).to(tl.float32)
    tl.store(out_ptr + offsets, x * tl.sigmoid(x), offsets < n)


@tw.jit
def silu_gradient_kernel(x_ptr, grad_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, offsets < n).to(tl.float32)
    gradient = tl.load(grad_ptr + offsets, offsets < n).to(tl.float32)
    s = tl.sigmoid(x)
    tl.store(out_ptr + offsets, gradient * s * (1 + x * (1 - s)), offsets < n)


def grid(meta):
    return (tw.cdiv(meta["n"], meta["BLOCK"]),)


# The types of the parameters, in their order, are enough to find out from the kernel what it
# writes. `outputs` says how a result is made from the arguments; torch runs that on shapes
# alone while it traces. The gradient is an operator, too, so that compiled functions see it.

silu_gradient = tw.torch.custom_op(
    "lesson::silu_gradient",
    silu_gradient_kernel,
    grid,
    "*fp32,*fp32,*fp32,i32",
    BLOCK=1024,
    outputs={"out_ptr": lambda x_ptr, grad_ptr, n: torch.empty_like(x_ptr)},
)


def backward(gradients, x_ptr, n, out_ptr):
    """Gradients of results come by their names, arguments and results as well; those of arguments go back."""
    return {"x_ptr": silu_gradient(x_ptr, gradients["out_ptr"], n)}


silu_operator = tw.torch.custom_op(
    "lesson::silu",
    silu_kernel,
    grid,
    "*fp32,*fp32,i32",
    BLOCK=1024,
    backward=backward,
    outputs={"out_ptr": lambda x_ptr, n: torch.empty_like(x_ptr)},
)


def silu(x):
    # The kernel walks over memory: it wants contiguous tensors.
    return silu_operator(x.contiguous(), x.numel())


# A kernel that changes an argument needs no word about it: torch is told from the kernel.


@tw.jit
def decay_kernel(x_ptr, n, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets, offsets < n) * factor, offsets < n)


decay = tw.torch.custom_op("lesson::decay", decay_kernel, grid, "*fp32,i32,fp32", BLOCK=1024)


def check(n: int):
    device = "cuda" if lesson.ON_GPU else "cpu"
    x = torch.randn(n, device=device, requires_grad=True)

    # torch's own examination of an operator: what it changes, its shapes, its gradient.
    torch.library.opcheck(silu_operator, (x, n))
    torch.library.opcheck(decay, (torch.randn(n, device=device), n, 0.5))

    def loss(x):
        return (silu(x) * 2).sum()

    expected = torch.nn.functional.silu(x)
    lesson.check(f"{n} elements", silu(x), expected, tolerance=1e-5)
    (gradient,) = torch.autograd.grad(loss(x), x)
    (expected_gradient,) = torch.autograd.grad((torch.nn.functional.silu(x) * 2).sum(), x)
    lesson.check("gradient", gradient, expected_gradient, tolerance=1e-5)

    # One graph for forward and backward. Inductor fuses what is around the operators on a GPU; here tracing is enough.
    compiled = torch.compile(loss, fullgraph=True, backend="inductor" if lesson.ON_GPU else "aot_eager")
    (gradient,) = torch.autograd.grad(compiled(x), x)
    lesson.check("gradient, compiled", gradient, expected_gradient, tolerance=1e-5)

    # One launch for each row. A kernel with an axis for the batch in its grid would be faster,
    # and is given to torch by silu_operator.register_vmap.
    rows = torch.randn(4, 8, device=device)
    lesson.check("mapped over rows", torch.vmap(silu)(rows), torch.nn.functional.silu(rows), tolerance=1e-5)

    y = x.detach().clone()
    decay(y, n, 0.5)
    lesson.check("changed in place", y, x.detach() / 2, tolerance=0.0)


def sweep():
    """Bandwidth against the size, beside torch's own: one read and one write per element."""
    sizes = [2**i for i in range(14, 29, 2)]
    ours, theirs = [], []
    for n in sizes:
        x = torch.randn(n, device="cuda")
        ours.append(lesson.gigabytes_per_second(lambda: silu(x), 2 * x.nbytes))
        theirs.append(lesson.gigabytes_per_second(lambda: torch.nn.functional.silu(x), 2 * x.nbytes))
    lesson.show("SiLU as an operator", "elements", sizes, {"Tilewright": ours, "torch": theirs})


if __name__ == "__main__":
    options = lesson.arguments(__doc__.splitlines()[0])
    torch.manual_seed(0)
    for n in (1, 3000):
        check(n)
    if lesson.ON_GPU and not options.quick:
        sweep()
