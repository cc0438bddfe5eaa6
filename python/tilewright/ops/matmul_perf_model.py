# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which configurations of a matrix product are worth measuring.

    @autotune(configs, key=["M", "N", "K"], prune_configs_by={
        "early_config_prune": early_config_prune, "perf_model": estimate_matmul_time, "top_k": 10})

Both go by the names that such kernels use: arguments A, B, C, M, N, K and meta-parameters
BLOCK_M, BLOCK_N, BLOCK_K, SPLIT_K. They are rough on purpose: the measurement decides.
"""

from __future__ import annotations

from .. import _core
from ..user_objects import attribute, has_attribute
from ..runtime.mathematics import cdiv
from ..testing import get_dram_gbps, get_max_tensorcore_tflops

# What the estimate takes for granted; its use is an order, not a time.
_HITS = 0.8  # of the loads beyond the first of each tile, in the L2 cache
_L2_TO_DRAM = 4.0  # bandwidth
_STORE_TO_LOAD = 0.6  # bandwidth
_SATURATING_SHARE = 0.3  # of the multiprocessors that busy the memory
_COPY_LATENCY = 300  # cycles from a copy's start to its end
_PRODUCT_CYCLES = 8  # of a 16 x 8 x 16 product in one warp
_KEPT_DEPTHS = 2  # of pipelines that differ in nothing else
_ATOMIC_TYPES = ("float16", "float32", "bfloat16")  # that parts of a sum over K may be added in


def _facts(array):
    """(bytes per element, the dtype as text) of an argument, descriptors included."""
    array = attribute(array, "base", array) if has_attribute(array, "block_shape") else array
    size = attribute(array, "element_size")
    size = size() if callable(size) else attribute(array, "itemsize") or array.dtype.itemsize
    return size, str(array.dtype).rsplit(".", 1)[-1]


def estimate_matmul_time(num_warps, num_stages, A, B, C, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, SPLIT_K=1, debug=False, **kwargs):
    """Milliseconds of A @ B: the longer of computing and loading, and storing after it."""
    device = _core.current_device()
    properties = _core.device_properties(device)
    multiprocessors = properties["multiprocessor_count"]
    size, dtype = _facts(A)
    rows, columns = cdiv(M, BLOCK_M), cdiv(N, BLOCK_N)
    blocks = rows * columns * SPLIT_K
    M, N = max(M, BLOCK_M), max(N, BLOCK_N)

    # Each multiprocessor has four units, and a block uses as many as it has warps.
    busy = min(1.0, blocks * min(num_warps, 4) / (multiprocessors * 4))
    compute = 2 * M * N * K / (get_max_tensorcore_tflops(dtype, properties["sm_clock_rate"], device) * busy * 1e9)

    saturated = min(1.0, blocks / (multiprocessors * _SATURATING_SHARE))
    bandwidth = get_dram_gbps(device) * saturated * 1e6  # bytes per millisecond
    first, again = (M + N) * K * size, (M * (columns - 1) + N * (rows - 1)) * K * size
    load = (first + again * (1 - _HITS)) / bandwidth + again * _HITS / (bandwidth * _L2_TO_DRAM)

    stored = M * N * size * SPLIT_K + (M * N * size if SPLIT_K > 1 else 0)  # it is zeroed first
    store = stored / (bandwidth * _STORE_TO_LOAD)
    total = max(compute, load) + store
    if debug:
        print(
            f"total {total:.4f} ms: computing {compute:.4f}, loading {load:.4f}, storing {store:.4f}; "
            f"{100 * min(1.0, blocks / multiprocessors):.0f} % of the multiprocessors have a block"
        )
    return total


def early_config_prune(configs, named_args, **kwargs):
    """Those that fit shared memory and may add up parts; of equal tiles the two pipelines nearest to the best depth."""
    size, dtype = _facts(named_args["A"])
    limit = _core.device_properties(_core.current_device())["max_shared_mem"]
    groups: dict = {}
    for config in configs:
        m, n, k = (config.kwargs[f"BLOCK_{letter}"] for letter in "MNK")
        split = config.kwargs.get("SPLIT_K", 1)
        fits = (m + n) * k * max(config.num_stages, 1) * size <= limit
        if fits and (split == 1 or dtype in _ATOMIC_TYPES):
            groups.setdefault((m, n, k, split, config.num_warps), []).append(config)
    kept = []
    for (m, n, k, _, warps), group in groups.items():
        cycles = m * n * k / (16 * 8 * 16) / min(4, warps or 4) * _PRODUCT_CYCLES
        depth = _COPY_LATENCY / cycles

        def distance(config):
            # Too shallow a pipeline waits; one that is too deep only takes memory.
            return (config.num_stages < depth, abs(config.num_stages - depth))

        kept += sorted(group, key=distance)[:_KEPT_DEPTHS]
    return kept


__all__ = ["early_config_prune", "estimate_matmul_time"]
