# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels of the benchmarks and lessons, with the conditions under which they are launched.

What is proved of each stands in docs/proving.md; `PYTHONPATH=tests python -m harness.proof_cases` prints that table.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from harness.tensor_core_cases import kernels

ROOT = Path(__file__).parent.parent.parent


TYPES = ("fp32", "fp16", "fp8e4nv", "i8", "i32", "i64")


@dataclass
class ProofCase:
    """All launches of a kernel that satisfy `assume`.

    arrays: extents by parameter; "fp16 [m, n]" where the elements are not fp32
    integers: the names of the i32 parameters; floats: those of the fp32 ones
    blocks: the block shapes of parameters that are descriptors
    """

    file: str
    kernel: str
    arrays: dict
    integers: str
    grid: str
    assume: str
    constants: dict = field(default_factory=dict)
    floats: str = ""
    blocks: dict = field(default_factory=dict)

    def __str__(self):
        return f"{self.file}:{self.kernel}"

    def function(self):
        if self.file[0].isdigit():
            sys.path.insert(0, str(ROOT / "tutorials"))
            spec = importlib.util.spec_from_file_location("lesson_" + self.file, ROOT / "tutorials" / f"{self.file}.py")
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            sys.path.remove(str(ROOT / "tutorials"))
        else:
            module = kernels(self.file)
        function = getattr(module, self.kernel)
        return getattr(function, "fn", function) if type(function).__name__ == "Autotuner" else function

    def prove(self, timeout=10.0):
        from tilewright.proving import prove_conditions

        signature, extents = {}, {}
        for name, text in self.arrays.items():
            kind, _, extent = text.partition(" ")
            if kind not in TYPES:
                kind, extent = "fp32", text
            block = self.blocks.get(name)
            signature[name] = f"tensordesc<{kind}[{','.join(map(str, block))}]>" if block else "*" + kind
            extents[name] = extent
        signature |= dict.fromkeys(self.integers.split(), "i32") | dict.fromkeys(self.floats.split(), "fp32")
        return prove_conditions(self.function(), signature, self.constants, self.grid, extents, self.assume, timeout=timeout)


def alike(names, extent):
    return dict.fromkeys(names.split(), extent)


BLOCK = {"BLOCK": 1024}
ROWS = "0 < columns <= BLOCK, rows <= 2**30"
TILES = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": 8}
SIZES = "0 < M <= 2**14, 0 < N <= 2**14, 0 < K <= 2**14"
STRIDES = "stride_am == K, stride_ak == 1, stride_bk == N, stride_bn == 1, stride_cm == N, stride_cn == 1"
STRIDE_NAMES = "M N K stride_am stride_ak stride_bk stride_bn stride_cm stride_cn"
MATRICES = {"a_ptr": "fp16 [M, K]", "b_ptr": "fp16 [K, N]", "c_ptr": "fp16 [M, N]"}
DESCRIBED = {"a_desc": "fp16 [M, K]", "b_desc": "fp16 [K, N]", "c_desc": "fp16 [M, N]"}
DESCRIBED_BLOCKS = {"a_desc": (64, 32), "b_desc": (32, 64), "c_desc": (64, 64)}
MATRIX_GRID = "cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N)"
SMALL = {"BM": 64, "BN": 64, "BK": 32}
HEADS = "0 < length <= 2**14, heads <= 2**10"
ATTENTION = {"BLOCK_M": 64, "BLOCK_N": 32, "HEAD_DIM": 64, "CAUSAL": True}
QKV = "[heads, length, HEAD_DIM]"

BENCHMARKS = [
    ProofCase("kernels", "add_kernel", alike("x_ptr y_ptr out_ptr", "n"), "n", "cdiv(n, BLOCK)", "n > 0", BLOCK),
    ProofCase(
        "kernels",
        "softmax_kernel",
        alike("x_ptr out_ptr", "(rows - 1) * stride + columns"),
        "stride columns",
        "rows",
        ROWS + ", stride >= columns",
        BLOCK,
    ),
    ProofCase(
        "kernels",
        "layer_norm_kernel",
        alike("x_ptr out_ptr", "(rows - 1) * stride + columns") | alike("weight_ptr bias_ptr", "columns"),
        "stride columns",
        "rows",
        ROWS + ", stride >= columns",
        BLOCK,
        "eps",
    ),
    ProofCase(
        "kernels",
        "partial_sum_kernel",
        {"x_ptr": "n", "partial_ptr": "programs"},
        "n",
        "programs",
        "0 < n <= 2**30, programs <= 2**12",
        BLOCK,
    ),
    ProofCase("kernels", "final_sum_kernel", {"partial_ptr": "count", "out_ptr": "1"}, "count", "1", "count > 0", BLOCK),
    ProofCase(
        "kernels",
        "transpose_kernel",
        alike("x_ptr out_ptr", "[rows, columns]"),
        "rows columns",
        "cdiv(rows, BLOCK_M), cdiv(columns, BLOCK_N)",
        "0 < rows <= 2**14, 0 < columns <= 2**14",
        {"BLOCK_M": 64, "BLOCK_N": 64},
    ),
    ProofCase(
        "kernels",
        "many_arguments_kernel",
        alike("a_ptr b_ptr c_ptr d_ptr", "i + j + k"),
        "i j k",
        "1",
        "0 <= i < 2**20, 0 <= j < 2**20, 0 <= k < 2**20",
        BLOCK,
        "u v w",
    ),
    ProofCase(
        "kernels",
        "nineteen_arguments_kernel",
        alike("a_ptr b_ptr c_ptr d_ptr e_ptr", "BLOCK"),
        "i j k l m n o p q",
        "1",
        "",
        {**BLOCK, "C": 1, "D": 2, "E": 3, "F": 4},
    ),
    ProofCase(
        "kernels",
        "descriptors_kernel",
        alike("a b c", "fp16 [M, N]"),
        "",
        "1",
        "M <= 2**14, N <= 2**14",
        {"BLOCK": 64},
        blocks=dict.fromkeys("abc", (16, 64)),
    ),
    ProofCase("matmul_kernels", "pointer_kernel", MATRICES, STRIDE_NAMES, MATRIX_GRID, f"{SIZES}, {STRIDES}", TILES),
    ProofCase(
        "matmul_kernels",
        "descriptor_kernel",
        DESCRIBED,
        "M N K",
        MATRIX_GRID,
        SIZES,
        {**TILES, "B_IS_NK": False},
        blocks=DESCRIBED_BLOCKS,
    ),
    ProofCase(
        "matmul_kernels",
        "persistent_kernel",
        DESCRIBED,
        "M N K",
        "programs",
        SIZES + ", programs <= 132",
        {**TILES, "B_IS_NK": False, "FLATTEN": True, "SPLIT_C": False},
        blocks=DESCRIBED_BLOCKS,
    ),
    ProofCase(
        "attention_kernels",
        "forward_kernel",
        alike("q_array k_array v_array out_array", "fp16 " + QKV) | {"lse_ptr": "[heads, length]"},
        "length",
        "length // BLOCK_M, heads",
        HEADS + ", length % BLOCK_M == 0",
        {**ATTENTION, "DESCRIPTORS": False},
        "scale",
    ),
    ProofCase(
        "attention_kernels",
        "delta_kernel",
        alike("out_ptr d_out_ptr", "fp16 [rows, HEAD_DIM]") | {"delta_ptr": "rows"},
        "",
        "rows // BLOCK_M",
        "rows % BLOCK_M == 0, rows <= 2**24",
        {"BLOCK_M": 64, "HEAD_DIM": 64},
    ),
    ProofCase(
        "attention_kernels",
        "dk_dv_kernel",
        alike("q_array k_array v_array d_out_array dk_array dv_array", "fp16 " + QKV)
        | {"dq_array": QKV}
        | alike("lse_ptr delta_ptr", "[heads, length]"),
        "length",
        "length // BLOCK_N, heads",
        HEADS + ", length % BLOCK_M == 0",
        {**ATTENTION, "DESCRIPTORS": False, "WITH_DQ": True},
        "scale",
    ),
    ProofCase(
        "attention_kernels",
        "dq_kernel",
        alike("q_array k_array v_array d_out_array dq_array", "fp16 " + QKV) | alike("lse_ptr delta_ptr", "[heads, length]"),
        "length",
        "length // BLOCK_M, heads",
        HEADS + ", length % BLOCK_M == 0",
        {**ATTENTION, "DESCRIPTORS": False},
        "scale",
    ),
    ProofCase(
        "attention_kernels", "scale_kernel", alike("x_ptr out_ptr", "n"), "", "n // BLOCK", "n % BLOCK == 0", BLOCK, "scale"
    ),
    ProofCase("attention_kernels", "clear_kernel", {"x_ptr": "n"}, "", "n // BLOCK", "n % BLOCK == 0", BLOCK),
    ProofCase(
        "in_use_kernels",
        "rms_norm_kernel",
        alike("x_ptr residual_ptr sum_ptr out_ptr", "fp16 [rows, columns]") | {"weight_ptr": "columns"},
        "columns",
        "rows",
        ROWS,
        BLOCK,
        "eps",
    ),
    ProofCase(
        "in_use_kernels", "swiglu_kernel", alike("gate_ptr up_ptr out_ptr", "fp16 n"), "n", "cdiv(n, BLOCK)", "n > 0", BLOCK
    ),
    ProofCase("in_use_kernels", "gelu_kernel", alike("x_ptr out_ptr", "fp16 n"), "n", "cdiv(n, BLOCK)", "n > 0", BLOCK),
    ProofCase(
        "in_use_kernels",
        "cross_entropy_kernel",
        {"logits_ptr": "[rows, columns]", "target_ptr": "i64 rows", "loss_ptr": "rows"},
        "columns",
        "rows",
        "0 < columns <= 2**20, rows <= 2**20",
        BLOCK,
    ),
    ProofCase(
        "in_use_kernels",
        "rope_kernel",
        alike("x_ptr out_ptr", "fp16 [tokens, HEADS, 2 * HALF]") | alike("cos_ptr sin_ptr", "[length, HALF]"),
        "length",
        "tokens",
        "length > 0, tokens <= 2**24",
        {"HEADS": 8, "HALF": 64},
    ),
    ProofCase(
        "in_use_kernels",
        "quantise_kernel",
        alike("x_ptr", "[rows, columns]") | {"out_ptr": "fp8e4nv [rows, columns]", "scale_ptr": "rows"},
        "columns",
        "rows",
        ROWS,
        BLOCK,
    ),
    ProofCase(
        "in_use_kernels",
        "dequantise_kernel",
        {"x_ptr": "i8 [rows, columns // 2]", "scale_ptr": "[rows, columns // 128]", "out_ptr": "fp16 [rows, columns]"},
        "columns",
        "rows, cdiv(columns, 2 * BLOCK)",
        "0 < columns <= 2**20, columns % 128 == 0, rows <= 2**20",
        BLOCK,
    ),
    ProofCase("in_use_kernels", "dropout_kernel", alike("x_ptr out_ptr", "n"), "n seed", "cdiv(n, BLOCK)", "n > 0", BLOCK, "p"),
    ProofCase(
        "in_use_kernels",
        "embedding_kernel",
        {"index_ptr": "i64 tokens", "table_ptr": "[rows, columns]", "out_ptr": "[tokens, columns]"},
        "columns",
        "tokens",
        "0 < columns <= BLOCK, tokens <= 2**20, rows <= 2**20",
        BLOCK,
    ),
    ProofCase(
        "in_use_kernels",
        "column_sum_kernel",
        {"x_ptr": "fp16 [rows, columns]", "out_ptr": "columns"},
        "rows columns",
        "cdiv(columns, BLOCK_N), cdiv(rows, 16 * BLOCK_M)",
        "0 < rows <= 2**20, 0 < columns <= 2**20",
        {"BLOCK_M": 16, "BLOCK_N": 64},
    ),
    ProofCase(
        "in_use_kernels", "cumulative_sum_kernel", alike("x_ptr out_ptr", "[rows, columns]"), "columns", "rows", ROWS, BLOCK
    ),
    ProofCase(
        "in_use_kernels",
        "row_times_matrix_kernel",
        {"x_ptr": "columns", "weight_ptr": "fp16 [rows, columns]", "out_ptr": "fp16 rows"},
        "rows columns",
        "cdiv(rows, BLOCK_M)",
        "0 < rows <= 2**14, 0 < columns <= 2**14",
        {"BLOCK_M": 16, "BLOCK_K": 128},
    ),
    ProofCase(
        "in_use_kernels",
        "layer_norm_backward_kernel",
        alike("dy_ptr x_ptr dx_ptr", "fp16 [rows, columns]") | alike("mean_ptr rstd_ptr", "rows") | {"weight_ptr": "columns"},
        "columns",
        "rows",
        ROWS,
        BLOCK,
    ),
    ProofCase(
        "in_use_kernels",
        "causal_conv_kernel",
        alike("x_ptr out_ptr", "fp16 [batch, length, channels]") | {"weight_ptr": "[4, channels]"},
        "length channels",
        "cdiv(length, BLOCK_T), cdiv(channels, BLOCK_C), batch",
        "0 < length <= 2**14, 0 < channels <= 2**14, batch <= 2**10",
        {"BLOCK_T": 32, "BLOCK_C": 64},
    ),
    ProofCase(
        "in_use_kernels",
        "adam_kernel",
        alike("param_ptr grad_ptr mean_ptr square_ptr new_mean_ptr new_square_ptr out_ptr", "n"),
        "n",
        "cdiv(n, BLOCK)",
        "n > 0",
        BLOCK,
        "rate beta1 beta2 eps",
    ),
    ProofCase(
        "in_use_kernels",
        "persistent_softmax_kernel",
        alike("x_ptr out_ptr", "[rows, columns]"),
        "rows columns",
        "programs",
        "0 < columns <= BLOCK, rows > 0, programs <= 1024",
        {**BLOCK, "STAGES": 2},
    ),
    ProofCase(
        "products_in_use_kernels",
        "linear_gelu_kernel",
        {"x_ptr": "fp16 [M, K]", "w_ptr": "fp16 [N, K]", "bias_ptr": "N", "out_ptr": "fp16 [M, N]"},
        "M N K",
        "cdiv(M, BM) * cdiv(N, BN)",
        SIZES,
        SMALL,
    ),
    ProofCase(
        "products_in_use_kernels",
        "int8_weights_kernel",
        {"x_ptr": "fp16 [M, K]", "w_ptr": "i8 [K, N]", "scale_ptr": "N", "out_ptr": "fp16 [M, N]"},
        "M N K",
        "cdiv(M, BM), N // BN",
        SIZES + ", N % BN == 0, K % BK == 0",
        SMALL,
    ),
    ProofCase(
        "products_in_use_kernels",
        "int4_weights_kernel",
        {"x_ptr": "fp16 [M, K]", "w_ptr": "i32 [K // 8, N]", "scale_ptr": "fp16 [cdiv(K, 128), N]", "out_ptr": "fp16 [M, N]"},
        "M N K",
        "cdiv(M, BM), N // BN",
        SIZES + ", N % BN == 0, K % BK == 0",
        SMALL,
    ),
    ProofCase(
        "products_in_use_kernels",
        "weight_gradient_kernel",
        {"x_ptr": "fp16 [K, M]", "dy_ptr": "fp16 [K, N]", "out_ptr": "[M, N]"},
        "M N K",
        "(M // BM) * (N // BN)",
        SIZES + ", M % BM == 0, N % BN == 0, K % BK == 0",
        SMALL,
    ),
    ProofCase(
        "products_in_use_kernels",
        "tf32_kernel",
        {"x_ptr": "[M, K]", "w_ptr": "[N, K]", "out_ptr": "[M, N]"},
        "M N K",
        "(M // BM) * (N // BN)",
        SIZES + ", M % BM == 0, N % BN == 0, K % BK == 0",
        SMALL,
    ),
    ProofCase(
        "products_in_use_kernels",
        "split_k_kernel",
        {"x_ptr": "fp16 [M, K]", "w_ptr": "fp16 [N, K]", "out_ptr": "[M, N]"},
        "M N K",
        "N // BN, SPLIT",
        "0 < M <= BM, 0 < N <= 2**14, 0 < K <= 2**14, N % BN == 0, K % (BK * SPLIT) == 0",
        {**SMALL, "SPLIT": 4},
    ),
    ProofCase(
        "products_in_use_kernels",
        "gathered_rows_kernel",
        {"x_ptr": "fp16 [R, K]", "index_ptr": "i64 M", "w_ptr": "fp16 [K, N]", "out_ptr": "fp16 [M, N]"},
        "M N K",
        "(M // BM) * (N // BN)",
        SIZES + ", M % BM == 0, N % BN == 0",
        SMALL,
    ),
    ProofCase(
        "products_in_use_kernels",
        "decode_kernel",
        {
            "q_ptr": "fp16 [heads, GROUP, HEAD_DIM]",
            "k_ptr": "fp16 [heads, length, HEAD_DIM]",
            "v_ptr": "fp16 [heads, length, HEAD_DIM]",
            "out_ptr": "[heads, parts, GROUP, HEAD_DIM]",
            "lse_ptr": "[heads, parts, GROUP]",
        },
        "length",
        "heads, parts",
        "0 < length <= 2**20, length % BN == 0, parts == cdiv(length, PART), heads <= 2**10",
        {"PART": 512, "GROUP": 16, "HEAD_DIM": 64, "BN": 64},
        "log2_scale",
    ),
]

WEIGHTS = "0 < M <= 2**10, 0 < N <= 2**14, 0 < K <= 2**14, K % 256 == 0, parts <= 64, 0 < steps <= 2**7"
WEIGHTS_GRID = "cdiv(N, BLOCK_N), cdiv(M, BLOCK_M), parts"

LESSONS = [
    ProofCase("01_vector_add", "add_kernel", alike("x_ptr y_ptr out_ptr", "n"), "n", "cdiv(n, BLOCK)", "n > 0", BLOCK),
    ProofCase(
        "02_fused_softmax",
        "softmax_kernel",
        alike("x_ptr out_ptr", "[rows, columns]"),
        "x_row_stride out_row_stride columns",
        "rows",
        "0 < columns <= BLOCK, rows <= 2**20, x_row_stride == columns, out_row_stride == columns",
        BLOCK,
    ),
    ProofCase(
        "03_matrix_multiplication",
        "matmul_kernel",
        MATRICES,
        STRIDE_NAMES,
        MATRIX_GRID,
        f"{SIZES}, {STRIDES}",
        {**TILES, "ACTIVATION": ""},
    ),
    ProofCase(
        "05_layer_norm",
        "forward_kernel",
        alike("x_ptr y_ptr", "[rows, columns]") | alike("weight_ptr bias_ptr", "columns") | alike("mean_ptr rstd_ptr", "rows"),
        "stride columns",
        "rows",
        "0 < columns <= BLOCK, stride == columns, rows <= 2**20",
        BLOCK,
        "eps",
    ),
    ProofCase(
        "05_layer_norm",
        "backward_rows_kernel",
        alike("dy_ptr x_ptr dx_ptr", "[rows, columns]")
        | {"weight_ptr": "columns"}
        | alike("mean_ptr rstd_ptr", "rows")
        | alike("partial_dw_ptr partial_db_ptr", "[GROUPS, columns]")
        | {"lock_ptr": "i32 GROUPS"},
        "stride columns",
        "rows",
        "0 < columns <= BLOCK, stride == columns, rows <= 2**20",
        {**BLOCK, "GROUPS": 64},
    ),
    ProofCase(
        "05_layer_norm",
        "backward_columns_kernel",
        alike("partial_dw_ptr partial_db_ptr", "[groups, columns]") | alike("dw_ptr db_ptr", "columns"),
        "groups columns",
        "cdiv(columns, BLOCK_COLUMNS)",
        "0 < groups <= 2**10, 0 < columns <= 2**20",
        {"BLOCK_ROWS": 32, "BLOCK_COLUMNS": 128},
    ),
    ProofCase(
        "06_fused_attention",
        "forward_kernel",
        alike("q_ptr k_ptr v_ptr out_ptr", "fp16 " + QKV) | {"lse_ptr": "[heads, length]"},
        "length",
        "cdiv(length, BLOCK_M), heads",
        HEADS,
        ATTENTION,
        "scale",
    ),
    ProofCase(
        "06_fused_attention",
        "delta_kernel",
        alike("out_ptr d_out_ptr", "fp16 [count, HEAD_DIM]") | {"delta_ptr": "count"},
        "count",
        "cdiv(count, BLOCK)",
        "0 < count <= 2**24",
        {"BLOCK": 64, "HEAD_DIM": 64},
    ),
    ProofCase(
        "06_fused_attention",
        "dk_dv_kernel",
        alike("q_ptr k_ptr v_ptr d_out_ptr dk_ptr dv_ptr", "fp16 " + QKV) | alike("lse_ptr delta_ptr", "[heads, length]"),
        "length",
        "cdiv(length, BLOCK_N), heads",
        HEADS,
        ATTENTION,
        "scale",
    ),
    ProofCase(
        "06_fused_attention",
        "dq_kernel",
        alike("q_ptr k_ptr v_ptr d_out_ptr dq_ptr", "fp16 " + QKV) | alike("lse_ptr delta_ptr", "[heads, length]"),
        "length",
        "cdiv(length, BLOCK_M), heads",
        HEADS,
        ATTENTION,
        "scale",
    ),
    ProofCase(
        "08_grouped_gemm",
        "pointer_kernel",
        alike("a_ptr b_ptr c_ptr", "fp16 size") | {"table_ptr": "i32 [count, 6]"},
        "count",
        "programs",
        "0 < count <= 2**10, programs <= 132",
        {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32},
    ),
    ProofCase(
        "08_grouped_gemm",
        "descriptor_kernel",
        alike("a_ptr b_ptr c_ptr", "fp16 size") | {"table_ptr": "i32 [count, 6]"},
        "count",
        "programs",
        "0 < count <= 2**10, programs <= 132",
        {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32},
    ),
    ProofCase("09_persistent_matmul", "pointer_kernel", MATRICES, "M N K", "programs", SIZES + ", programs <= 132", TILES),
    ProofCase(
        "09_persistent_matmul",
        "host_descriptor_kernel",
        DESCRIBED,
        "M N K",
        "programs",
        SIZES + ", programs <= 132",
        {**TILES, "SPLIT_C": False},
        blocks=DESCRIBED_BLOCKS,
    ),
    ProofCase(
        "09_persistent_matmul",
        "device_descriptor_kernel",
        MATRICES,
        "M N K",
        "programs",
        SIZES + ", programs <= 132",
        {**TILES, "SPLIT_C": False},
    ),
    ProofCase(
        "10_int8_matmul",
        "quantise_kernel",
        {"x_ptr": "fp16 [rows, columns]", "q_ptr": "i8 [rows, columns]", "scale_ptr": "rows"},
        "columns",
        "rows",
        ROWS,
        BLOCK,
    ),
    ProofCase(
        "10_int8_matmul",
        "linear_kernel",
        {
            "x_ptr": "i8 [M, K]",
            "w_ptr": "i8 [N, K]",
            "scale_x_ptr": "M",
            "scale_w_ptr": "N",
            "bias_ptr": "N",
            "y_ptr": "fp16 [M, N]",
        },
        "M N K",
        MATRIX_GRID,
        SIZES,
        TILES,
    ),
    ProofCase(
        "11_convolution",
        "convolution_kernel",
        {
            "image_ptr": "fp16 [batch, height, width, C]",
            "filter_ptr": "fp16 [K, R, S, C]",
            "bias_ptr": "K",
            "out_ptr": "fp16 [batch, out_height, out_width, K]",
        },
        "batch height width C K out_height out_width stride pad",
        "cdiv(batch * out_height * out_width, BLOCK_M), cdiv(K, BLOCK_N)",
        "0 < batch <= 64, 0 < height <= 256, 0 < width <= 256, 0 < C <= 256, 0 < K <= 256, 0 < out_height <= 256, "
        "0 < out_width <= 256, 0 < stride <= 4, 0 <= pad <= 4",
        {"R": 3, "S": 3, "RELU": True, "BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_C": 16},
    ),
    ProofCase(
        "04_dropout",
        "masked_kernel",
        alike("x_ptr out_ptr", "fp16 n") | {"keep_ptr": "i8 n"},
        "n",
        "cdiv(n, BLOCK)",
        "n > 0",
        BLOCK,
        "p",
    ),
    ProofCase("04_dropout", "seeded_kernel", alike("x_ptr out_ptr", "fp16 n"), "n seed", "cdiv(n, BLOCK)", "n > 0", BLOCK, "p"),
    ProofCase(
        "04_dropout", "dropout_kernel", alike("x_ptr out_ptr", "fp16 n"), "n seed", "cdiv(n, BLOCK)", "n > 0", BLOCK, "p"
    ),
    ProofCase(
        "07_libdevice",
        "poisson_loss_kernel",
        alike("log_rate_ptr loss_ptr", "n") | {"count_ptr": "i32 n"},
        "n",
        "cdiv(n, BLOCK)",
        "n > 0",
        BLOCK,
    ),
    ProofCase(
        "07_libdevice", "wave_kernel", alike("x_ptr out_ptr", "n"), "n", "cdiv(n, BLOCK)", "n > 0", {**BLOCK, "FAST": True}
    ),
    ProofCase(
        "13_paged_attention",
        "part_kernel",
        {
            "q_ptr": "fp16 [sequences, HEADS, GROUP, HEAD_DIM]",
            "table_ptr": "i32 [sequences, table_width]",
            "lengths_ptr": "i32 sequences",
            "out_ptr": "[sequences, HEADS, GROUP, parts, HEAD_DIM]",
            "lse_ptr": "[sequences, HEADS, GROUP, parts]",
        }
        | alike("k_ptr v_ptr", "fp16 [pages, PAGE, HEADS, HEAD_DIM]"),
        "table_width part",
        "sequences, HEADS, parts",
        "sequences <= 2**10, parts <= 2**6, 0 < part <= 2**16, 0 < table_width <= 2**16, pages <= 2**16",
        {"HEADS": 8, "GROUP": 4, "ROWS": 16, "HEAD_DIM": 64, "PAGE": 16, "BLOCK": 64},
        "scale",
    ),
    ProofCase(
        "13_paged_attention",
        "join_kernel",
        {"parts_ptr": "[rows, parts, HEAD_DIM]", "lse_ptr": "[rows, parts]", "out_ptr": "fp16 [rows, HEAD_DIM]"},
        "parts",
        "rows",
        "0 < parts <= PARTS, rows <= 2**16",
        {"PARTS": 16, "HEAD_DIM": 64},
    ),
    ProofCase(
        "14_quantised_weights",
        "int8_kernel",
        {"x_ptr": "fp16 [M, K]", "w_ptr": "i8 [N, K]", "scale_ptr": "N", "out_ptr": "[parts, M, N]"},
        "M N K steps",
        WEIGHTS_GRID,
        WEIGHTS,
        {"BLOCK_M": 16, "BLOCK_N": 64},
    ),
    ProofCase(
        "14_quantised_weights",
        "pack_kernel",
        {"w_ptr": "fp16 [N, K]", "packed_ptr": "i8 [N, K // 2]", "scale_ptr": "[K // 128, N]"},
        "N K",
        "N, K // 256",
        "0 < N <= 2**14, 0 < K <= 2**14, K % 256 == 0",
    ),
    ProofCase(
        "14_quantised_weights",
        "int4_kernel",
        {"x_ptr": "fp16 [M, K]", "packed_ptr": "i8 [N, row_bytes]", "scale_ptr": "[K // 128, N]", "out_ptr": "[parts, M, N]"},
        "M N K row_bytes steps",
        WEIGHTS_GRID,
        WEIGHTS + ", row_bytes == K // 2",
        {"BLOCK_M": 16, "BLOCK_N": 64},
    ),
    ProofCase(
        "14_quantised_weights",
        "sum_kernel",
        {"parts_ptr": "[parts, n]", "y_ptr": "fp16 n"},
        "n parts",
        "cdiv(n, BLOCK)",
        "0 < n <= 2**20, 0 < parts <= 64",
        BLOCK,
    ),
    ProofCase(
        "15_mixture_of_experts",
        "count_kernel",
        {"expert_ptr": "i32 slots", "count_ptr": "i32 experts", "rank_ptr": "i32 slots"},
        "slots",
        "cdiv(slots, BLOCK)",
        "slots > 0",
        BLOCK,
    ),
    ProofCase(
        "15_mixture_of_experts",
        "sort_kernel",
        alike("expert_ptr rank_ptr sorted_ptr", "i32 slots") | {"count_ptr": "i32 experts"},
        "slots experts",
        "cdiv(slots, BLOCK)",
        "slots > 0, experts <= EXPERTS",
        {**BLOCK, "EXPERTS": 32},
    ),
    ProofCase(
        "15_mixture_of_experts",
        "combine_kernel",
        {"out_ptr": "fp16 [tokens, TOP_K, hidden]", "y_ptr": "fp16 [tokens, hidden]"},
        "hidden",
        "tokens, cdiv(hidden, BLOCK)",
        "0 < hidden <= 2**16, tokens <= 2**16",
        {**BLOCK, "TOP_K": 4},
    ),
    ProofCase(
        "16_state_space_scan",
        "recurrence_kernel",
        alike("a_ptr b_ptr h_ptr", "[rows, length]"),
        "length",
        "rows",
        "0 < length <= 2**20, rows <= 2**20",
        {"BLOCK": 256},
    ),
    ProofCase(
        "16_state_space_scan",
        "selective_scan_kernel",
        alike("x_ptr dt_ptr y_ptr", "fp16 [batches, channels, length]")
        | alike("b_ptr c_ptr", "fp16 [batches, STATES, length]")
        | {"a_ptr": "[channels, STATES]", "d_ptr": "channels"},
        "channels length",
        "channels, batches",
        "0 < length <= 2**16, 0 < channels <= 2**14, batches <= 2**10",
        {"STATES": 16, "BLOCK": 256},
    ),
]

CASES = BENCHMARKS + LESSONS


def table(wanted=""):
    """The table of docs/proving.md."""
    lines = [
        "| kernel | accesses | in bounds | outside | undecided | no races | outside | undecided | seconds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for case in CASES:
        if wanted not in str(case):
            continue
        start = time.process_time()
        proof = case.prove()
        seconds = time.process_time() - start
        if "-v" in sys.argv:
            print(proof)
        counts = []
        for question in ("bounds", "races"):
            verdicts = [getattr(finding, question).verdict for finding in proof.findings]
            counts += [verdicts.count(verdict) for verdict in ("proved", "outside", "undecided")]
            if "refuted" in verdicts:
                print(proof, file=sys.stderr)
        lines.append(f"| {case} | {len(proof.findings)} | {' | '.join(map(str, counts))} | {seconds:.1f} |")
        print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(next((argument for argument in sys.argv[1:] if argument[0] != "-"), "")))
