# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What speed.py measures: functions of public repositories, called as their own benchmarks call them.

A case is made by a function that returns a dict from the name of a part ("forward", "backward") to a function
without arguments. Its repository is imported when the case is made.
"""

import ast
import importlib
import importlib.util
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

ROOT = Path(os.environ.get("SPEED_CHECKOUTS", "."))
LESSONS = "triton-lang+triton-cpu@004d7f5f5/python/tutorials"
# Of the shapes in use for linear attention; operations with fewer choices of D get 64.
BATCH, TOKENS, HEADS, WIDTH = 4, 4096, 16, 128


@dataclass
class SpeedCase:
    name: str
    repository: str
    make: Callable


CASES: dict = {}


def case(name, repository):
    def decorate(function):
        CASES[name] = SpeedCase(name, repository, function)
        return function

    return decorate


def use(*folders):
    """Python imports from these folders of the checkouts from now on."""
    for folder in folders:
        if str(ROOT / folder) not in sys.path:
            sys.path.insert(0, str(ROOT / folder))


def values(*shape, dtype=None, grad=True):
    import torch

    return torch.randn(*shape, device="cuda", dtype=dtype or torch.bfloat16).requires_grad_(grad)


def parts(function, leaves=()):
    """The forward pass, and the backward pass where `function` gives a tensor with a gradient."""
    import torch

    out = function()
    out = out[0] if isinstance(out, (tuple, list)) else out
    found = {"forward": function}
    if out.requires_grad:
        gradient = torch.randn_like(out)
        found["backward"] = lambda: torch.autograd.grad(out, leaves, gradient, retain_graph=True, allow_unused=True)
    return found


# -- Liger-Kernel --------------------------------------------------------------------

LIGER = "linkedin+Liger-Kernel"


def liger(module, name):
    use(f"{LIGER}/src")
    return getattr(importlib.import_module(f"liger_kernel.ops.{module}"), name).apply


@case("liger rms_norm", LIGER)
def liger_rms_norm():
    apply, x, w = liger("rms_norm", "LigerRMSNormFunction"), values(16384, 4096), values(4096)
    return parts(lambda: apply(x, w, 1e-6, 0.0, "llama", False), (x, w))


@case("liger layer_norm", LIGER)
def liger_layer_norm():
    apply, x, w, b = liger("layer_norm", "LigerLayerNormFunction"), values(16384, 4096), values(4096), values(4096)
    return parts(lambda: apply(x, w, b, 1e-5), (x, w, b))


@case("liger swiglu", LIGER)
def liger_swiglu():
    apply, a, b = liger("swiglu", "LigerSiLUMulFunction"), values(8192, 11008), values(8192, 11008)
    return parts(lambda: apply(a, b), (a, b))


@case("liger geglu", LIGER)
def liger_geglu():
    apply, a, b = liger("geglu", "LigerGELUMulFunction"), values(8192, 11008), values(8192, 11008)
    return parts(lambda: apply(a, b), (a, b))


@case("liger rope", LIGER)
def liger_rope():
    apply = liger("rope", "LigerRopeFunction")
    q, k = values(4, 32, 4096, 128), values(4, 8, 4096, 128)
    cos, sin = values(1, 4096, 128, grad=False), values(1, 4096, 128, grad=False)
    return parts(lambda: apply(q, k, cos, sin), (q, k))


@case("liger cross_entropy", LIGER)
def liger_cross_entropy():
    import torch

    apply, x = liger("cross_entropy", "LigerCrossEntropyFunction"), values(4096, 128256)
    target = torch.randint(0, 128256, (4096,), device="cuda")
    return {"forward": lambda: apply(x, target, None)}  # the gradient is computed in the forward pass


@case("liger fused_linear_cross_entropy", LIGER)
def liger_fused_linear_cross_entropy():
    import torch

    apply, x, w = (
        liger("fused_linear_cross_entropy", "LigerFusedLinearCrossEntropyFunction"),
        values(4096, 4096),
        values(32000, 4096),
    )
    target = torch.randint(0, 32000, (4096,), device="cuda")
    return {"forward": lambda: apply(x, w, target)}


@case("liger kl_div", LIGER)
def liger_kl_div():
    import torch

    apply, x = liger("kl_div", "LigerKLDivLossFunction"), values(4096, 32000, dtype=torch.float32)
    y = values(4096, 32000, dtype=torch.float32, grad=False).softmax(-1)
    return parts(lambda: apply(x.log_softmax(-1), y, "batchmean"), (x,))


@case("liger jsd", LIGER)
def liger_jsd():
    import torch

    apply, x = (
        liger("jsd", "LigerJSDFunction"),
        values(4096, 32000, dtype=torch.float32, grad=False).log_softmax(-1).requires_grad_(),
    )
    y = values(4096, 32000, dtype=torch.float32, grad=False).log_softmax(-1)
    return parts(lambda: apply(x, y), (x,))


@case("liger tvd", LIGER)
def liger_tvd():
    import torch

    apply, x = (
        liger("tvd", "LigerTVDLossFunction"),
        values(4096, 32000, dtype=torch.float32, grad=False).softmax(-1).requires_grad_(),
    )
    y = values(4096, 32000, dtype=torch.float32, grad=False).softmax(-1)
    return parts(lambda: apply(x, y), (x,))


@case("liger group_norm", LIGER)
def liger_group_norm():
    import torch

    apply, x = liger("group_norm", "LigerGroupNormFunction"), values(128, 64, 16384, dtype=torch.float32)
    w, b = values(64, dtype=torch.float32), values(64, dtype=torch.float32)
    return parts(lambda: apply(x, w, b, 64, 8, 1e-6), (x, w, b))


@case("liger softmax", LIGER)
def liger_softmax():
    apply, x = liger("softmax", "LigerSoftmaxFunction"), values(8192, 8192)
    return parts(lambda: apply(x), (x,))


# -- flash-linear-attention, by its own registry --------------------------------------

FLA = "fla-org+flash-linear-attention"
FLA_NAMES = (
    "chunk_retention",
    "chunk_linear_attn",
    "chunk_gla",
    "chunk_delta_rule",
    "chunk_gdn",
    "chunk_kda",
    "chunk_simple_gla",
    "chunk_rwkv6",
    "chunk_rwkv7",
    "chunk_comba",
    "fused_recurrent_hgrn",
    "chunk_dplr_delta_rule",
    "chunk_lightning_attn",
    "parallel_attn",
)


def make_fla(name):
    use(FLA, f"{FLA}/benchmarks/ops")
    registry = importlib.import_module("registry")
    config = registry.get_op(name)
    width = WIDTH if WIDTH in (config.dim_constraints or {}).get("D", [WIDTH]) else 64
    inputs = registry.generate_inputs(config, BATCH, TOKENS, HEADS, width)
    operation = getattr(importlib.import_module(config.import_path), config.func_name or config.name)
    leaves = [value for value in inputs.values() if hasattr(value, "requires_grad") and value.requires_grad]
    return parts(lambda: operation(**inputs, **config.extra_kwargs), leaves)


for _name in FLA_NAMES:
    case(f"fla {_name}", FLA)(lambda name=_name: make_fla(name))


def token_by_token(name, **more):
    """A recurrence over tokens, in the module fla.ops.<name>; `more`: its gates, and whether they are logarithms."""
    import torch

    use(FLA)
    operation = getattr(importlib.import_module(f"fla.ops.{name}"), f"fused_recurrent_{name}")
    q, k, v = (values(BATCH, TOKENS // 2, HEADS, WIDTH, grad=False) for _ in range(3))
    k = torch.nn.functional.normalize(k.float(), dim=-1).to(k.dtype)
    given = {}
    for gate, (shape, is_logarithm) in more.items():
        gates = values(BATCH, TOKENS // 2, HEADS, *shape, dtype=torch.float32, grad=False)
        given[gate] = torch.nn.functional.logsigmoid(gates) if is_logarithm else gates.sigmoid().to(q.dtype)
    return parts(lambda: operation(q=q, k=k, v=v, **given))


case("fla fused_recurrent_gla", FLA)(lambda: token_by_token("gla", gk=((WIDTH,), True)))
case("fla fused_recurrent_delta_rule", FLA)(lambda: token_by_token("delta_rule", beta=((), False)))
case("fla fused_recurrent_gated_delta_rule", FLA)(lambda: token_by_token("gated_delta_rule", g=((), True), beta=((), False)))

# -- others ---------------------------------------------------------------------------


@case("mamba chunk_scan", "state-spaces+mamba")
def mamba_chunk_scan():
    import torch

    use("state-spaces+mamba")
    # The package's own __init__ imports extensions; its kernels need none.
    for name in ("mamba_ssm", "mamba_ssm.ops", "mamba_ssm.ops.triton"):
        folder = ROOT / "state-spaces+mamba" / name.replace(".", "/")
        spec = importlib.util.spec_from_loader(name, None, is_package=True)
        module = importlib.util.module_from_spec(spec)
        module.__path__ = [str(folder)]
        sys.modules.setdefault(name, module)
    scan = importlib.import_module("mamba_ssm.ops.triton.ssd_chunk_scan")._chunk_scan_fwd
    state = importlib.import_module("mamba_ssm.ops.triton.ssd_chunk_state")
    batch, tokens, heads, width, groups, states, chunk = 4, 4096, 32, 64, 1, 128, 256
    x, dt = values(batch, tokens, heads, width, grad=False), values(batch, tokens, heads, dtype=torch.float32, grad=False)
    b, c = values(batch, tokens, groups, states, grad=False), values(batch, tokens, groups, states, grad=False)
    a = -torch.rand(heads, device="cuda")
    cumulated, dt = state._chunk_cumsum_fwd(dt, a, chunk, dt_softplus=True)
    states = state._chunk_state_fwd(b, x, dt, cumulated)
    bmm = importlib.import_module("mamba_ssm.ops.triton.ssd_bmm")._bmm_chunk_fwd
    product = bmm(c, b, chunk)
    return {
        "chunk_state": lambda: state._chunk_state_fwd(b, x, dt, cumulated),
        "bmm_chunk": lambda: bmm(c, b, chunk),
        "chunk_scan": lambda: scan(product, x, dt, cumulated, c, states),
    }


@case("mlstm chunkwise", "NX-AI+mlstm_kernels")
def mlstm_chunkwise():
    import torch

    use("NX-AI+mlstm_kernels")
    function = importlib.import_module("mlstm_kernels.torch.chunkwise.triton_xl_chunk").mlstm_chunkwise__xl_chunk
    q, k, v = (values(4, 8, 4096, width) for width in (256, 256, 512))
    i, f = (values(4, 8, 4096, dtype=torch.float32) for _ in range(2))
    return parts(lambda: function(q, k, v, i, f), (q, k, v, i, f))


# -- kernels that tests launch on too little to be timed ---------------------------------

GYM = "meta-pytorch+attention-gym"


@case("attention-gym kda dAv", GYM)
def gym_dav():
    """The gradient of one chunk's values: of equal sequences, and of ragged ones in either of its two grids."""
    import torch

    use(GYM)
    dav = importlib.import_module("attn_gym.linear.kda.bwd.triton.chunk_kda_bwd_dav").chunk_kda_bwd_dav
    scheduler = importlib.import_module("attn_gym.linear.kda.chunk_scheduler")
    v, do = values(1, TOKENS, HEADS, WIDTH, grad=False), values(1, TOKENS, HEADS, WIDTH, grad=False)
    a = values(1, TOKENS, HEADS, 64, grad=False)
    starts = torch.tensor([0, 1000, 1001, 3072, 3072, TOKENS], dtype=torch.int32, device="cuda")
    ragged = scheduler.prepare_ragged_chunk_metadata(starts, TOKENS, 64)
    request = scheduler.ScheduleRequest
    return {
        "equal": lambda: dav(v, a, do, 0.125),
        "ragged": lambda: dav(v, a, do, 0.125, metadata=ragged, schedule=request.STATIC),
        "ragged persistent": lambda: dav(v, a, do, 0.125, metadata=ragged, schedule=request.PERSISTENT),
    }


@case("linghe batch_blockwise_quant", "inclusionAI+linghe")
def linghe_batch_blockwise_quant():
    import torch

    use("inclusionAI+linghe")
    quantise = importlib.import_module("linghe.quant.block").triton_batch_blockwise_quant
    counts = [0, 1024, 0, 2000, 1] + [1101] * 27
    x, on_gpu = values(sum(counts), 2048, grad=False), torch.tensor(counts, device="cuda")
    return {"forward": lambda: quantise(x, on_gpu, counts, round_scale=True)}


@case("fastvideo block sparse attention", "hao-ai-lab+FastVideo")
def fastvideo_attention():
    import torch

    package = "hao-ai-lab+FastVideo/fastvideo-kernel/python/fastvideo_kernel/triton_kernels"
    use(package)
    module = importlib.import_module("block_sparse_attn_triton")
    heads, blocks, chosen, width = 12, 128, 24, 128
    q, k, v, do = (values(1, heads, 64 * blocks, width, grad=False) for _ in range(4))
    mask = torch.zeros(1, heads, blocks, blocks, dtype=torch.bool, device="cuda")
    mask.scatter_(-1, torch.rand(1, heads, blocks, blocks, device="cuda").topk(chosen).indices, True)

    def table(mask):
        count = mask.sum(-1, dtype=torch.int32)
        return mask.int().argsort(dim=-1, descending=True, stable=True).int().contiguous(), count

    by_query, by_key = table(mask), table(mask.transpose(-1, -2))
    sizes = torch.full((blocks,), 64, dtype=torch.int32, device="cuda")
    out, maxima = module.triton_block_sparse_attn_forward(q, k, v, *by_query, sizes)
    return {
        "forward": lambda: module.triton_block_sparse_attn_forward(q, k, v, *by_query, sizes),
        "backward": lambda: module.triton_block_sparse_attn_backward(do, q, k, v, out, maxima, *by_query, *by_key, sizes),
    }


@case("fla l2norm", FLA)
def fla_l2norm():
    use(FLA)
    norm, x = importlib.import_module("fla.modules.l2norm").l2norm, values(BATCH, TOKENS, HEADS, WIDTH)
    return parts(lambda: norm(x), (x,))


# -- Triton's lessons -----------------------------------------------------------------


def definitions_of(path):
    """A script's module with what it defines; what it runs (benchmarks, checks) is left out."""
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(path.stem.replace("-", "_"), None))
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.If)):
            text = ast.unparse(node) if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else ""
            if "perf_report" in text or "pytest.mark" in text or (isinstance(node, ast.If) and "__main__" in ast.unparse(node)):
                continue
            try:
                exec(compile(ast.Module([node], []), str(path), "exec"), module.__dict__)
            except Exception as error:  # noqa: BLE001 - a global for a benchmark that is left out
                print(f"{path.name}:{node.lineno}: {type(error).__name__}: {error}", file=sys.stderr)
    return module


def lesson(number):
    (path,) = (ROOT / LESSONS).glob(f"{number:02}-*.py")
    return definitions_of(path)


@case("lesson 02 softmax", LESSONS)
def lesson_softmax():
    import torch

    module, x = lesson(2), values(8192, 4096, dtype=torch.float32, grad=False)
    return {"forward": lambda: module.softmax(x)}


@case("lesson 03 matmul", LESSONS)
def lesson_matmul():
    import torch

    module = lesson(3)
    a, b = (values(4096, 4096, dtype=torch.float16, grad=False) for _ in range(2))
    return {"forward": lambda: module.matmul(a, b)}


@case("lesson 05 layer_norm", LESSONS)
def lesson_layer_norm():
    import torch

    module, x = lesson(5), values(4096, 8192, dtype=torch.float16)
    w, b = values(8192, dtype=torch.float16), values(8192, dtype=torch.float16)
    return parts(lambda: module.LayerNorm.apply(x, (8192,), w, b, 1e-5), (x, w, b))


def lesson_attention(causal):
    import torch

    module = lesson(6)
    q, k, v = (values(4, 32, 4096, 64, dtype=torch.float16) for _ in range(3))
    return parts(lambda: module._attention.apply(q, k, v, causal, 0.125, False), (q, k, v))


case("lesson 06 attention causal", LESSONS)(lambda: lesson_attention(True))
case("lesson 06 attention full", LESSONS)(lambda: lesson_attention(False))


@case("lesson 08 grouped matmul", LESSONS)
def lesson_grouped():
    import torch

    module = lesson(8)
    group_a, group_b = ([values(2048, 2048, dtype=torch.float16, grad=False) for _ in range(4)] for _ in range(2))
    transposed = [b.T.contiguous() for b in group_b]
    return {
        "pointers": lambda: module.group_gemm_fn(group_a, group_b),
        "descriptors": lambda: module.group_gemm_tma_fn(group_a, transposed),
    }


@case("lesson 09 persistent matmul", LESSONS)
def lesson_persistent():
    import torch

    module = lesson(9)
    a, b = values(4096, 4096, dtype=torch.float16, grad=False), values(4096, 4096, dtype=torch.float16, grad=False)
    return {
        "pointers": lambda: module.matmul(a, b.T),
        "tma": lambda: module.matmul_tma(a, b, False),
        "persistent": lambda: module.matmul_persistent(a, b.T),
        "tma persistent": lambda: module.matmul_tma_persistent(a, b, False),
        "descriptor persistent": lambda: module.matmul_descriptor_persistent(a, b, False),
    }
