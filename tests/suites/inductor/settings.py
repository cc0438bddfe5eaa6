# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same few programs under settings that change what is generated, and how it is compiled and launched."""

import torch
import torch.nn.functional as F

from .pointwise import values
from .registry import Work, program

SETTINGS = {
    "coordinate_descent": {"coordinate_descent_tuning": True},
    "tuned_pointwise": {"max_autotune_pointwise": True},
    "combined_kernels": {"combo_kernels": True, "benchmark_combo_kernel": True},
    "fusion_by_measurement": {"benchmark_fusion": True},
    "several_kernels": {"triton.multi_kernel": 1},
    "no_persistent_reductions": {"triton.persistent_reductions": False},
    "cooperative_reductions": {"triton.force_cooperative_reductions": True},
    "no_split_reductions": {"split_reductions": False},
    "block_pointers": {"triton.use_block_ptr": True},
    "descriptors": {"triton.use_tensor_descriptor": True, "assume_aligned_inputs": True},
    "three_dimensions": {"triton.max_tiles": 3, "triton.prefer_nd_tiling": True},
    "no_static_launcher": {"use_static_cuda_launcher": False},
    "one_compile_thread": {"compile_threads": 1},
    "four_compile_workers": {"compile_threads": 4},
    "compile_workers_by_spawn": {"compile_threads": 2, "worker_start_method": "spawn"},
    "compile_workers_by_fork": {"compile_threads": 2, "worker_start_method": "fork"},
    "indices_checked": {"triton.debug_sync_kernel": True, "debug_index_asserts": True, "generate_intermediate_hooks": False},
    "rounded_as_eager": {"emulate_precision_casts": True},
    "no_fast_atomics": {"triton.autotune_at_compile_time": False},
    "tuned_at_compile_time": {"triton.autotune_at_compile_time": True},
    "unique_names": {"triton.unique_kernel_names": True, "triton.descriptive_names": "inductor_node"},
    "determinism": {"deterministic": True},
    "no_fusion": {"max_fusion_size": 1},
    "nan_asserts": {"nan_asserts": True},
    "graphs_in_parts": {"graph_partition": True, "triton.cudagraphs": True},
    "mixed_order_reductions": {"triton.mix_order_reduction": True},
    "inlined_constants": {"triton.divisible_by_16": False},
}


def function(x, w):
    y = F.layer_norm(x * w, (x.shape[-1],))
    return F.softmax(y, -1), (x.t() + 1).contiguous(), y.sum(0), x.cumsum(1), torch.where(y > 0, y, w).amax()


for _name, _config in SETTINGS.items():

    @program("settings", _name, config=_config, gpu=True, tolerance=(1e-3, 1e-3))
    def with_setting(device):
        return Work(function, [(values(device, 257, 300), values(device, 300, seed=1))])


@program("settings", gpu=True, config={"cpp_wrapper": True})
def wrapper_in_cpp(device):
    return Work(lambda x, w: (F.softmax(x * w, -1), x.sum(0)), [(values(device, 64, 300), values(device, 300, seed=1))])


@program("settings", gpu=True)
def the_same_graph_from_the_cache(device):
    """Compiled, forgotten, and taken from the caches on disk."""

    def cached(x, w):
        first = torch.compile(function)(x, w)
        torch._dynamo.reset()
        second = torch.compile(function)(x, w)
        return first, second

    return Work(
        torch.compiler.disable(cached),
        [(values(device, 65, 200), values(device, 200, seed=1))],
        reference=lambda x, w: (function(x, w), function(x, w)),
        check=None,
    )


@program("settings", gpu=True, config={"profile_bandwidth": False, "triton.autotune_cublasLt": False})
def with_a_profiler(device):
    def profiled(x, w):
        compiled = torch.compile(function)
        compiled(x, w)
        with torch.profiler.profile() as profiler:
            out = compiled(x, w)
        assert any("triton" in event.key for event in profiler.key_averages()), "no kernel was seen"
        return out

    return Work(torch.compiler.disable(profiled), [(values(device, 65, 200), values(device, 200, seed=1))], reference=function)
