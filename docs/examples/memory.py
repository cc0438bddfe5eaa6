# Examples of the reference: see tiles.py.
# %% load
@tw.jit
def kernel(x):
    offsets = tl.arange(0, 8)
    print(tl.load(x + offsets, mask=offsets < 5, other=-1))

kernel[(1,)](np.arange(5, dtype=np.float32))
# %% store
@tw.jit
def kernel(out):
    offsets = tl.arange(0, 8)
    tl.store(out + offsets, offsets * 2, mask=offsets < 5)

out = np.zeros(8, np.int32)
kernel[(1,)](out)
print(out)
# %% atomic_add
@tw.jit
def kernel(counts, values):
    value = tl.load(values + tl.program_id(0))
    tl.atomic_add(counts + value, 1)

counts = np.zeros(4, np.int32)
kernel[(6,)](counts, np.array([0, 1, 1, 3, 3, 3], np.int32))
print(counts)
# %% atomic_and
@tw.jit
def kernel(out):
    tl.atomic_and(out, 6)

out = np.array([3], np.int32)
kernel[(1,)](out)
print(out)
# %% atomic_or
@tw.jit
def kernel(out):
    tl.atomic_or(out, 1 << tl.program_id(0))

out = np.zeros(1, np.int32)
kernel[(4,)](out)
print(out)
# %% atomic_xor
@tw.jit
def kernel(out):
    tl.atomic_xor(out, 1)

out = np.zeros(1, np.int32)
kernel[(3,)](out)
print(out)
# %% atomic_max
@tw.jit
def kernel(out, x):
    tl.atomic_max(out, tl.load(x + tl.program_id(0)))

out = np.zeros(1, np.int32)
kernel[(3,)](out, np.array([2, 7, 5], np.int32))
print(out)
# %% atomic_min
@tw.jit
def kernel(out, x):
    tl.atomic_min(out, tl.load(x + tl.program_id(0)))

out = np.full(1, 100, np.int32)
kernel[(3,)](out, np.array([2, 7, 5], np.int32))
print(out)
# %% atomic_xchg
@tw.jit
def kernel(out):
    print("before:", tl.atomic_xchg(out, 5))

out = np.array([3], np.int32)
kernel[(1,)](out)
print("after:", out)
# %% atomic_cas
@tw.jit
def kernel(lock):
    print("was:", tl.atomic_cas(lock, 0, 1))

kernel[(2,)](np.zeros(1, np.int32))
# %% atomic_load
@tw.jit
def kernel(x):
    print(tl.atomic_load(x, sem="acquire"))

kernel[(1,)](np.array([3], np.int32))
# %% atomic_store
@tw.jit
def kernel(x):
    tl.atomic_store(x, 5, sem="release")

x = np.zeros(1, np.int32)
kernel[(1,)](x)
print(x)
# %% atomic_poll
@tw.jit
def kernel(flag, x):
    if tl.program_id(0) == 0:
        tl.store(x, 42)
        tl.atomic_store(flag, 1, sem="release")
    else:
        tl.atomic_poll(flag, 1, sem="acquire")
        print(tl.load(x))

kernel[(2,)](np.zeros(1, np.int32), np.zeros(1, np.int32))
# %% make_block_ptr
@tw.jit
def kernel(x):
    tile = tl.make_block_ptr(x, shape=(4, 8), strides=(8, 1), offsets=(2, 4), block_shape=(2, 4), order=(1, 0))
    print(tl.load(tile))

kernel[(1,)](np.arange(32, dtype=np.float32).reshape(4, 8))
# %% advance
@tw.jit
def kernel(x):
    tile = tl.make_block_ptr(x, shape=(4, 8), strides=(8, 1), offsets=(0, 0), block_shape=(2, 4), order=(1, 0))
    tile = tl.advance(tile, (2, 4))
    print(tl.load(tile))

kernel[(1,)](np.arange(32, dtype=np.float32).reshape(4, 8))
# %% make_tensor_descriptor
@tw.jit
def kernel(x):
    array = tl.make_tensor_descriptor(x, shape=[4, 8], strides=[8, 1], block_shape=[2, 4])
    print(array.load([2, 6]))  # what lies beyond the end is zero

kernel[(1,)](np.arange(32, dtype=np.float32).reshape(4, 8))
# %% load_tensor_descriptor
@tw.jit
def kernel(x):
    array = tl.make_tensor_descriptor(x, shape=[4, 8], strides=[8, 1], block_shape=[2, 4])
    print(tl.load_tensor_descriptor(array, [0, 4]))

kernel[(1,)](np.arange(32, dtype=np.float32).reshape(4, 8))
# %% store_tensor_descriptor
@tw.jit
def kernel(x):
    array = tl.make_tensor_descriptor(x, shape=[4, 8], strides=[8, 1], block_shape=[2, 4])
    tl.store_tensor_descriptor(array, [0, 4], tl.full((2, 4), 1.0, tl.float32))

x = np.zeros((4, 8), np.float32)
kernel[(1,)](x)
print(x)
# %% tensor_descriptor
from tilewright.tools.tensor_descriptor import TensorDescriptor

@tw.jit
def kernel(array: tl.tensor_descriptor):
    print(array.shape, array.load([0, 0]))

x = np.arange(32, dtype=np.float32).reshape(4, 8)
kernel[(1,)](TensorDescriptor.from_tensor(x, [2, 4]))
# %% tensor_descriptor_type
print(tl.tensor_descriptor_type(tl.block_type(tl.float32, [2, 4])))
