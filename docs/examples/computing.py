# Examples of the reference: see tiles.py.
# %% abs
print(tl.abs(tl.arange(0, 4) - 2))
# %% add
print(tl.add(tl.arange(0, 4), 10))
# %% sub
print(tl.sub(tl.arange(0, 4), 10))
# %% mul
print(tl.mul(tl.arange(0, 4), 10))
# %% ceil
print(tl.ceil(tl.arange(0, 4) / 2))
# %% floor
print(tl.floor(tl.arange(0, 4) / 2))
# %% clamp
x = tl.arange(0, 8).to(tl.float32)
print(tl.clamp(x, 2.0, 5.0))
# %% cos
print(tl.cos(tl.arange(0, 4) * 0.5))
# %% sin
print(tl.sin(tl.arange(0, 4) * 0.5))
# %% div_rn
x = tl.arange(0, 4).to(tl.float32)
print(tl.div_rn(x, x + 3))
# %% fdiv
x = tl.arange(0, 4).to(tl.float32)
print(tl.fdiv(x, x + 3))
# %% erf
print(tl.erf(tl.arange(0, 4) * 0.5))
# %% exp
print(tl.exp(tl.arange(0, 4).to(tl.float32)))
# %% exp2
print(tl.exp2(tl.arange(0, 4).to(tl.float32)))
# %% log
print(tl.log(tl.arange(1, 5).to(tl.float32)))
# %% log2
print(tl.log2(tl.arange(1, 5).to(tl.float32)))
# %% sqrt
print(tl.sqrt(tl.arange(0, 4).to(tl.float32)))
# %% sqrt_rn
print(tl.sqrt_rn(tl.arange(0, 4).to(tl.float32)))
# %% rsqrt
print(tl.rsqrt(tl.arange(1, 5).to(tl.float32)))
# %% fma
x = tl.arange(0, 4).to(tl.float32)
print(tl.fma(x, x, 1.0))
# %% umulhi
x = tl.full((2,), 2**31, tl.uint32)
print(tl.umulhi(x, x))
# %% maximum
print(tl.maximum(tl.arange(0, 8), 4))
# %% minimum
print(tl.minimum(tl.arange(0, 8), 4))
# %% sigmoid
print(tl.sigmoid(tl.arange(0, 4).to(tl.float32)))
# %% softmax
print(tl.softmax(tl.arange(0, 4).to(tl.float32)))
# %% sum
x = tl.reshape(tl.arange(0, 8), (2, 4))
print(tl.sum(x), tl.sum(x, axis=0), tl.sum(x, axis=1))
# %% max
x = tl.reshape(tl.arange(0, 8), (2, 4))
print(tl.max(x, axis=1))
values, places = tl.max(x, axis=1, return_indices=True)
print(values, places)
# %% min
print(tl.min(tl.arange(3, 7), axis=0))
# %% argmax
print(tl.argmax(tl.where(tl.arange(0, 8) == 5, 9, 0), axis=0))
# %% argmin
print(tl.argmin(tl.where(tl.arange(0, 8) == 5, -9, 0), axis=0))
# %% xor_sum
print(tl.xor_sum(tl.arange(0, 4), axis=0))
# %% reduce_or
print(tl.reduce_or(tl.arange(0, 8), axis=0))
# %% reduce
@tw.jit
def product(a, b):
    return a * b

@tw.jit
def kernel(out):
    tl.store(out, tl.reduce(tl.arange(1, 5), 0, product))

out = np.zeros(1, np.int32)
kernel[(1,)](out)
print(out)
# %% associative_scan
@tw.jit
def larger(a, b):
    return tl.maximum(a, b)

@tw.jit
def kernel(x, out):
    offsets = tl.arange(0, 8)
    tl.store(out + offsets, tl.associative_scan(tl.load(x + offsets), 0, larger))

out = np.zeros(8, np.int32)
kernel[(1,)](np.array([3, 1, 4, 1, 5, 9, 2, 6], np.int32), out)
print(out)
# %% cumsum
print(tl.cumsum(tl.arange(0, 8)))
# %% cumprod
print(tl.cumprod(tl.arange(1, 5)))
# %% sort
x = (tl.arange(0, 8) * 5) % 8
print(x, tl.sort(x))
# %% topk
x = (tl.arange(0, 8) * 5) % 8
print(tl.topk(x, 2))
# %% bitonic_merge
x = tl.arange(0, 8)
print(tl.bitonic_merge(tl.where(x < 4, x, 11 - x)))
# %% histogram
print(tl.histogram(tl.arange(0, 8) % 3, 4))
# %% dot
a = tl.reshape(tl.arange(0, 256), (16, 16)).to(tl.float16)
identity = tl.where(tl.arange(0, 16)[:, None] == tl.arange(0, 16)[None, :], 1.0, 0.0).to(tl.float16)
product = tl.dot(a, identity, out_dtype=tl.float32)
print(product.shape, product.dtype, tl.sum(product))
# %% dot_scaled
a = tl.full((16, 64), 1.0, tl.float8e4nv)
b = tl.full((64, 16), 1.0, tl.float8e4nv)
scale = tl.full((16, 2), 128, tl.uint8)  # 2 to the power 128 - 127
print(tl.sum(tl.dot_scaled(a, scale, "e4m3", b, scale, "e4m3")))
# %% rand
print(tl.rand(42, tl.arange(0, 4)))
# %% randn
print(tl.randn(42, tl.arange(0, 4)))
# %% randint
print(tl.randint(42, tl.arange(0, 4)))
# %% rand4x
a, b, c, d = tl.rand4x(42, tl.arange(0, 4))
print(a, b)
# %% randn4x
a, b, c, d = tl.randn4x(42, tl.arange(0, 4))
print(a, b)
# %% randint4x
a, b, c, d = tl.randint4x(42, tl.arange(0, 4))
print(a, b)
# %% philox
counter = tl.arange(0, 2).to(tl.uint32)
a, b, c, d = tl.philox(42, counter, counter * 0, counter * 0, counter * 0)
print(a, b)
# %% philox_impl
zero = tl.zeros((2,), tl.uint32)
a, b, c, d = tl.philox_impl(zero, zero, zero, zero, zero, zero)
print(a, b)
# %% uint_to_uniform_float
print(tl.uint_to_uniform_float(tl.full((2,), 2**31, tl.uint32)))
# %% pair_uniform_to_normal
u = tl.full((2,), 0.5, tl.float32)
a, b = tl.pair_uniform_to_normal(u, u)
print(a, b)
# %% inline_asm_elementwise
@tw.jit
def kernel(out):
    x = tl.arange(0, 4)
    y = tl.inline_asm_elementwise("brev.b32 $0, $1;", "=r,r", [x], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(out + x, y)

# PTX needs a GPU to run; compiling needs none.
compiled = tw.compile(tw.ASTSource(kernel, {"out": "*i32"}), target="sm_90a")
print("brev.b32" in compiled.asm["ptx"])
