# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long a first launch takes when 24 configurations are to choose from.

    python benchmarks/tuning.py [--kernel matmul|add] [--size N] [--out FOLDER]

  cold    nothing is cached: every configuration is compiled and measured
  warm    a new process with the caches of the cold one: the choice is known
  added   a new process with a 25th configuration: only that is measured

Each row is a process of its own with torch already at work, from the call to the end of
the first launch. Triton keeps its choice with cache_results=True, which its users have
to ask for. Both choose among the same configurations of the same text; the time of
what each chose is measured by the same clock afterwards.
"""

import argparse
import importlib.util
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import peers

KERNELS = Path(__file__).with_name("matmul_kernels.py")


def matmul_configs(module, added):
    blocks = [(128, 256, 64), (128, 128, 64), (128, 128, 32), (64, 256, 32), (64, 128, 64), (64, 64, 64)]
    configs = [
        module.tw.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP_M": 8}, num_warps=w, num_stages=s)
        for (m, n, k), w, s in itertools.product(blocks, (4, 8), (3, 4))
    ]
    if added:
        configs.append(
            module.tw.Config({"BLOCK_M": 256, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8}, num_warps=8, num_stages=3)
        )
    return configs


def add_configs(module, added):
    configs = [module.tw.Config({"BLOCK": b}, num_warps=w) for b in (128, 256, 512, 1024, 2048, 4096) for w in (1, 2, 4, 8)]
    return configs + ([module.tw.Config({"BLOCK": 8192}, num_warps=8)] if added else [])


def make_launch(kind, compiler, size, added):
    """(function that launches the tuned kernel once, the tuner)."""
    import torch

    module = peers.load_kernels(compiler, KERNELS if kind == "matmul" else peers.KERNELS)
    if module is None:
        raise SystemExit(f"{compiler} is not installed")
    options = {"cache_results": True} if compiler == "triton" else {}
    if kind == "matmul":
        a, b = (torch.randn(size, size, device="cuda", dtype=torch.float16) for _ in range(2))
        c = torch.empty_like(a)
        tuner = module.tw.autotune(matmul_configs(module, added), key=["M", "N", "K"], **options)(module.pointer_kernel)

        def launch():
            tuner[lambda meta: (module.tw.cdiv(size, meta["BLOCK_M"]) * module.tw.cdiv(size, meta["BLOCK_N"]),)](
                a, b, c, size, size, size, *a.stride(), *b.stride(), *c.stride()
            )

        def check():
            assert torch.allclose(c.float(), (a @ b).float(), atol=1e-1 * size**0.5, rtol=1e-1), "the product is wrong"
    else:
        x, y = (torch.randn(size * size, device="cuda") for _ in range(2))
        out = torch.empty_like(x)
        tuner = module.tw.autotune(add_configs(module, added), key=["n"], **options)(module.add_kernel)

        def launch():
            tuner[lambda meta: (module.tw.cdiv(size * size, meta["BLOCK"]),)](x, y, out, size * size)

        def check():
            assert torch.equal(out, x + y), "the sum is wrong"

    return launch, tuner, check


def child(kind, compiler, size, added):
    """In a process of its own: one first launch, and what was chosen."""
    import torch

    torch.randn(4096, device="cuda").sum().item()  # the driver and torch are awake
    launch, tuner, check = make_launch(kind, compiler, size, added)
    torch.cuda.synchronize()
    start = time.perf_counter()
    launch()
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    check()
    milliseconds = peers.interleaved_medians({"chosen": lambda turn: launch()}, 50)["chosen"]
    print(json.dumps({"seconds": seconds, "chosen": str(tuner.best_config), "milliseconds": milliseconds}))


def run_child(kind, compiler, size, added, folder) -> dict:
    environment = dict(os.environ, TILEWRIGHT_CACHE="1", TILEWRIGHT_CACHE_DIR=folder, TRITON_CACHE_DIR=folder + "-triton")
    command = [sys.executable, __file__, "--kernel", kind, "--size", str(size), "--child", compiler] + (
        ["--added"] if added else []
    )
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        return {"problem": (done.stderr.strip().splitlines() or ["no output"])[-1][:200]}
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernel", default="matmul", choices=["matmul", "add"])
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--out", default="", help="folder for the JSON and Markdown reports")
    parser.add_argument("--child", default="", help=argparse.SUPPRESS)
    parser.add_argument("--added", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.kernel, options.child, options.size, options.added)
        return 0
    results, rows = [], []
    for compiler in ("tilewright", "triton"):
        if importlib.util.find_spec(compiler):
            importlib.import_module(compiler)  # the report names versions of what is imported
        with tempfile.TemporaryDirectory() as folder:
            for phase in ("cold", "warm", "added"):
                result = run_child(options.kernel, compiler, options.size, phase == "added", folder + "/cache")
                results.append({"compiler": compiler, "phase": phase, **result})
                rows.append(
                    [
                        f"{compiler}, {phase}",
                        f"{result['seconds']:.3f}" if "seconds" in result else "-",
                        f"{result['milliseconds']:.4f}" if "milliseconds" in result else "-",
                        result.get("chosen") or result.get("problem", ""),
                    ]
                )
    peers.write_report(
        options.out,
        f"tuning_{options.kernel}",
        f"Tuning, 24 configurations of {options.kernel} {options.size}",
        results,
        ["first launch", "seconds", "ms of the chosen", "chosen"],
        rows,
    )
    return 0 if any("seconds" in r for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
