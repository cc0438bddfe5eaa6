# Examples of the reference: see tiles.py. These are whole scripts.
# %% tw.jit
@tw.jit
def add_one(x, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x + offsets, tl.load(x + offsets) + 1)

x = np.zeros(4, np.float32)
add_one[(1,)](x, BLOCK=4)
print(x)
# %% tw.cdiv
print(tw.cdiv(1000, 128))
# %% tw.next_power_of_2
print(tw.next_power_of_2(1000))
# %% tw.constexpr_function
@tw.constexpr_function
def half(n):
    return n // 2

@tw.jit
def kernel(out, N: tl.constexpr):
    tl.store(out + tl.arange(0, half(N)), 1)

out = np.zeros(8, np.int32)
kernel[(1,)](out, N=8)
print(out)
# %% tw.autotune
@tw.autotune(configs=[tw.Config({"BLOCK": 128}), tw.Config({"BLOCK": 256})], key=["n"])
@tw.jit
def scale(x, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(x + offsets, tl.load(x + offsets, mask=mask) * 2, mask=mask)

x = np.ones(1000, np.float32)
scale[lambda meta: (tw.cdiv(1000, meta["BLOCK"]),)](x, 1000)
print(x.sum())
# %% tw.Autotuner
@tw.autotune(configs=[tw.Config({"BLOCK": 128})], key=["n"])
@tw.jit
def scale(x, n, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 2.0)

print(isinstance(scale, tw.Autotuner), [str(config) for config in scale.configs])
# %% tw.Config
config = tw.Config({"BLOCK": 256}, num_warps=8, num_stages=2)
print(config)
# %% tw.heuristics
@tw.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@tw.jit
def kernel(out, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    tl.store(out, EVEN)

out = np.zeros(1, np.int32)
kernel[(1,)](out, 256, BLOCK=64)
print(out)
# %% tw.aggregate
@tw.aggregate
class State:
    total: tl.tensor
    count: tl.tensor

    def __init__(self, total, count):
        self.total, self.count = total, count

    @tw.jit
    def mean(self):
        return self.total / self.count

@tw.jit
def kernel(out):
    state = State(tl.to_tensor(12.0), tl.to_tensor(4))
    tl.store(out, state.mean())

out = np.zeros(1, np.float32)
kernel[(1,)](out)
print(out)
# %% tw.load
import contextlib
import os
import pathlib
import tempfile
from tilewright import cli

folder = pathlib.Path(tempfile.mkdtemp())
(folder / "kernels.py").write_text("""
import tilewright as tw
import tilewright.language as tl

@tw.jit
def fill(x, value, BLOCK: tl.constexpr):
    tl.store(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), value)
""")
with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
    signature = "*fp32:16,fp32,BLOCK=64"
    cli.main(["export", f"{folder}/kernels.py:fill", "-s", signature, "-t", "sm_90a", "-o", f"{folder}/ops.twpkg"])
ops = tw.load(folder / "ops.twpkg")
print(list(ops), ops.fill.signatures)  # ops.fill[grid](x, 1.0) launches it on a GPU
# %% tw.compile
@tw.jit
def kernel(x, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x + offsets, 1.0, mask=offsets < n)

compiled = tw.compile(tw.ASTSource(kernel, {"x": "*fp32", "n": "i32"}, {"BLOCK": 128}), target="sm_90a")
print(compiled.asm["ptx"].splitlines()[4:8])
# %% tw.ASTSource
@tw.jit
def kernel(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)

source = tw.ASTSource(kernel, signature={"x": "*fp32"}, constexprs={"BLOCK": 128})
print(tw.compile(source, target="sm_80").metadata.name)
# %% tw.CompiledKernel
@tw.jit
def kernel(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)

compiled = tw.compile(tw.ASTSource(kernel, {"x": "*fp32"}, {"BLOCK": 128}), target="sm_90a")
print(type(compiled).__name__, sorted(compiled.asm)[:3], compiled.metadata.num_warps)
# %% tw.JITFunction
@tw.jit
def kernel(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)

print(isinstance(kernel, tw.JITFunction), kernel.arg_names, [p.name for p in kernel.params if p.is_constexpr])
# %% tw.KernelInterface
class Twice(tw.KernelInterface):
    """Launches a kernel two times."""

    def __init__(self, fn):
        self.fn = fn

    def run(self, *args, grid, warmup, **kwargs):
        for _ in range(2):
            self.fn.run(*args, grid=grid, warmup=warmup, **kwargs)

@tw.jit
def add_one(x):
    tl.store(x, tl.load(x) + 1)

x = np.zeros(1, np.float32)
Twice(add_one)[(1,)](x)
print(x)
# %% tw.MockTensor
tensor = tw.MockTensor(tl.float16, (4, 8))
print(tensor.dtype, tensor.data_ptr())
# %% tw.TensorWrapper
wrapped = tw.TensorWrapper(tw.MockTensor(tl.float32), tl.int32)
print(wrapped.dtype, wrapped.base.dtype)
# %% tw.reinterpret
tensor = tw.MockTensor(tl.float32, (4, 8))  # or a tensor of torch
print(tensor.dtype, tw.reinterpret(tensor, tl.int32).dtype)
# %% tw.set_allocator
def allocate(size, alignment, stream):
    """Memory that kernels want for tensor maps; a framework's allocator belongs here."""
    return np.empty(size, np.uint8)

tw.set_allocator(allocate)
tw.set_allocator(None)
print("the default again")
# %% tw.AsyncCompileMode
from concurrent.futures import ThreadPoolExecutor

with ThreadPoolExecutor() as pool, tw.AsyncCompileMode(pool):
    print("what `kernel.warmup(...)` is called for here is compiled in the pool")
# %% tw.FutureKernel
from concurrent.futures import ThreadPoolExecutor

@tw.jit
def kernel(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)

tw.knobs.runtime.override_arch = "sm_90a"  # where there is no GPU
with ThreadPoolExecutor() as pool, tw.AsyncCompileMode(pool):
    future = kernel.warmup(tw.MockTensor(tl.float32), 128, grid=(1,))
print(type(future).__name__)
# %% tw.install_as_triton
tw.install_as_triton()
import triton

print(triton.jit is tw.jit)
# %% tw.must_use_result
print(tw.must_use_result(tl.sum) is tl.sum)
# %% tw.TilewrightError
@tw.jit
def kernel(x):
    tl.store(x + tl.arange(0, 100), 0.0)

try:
    kernel[(1,)](np.zeros(100, np.float32))
except tw.TilewrightError as error:
    print(error.code, error.message, "/ help:", error.help)
# %% tw.TritonError
print(tw.TritonError is tw.TilewrightError)
# %% tw.CompilationError
@tw.jit
def kernel(x):
    tl.store(x, undefined)

try:
    kernel[(1,)](np.zeros(1, np.float32))
except tw.CompilationError as error:
    print(type(error).__name__, error.code)
# %% tw.InterpreterError
@tw.jit
def kernel(x):
    tl.store(x + tl.arange(0, 8), 0.0)

try:
    kernel[(1,)](np.zeros(5, np.float32))
except tw.InterpreterError as error:
    print(error.code, error.message)
# %% tw.OutOfResources
error = tw.OutOfResources(327680, 232448, "shared memory")  # a launch raises it
print(error.code, error.message)
print(error.required, error.limit)
