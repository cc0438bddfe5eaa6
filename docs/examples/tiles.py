# Examples of the reference, run while the site is built. A section is the body of a
# kernel of one program, or a whole script where it has a decorator.
# %% program_id
print("this is program", tl.program_id(0))
# %% num_programs
print("of", tl.num_programs(0))
# %% arange
print(tl.arange(4, 12))
# %% full
print(tl.full((2, 4), 0.5, tl.float32))
# %% zeros
print(tl.zeros((2, 4), tl.int32))
# %% zeros_like
x = tl.arange(0, 4)
print(tl.zeros_like(x))
# %% to_tensor
x = tl.to_tensor(3)
y = tl.to_tensor(2**40)
print(x.dtype, y.dtype)
# %% cast
x = tl.arange(0, 4) / 2
print(tl.cast(x, tl.int32), tl.cast(x, tl.int32, bitcast=True))
# %% cat
print(tl.cat(tl.arange(0, 4), tl.arange(8, 12), can_reorder=True))
# %% join
print(tl.join(tl.arange(0, 4), tl.arange(10, 14)))
# %% split
pairs = tl.reshape(tl.arange(0, 8), (4, 2))
even, odd = tl.split(pairs)
print(even, odd)
# %% interleave
print(tl.interleave(tl.arange(0, 4), tl.arange(10, 14)))
# %% broadcast
rows, columns = tl.broadcast(tl.arange(0, 2)[:, None], tl.arange(0, 4)[None, :])
print(rows)
print(columns)
# %% broadcast_to
print(tl.broadcast_to(tl.arange(0, 4)[None, :], (2, 4)))
# %% expand_dims
x = tl.arange(0, 4)
print(tl.expand_dims(x, 0).shape, tl.expand_dims(x, 1).shape)
# %% unsqueeze
print(tl.unsqueeze(tl.arange(0, 4), 0).shape)
# %% squeeze
x = tl.zeros((1, 4), tl.float32)
print(tl.squeeze(x, 0).shape)
# %% reshape
print(tl.reshape(tl.arange(0, 8), (2, 4)))
# %% view
print(tl.view(tl.arange(0, 8), (2, 4)).shape)
# %% ravel
x = tl.reshape(tl.arange(0, 8), (2, 4))
print(tl.ravel(x))
# %% permute
x = tl.zeros((2, 4, 8), tl.float32)
print(tl.permute(x, (2, 0, 1)).shape)
# %% trans
x = tl.reshape(tl.arange(0, 8), (2, 4))
print(tl.trans(x))
# %% flip
print(tl.flip(tl.arange(0, 8)))
# %% where
x = tl.arange(0, 8)
print(tl.where(x > 4, x, -1))
# %% gather
x = tl.arange(0, 4) * 10
print(tl.gather(x, tl.full((4,), 3, tl.int32) - tl.arange(0, 4), 0))
# %% swizzle2d
i, j = tl.swizzle2d(0, 1, 4, 4, 2)
print("program (0, 1) of 4 x 4 works on tile", i, j)
# %% tensor
x = tl.arange(0, 8).to(tl.float32)
print(x.shape, x.dtype, x.sum(), (x * 2).max())
# %% cdiv
print(tl.cdiv(1000, 128))
# %% constexpr
@tw.jit
def kernel(out, N: tl.constexpr):
    # N is known while the kernel is compiled, so it can be the size of a tile.
    tl.store(out + tl.arange(0, N), N)

out = np.zeros(4, np.int32)
kernel[(1,)](out, N=4)
print(out)
# %% const
@tw.jit
def kernel(x: tl.const, out):
    tl.store(out, tl.load(x) + 1)

out = np.zeros(1, np.float32)
kernel[(1,)](np.ones(1, np.float32), out)
print(out)
# %% constexpr_type
print(tl.constexpr_type(4))
# %% constexpr_function
@tw.constexpr_function
def bits(n):
    return n.bit_length() - 1

@tw.jit
def kernel(out, N: tl.constexpr):
    tl.store(out, bits(N))

out = np.zeros(1, np.int32)
kernel[(1,)](out, N=1024)
print(out)
# %% range
total = 0
for i in tl.range(0, 4, num_stages=2):
    total += i
print(total)
# %% static_range
total = 0
for i in tl.static_range(4):
    total += i  # i is a constant in each copy of the body
print(total)
# %% slice
x = tl.reshape(tl.arange(0, 8), (2, 4))
print(x[:, None, :].shape)
# %% slice_type
print(tl.slice_type().__class__.__name__)
# %% tuple
pair = (tl.arange(0, 4), 5)
x, n = pair
print(x + n, len(pair))
# %% tuple_type
print(tl.tuple_type([tl.int32, tl.float32]))
# %% aggregate_replace
@tw.aggregate
class State:
    total: tl.tensor
    count: tl.tensor

    def __init__(self, total, count):
        self.total, self.count = total, count

@tw.jit
def kernel(out):
    state = State(tl.to_tensor(1.0), tl.to_tensor(0))
    state = tl.aggregate_replace(state, count=state.count + 1)
    tl.store(out, state.total + state.count)

out = np.zeros(1, np.float32)
kernel[(1,)](out)
print(out)
# %% condition
n = 5
while tl.condition(n > 1):
    n = n // 2
print(n)
# %% static_print
x = tl.zeros((4, 8), tl.float16)
tl.static_print("shape", x.shape)
# %% static_assert
x = tl.zeros((4, 8), tl.float16)
tl.static_assert(x.shape[0] == 4, "four rows")
print("compiled")
# %% device_print
tl.device_print("value ", tl.arange(0, 2))
# %% device_assert
tl.device_assert(tl.arange(0, 4) >= 0, "no index is negative")
print("none was")
# %% debug_barrier
tl.debug_barrier()
print("all threads are here")
# %% assume
n = tl.num_programs(0)
tl.assume(n > 0)
print(n)
# %% multiple_of
start = tl.program_id(0) * 128
print(tl.multiple_of(start, 128))
# %% max_contiguous
print(tl.max_contiguous(tl.arange(0, 8), 8))
# %% max_constancy
print(tl.max_constancy(tl.arange(0, 8) // 4, 4))
# %% expect_zero
x = tl.arange(0, 4)
print(tl.expect_zero(x * 0, x < 4))
# %% map_elementwise
@tw.jit
def collatz(n):
    return n // 2 if n % 2 == 0 else 3 * n + 1

@tw.jit
def kernel(out):
    x = tl.arange(0, 8)
    tl.store(out + x, tl.map_elementwise(collatz, x))

out = np.zeros(8, np.int32)
kernel[(1,)](out)
print(out)
# %% get_int_dtype
print(tl.get_int_dtype(16, signed=False))
# %% block_type
print(tl.block_type(tl.float32, [4, 8]))
# %% pointer_type
print(tl.pointer_type(tl.float32))
# %% dtype
print(tl.dtype("fp16"), tl.float16.primitive_bitwidth, tl.float16.is_floating())
# %% str_to_ty
print(tl.str_to_ty("*fp32"), tl.str_to_ty("i32"))
# %% PropagateNan
x = tl.full((2,), float("nan"), tl.float32)
print(tl.maximum(x, 1.0), tl.maximum(x, 1.0, propagate_nan=tl.PropagateNan.ALL))
# %% TRITON_MAX_TENSOR_NUMEL
print(tl.TRITON_MAX_TENSOR_NUMEL)
# %% types
x = tl.arange(0, 4)
print(x.to(tl.float16).dtype, x.to(tl.bfloat16).dtype, x.to(tl.uint8).dtype, (x > 1).dtype)
