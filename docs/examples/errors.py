# Examples of the page on errors: each script raises the error that its section names,
# and what it says is shown.
# %% E0101
space = {}
exec("def kernel(x):\n    pass", space)  # no file holds its text
tw.compile(tw.ASTSource(tw.jit(space["kernel"]), {"x": "*fp32"}), target="sm_90a")
# %% W0127
space = {}
exec("def kernel(x):\n    pass", space)  # no file holds its text
tw.jit(space["kernel"])[(1,)](np.zeros(1))
# %% W0124
@tw.jit
def kernel(x):
    tl.store(x, tl.load(x) << 70)

kernel[(1,)](np.zeros(1, np.int8))
# %% E0125
@tw.jit
def kernel(x):
    a = tl.zeros((16, 16), tl.float16)
    tl.store(x, tl.sum(tl.dot(a, a, trans_a=True)))

kernel[(1,)](np.zeros(1, np.float32))
# %% W0126
@tw.jit
def kernel(x):
    offsets = tl.arange(0, 8)
    tl.store(x + offsets, tl.where(offsets, 1.0, 2.0))

kernel[(1,)](np.zeros(8, np.float32))
# %% E0204
@tw.jit
def kernel(x):
    tl.store(x, 1.0)

kernel[(1,)](object())
# %% E0205
@tw.jit
def kernel(x, n):
    tl.store(x, n)

kernel[(1,)](np.zeros(1, np.float32))
# %% E0206
@tw.jit
def kernel(x):
    tl.store(x, 1.0)

kernel[(1,)](np.zeros(1, np.complex64))
# %% E0207
@tw.jit
def kernel(x):
    tl.store(x, 1.0)

kernel[(1, 70000)](np.zeros(1, np.float32))
# %% E0209
@tw.jit
def kernel(x):
    tl.store(x, 1.0)

kernel[(1,)](np.zeros(1, np.float32), num_warps=3)
# %% E0210
@tw.jit
def kernel(x):
    tl.store(x, 1.0)

kernel[(1,)](np.zeros(1, np.float32), num_wraps=4)
# %% E0211
@tw.jit
def kernel(x, n):
    tl.store(x, 1.0)

kernel[(1,)](np.zeros(1, np.float32), 2**70)
# %% E0216
@tw.jit
def kernel(x):
    tl.store(x, 1.0)

x = np.zeros(1, np.float32)
x.flags.writeable = False
kernel[(1,)](x)
# %% E0407
@tw.jit
def kernel(x, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + offsets, 0.0, mask=offsets <= n)

kernel[(3,)](np.zeros(40, np.float32), 40, BLOCK=16)
# %% E0408
@tw.jit
def kernel(out):
    tl.store(out, tl.program_id(0))

kernel[(4,)](np.zeros(1, np.int32))
# %% E0409
@tw.jit
def kernel(x, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    neighbours = tl.load(x + offsets + 1)
    tl.store(x + offsets, neighbours)

kernel[(2,)](np.arange(33, dtype=np.float32), BLOCK=16)
# %% E0410
@tw.jit
def kernel(count):
    tl.store(count, tl.load(count) + 1)

kernel[(4,)](np.zeros(1, np.int32))
# %% E0412
@tw.jit
def kernel(out):
    rows, columns = tl.arange(0, 4)[:, None], tl.arange(0, 4)[None, :]
    tl.store(out + rows * 2 + columns, rows)

kernel[(1,)](np.zeros(16, np.int32))
# %% E0413
@tw.jit
def kernel(x, y):
    offsets = tl.arange(0, 8)
    tl.store(y + offsets, tl.load(x + 7 - offsets))

x = np.arange(8, dtype=np.float32)
kernel[(1,)](x, x)
# %% E0414
@tw.jit
def kernel(lock):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass

kernel[(2,)](np.zeros(1, np.int32))
# %% E0415
@tw.jit
def kernel(codes, table, out):
    offsets = tl.arange(0, 32)
    places = tl.load(codes + offsets) * 8
    tl.store(out + offsets, tl.load(table + places))

kernel[(1,)](np.arange(32, dtype=np.int8), np.zeros(300, np.int8), np.zeros(32, np.int8))
# %% E0416
@tw.jit
def kernel(x, start):
    tl.store(x + tl.multiple_of(start, 16), 0.0)

kernel[(1,)](np.zeros(100, np.float32), 24)
# %% E0417
@tw.jit
def kernel(total, x):
    tl.atomic_add(total, tl.sum(tl.load(x + tl.arange(0, 8))))

kernel[(1,)](tw.testing.uninitialized((1,), np.float32), np.ones(8, np.float32))
# %% E0418
@tw.jit
def kernel(x):
    array = tl.make_tensor_descriptor(x, shape=[4, 8], strides=[8, 1], block_shape=[2, 4])
    array.store([0, 3], tl.zeros((2, 4), tl.float32))

with tw.knobs.runtime.scope():
    tw.knobs.runtime.check = "portable"
    kernel[(1,)](np.zeros((4, 8), np.float32))
# %% E0419
@tw.jit
def kernel(x, out):
    tl.store(out, tl.log(tl.load(x)))

with tw.knobs.runtime.scope():
    tw.knobs.runtime.check = "nan"
    kernel[(1,)](np.full(1, -1, np.float32), np.zeros(1, np.float32))
# %% E0420
@tw.jit
def kernel(x, out):
    value = tl.load(x)
    tl.store(out, value * value)

with tw.knobs.runtime.scope():
    tw.knobs.runtime.check = "overflow"
    kernel[(1,)](np.full(1, 2**20, np.int32), np.zeros(1, np.int32))
# %% E0421
@tw.jit
def kernel(x, out):
    tl.store(out, 7 // tl.load(x))

kernel[(1,)](np.zeros(1, np.int32), np.zeros(1, np.int32))
# %% E0422
@tw.jit
def kernel(x, out):
    offsets = tl.arange(0, 8)
    tl.store(out, tl.sum(tl.load(x + offsets, mask=offsets < 5)))

with tw.knobs.runtime.scope():
    tw.knobs.runtime.check = "poison"
    kernel[(1,)](np.ones(5, np.float32), np.zeros(1, np.float32))
# %% E0423
@tw.jit
def kernel(x, out):
    tl.store(out, tl.load(x).to(tl.int32))

with tw.knobs.runtime.scope():
    tw.knobs.runtime.check = "portable"
    kernel[(1,)](np.full(1, 1e10, np.float32), np.zeros(1, np.int32))
# %% E0428
from tilewright.proving import prove_conditions

@tw.jit
def kernel(x, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + offsets, 0.0, mask=offsets < n)

prove_conditions(kernel, {"x": "*fp32", "n": "i32"}, {"BLOCK": 16}, grid="cdiv(n, BLOCK)", arrays={"x": "n"}, assume="n + 1")
# %% E0602
@tw.autotune(configs=[tw.Config({"BLOCK": 8}), tw.Config({"BLOCK": 16})], key=["m"])
@tw.jit
def kernel(x, n, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 0.0)
# %% E0603
@tw.autotune(configs=[tw.Config({"BLOCK": 8}), tw.Config({"BLOCK": 16})], key=["n"])
@tw.jit
def kernel(x, n, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 0.0)

kernel[(1,)](np.zeros(16, np.float32), 16, BLOCK=16)
# %% E0701
tw.knobs.autotuning.budget = "soon"
# %% E0705
from tilewright.cli import main

with open("launch.npz", "w") as file:
    file.write("no launch")
main(["replay", "launch.npz"])
# %% E0708
@tw.jit
def kernel(x):
    tl.store(x, 1.0)

with tw.knobs.compilation.scope():
    tw.knobs.compilation.skip_passes = "asign-layouts"
    tw.compile(tw.ASTSource(kernel, {"x": "*fp32"}), target="sm_90a")
# %% E0709
from tilewright.cli import main

with open("failure.mlir", "w") as file:
    file.write("cut short")
main(["repro", "failure.mlir"])
# %% E0801
with open("kernel.ttir", "w") as file:
    file.write("func.func @k() {\n  %0 = nonsense\n}\n")
tw.compile("kernel.ttir", target="sm_90a")
# %% E0802
with open("kernel.ttir", "w") as file:
    file.write('func.func @k() {\n  %0 = arith.constant 1 : i32\n  "func.return"(%0) : (i32) -> ()\n}\n')
tw.compile("kernel.ttir", target="sm_90a")
