# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels as C source (tools.compile) and the functions that choose among them (tools.link).

The C code is compiled and run against the recording driver.
"""

import os
import shutil
import subprocess
import sys

import pytest

from harness import mock_driver
from tilewright import errors
from tilewright.tools.compile import CompileArgs, compile_kernel
from tilewright.tools.link import LinkerError, link, read_headers

KERNEL = """
import tilewright as triton
import tilewright.language as tl

@triton.jit
def scale(x, y, factor, n, step, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + index * step, tl.load(x + index, mask=index < n) * factor, mask=index < n)

@triton.jit
def copy(source, target, BLOCK: tl.constexpr):
    target.store([0], source.load([0]))
"""

CUDA_H = """
#pragma once
typedef unsigned long long CUdeviceptr;
typedef int CUresult;
typedef struct CUstream_st *CUstream;
#define CUDA_SUCCESS 0
#define CUDA_ERROR_INVALID_VALUE 1
"""

# Says what was launched; the driver is the recording one.
PROGRAM = """
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include "all.h"
static void *driver;
static void say(CUresult result) {
  long count = ((long (*)(void))dlsym(driver, "mockLaunchCount"))();
  uint64_t numbers[10];
  char bytes[4096];
  uint64_t x, y;
  float factor;
  int n;
  if (count > 0) {
    ((int (*)(long, uint64_t *, char *))dlsym(driver, "mockLaunch"))(0, numbers, bytes);
    memcpy(&x, bytes, 8);
    memcpy(&y, bytes + 8, 8);
    memcpy(&factor, bytes + 16, 4);
    memcpy(&n, bytes + 20, 4);
    printf("grid %d %d %d threads %d: %d %d %g %d\\n", (int)numbers[0], (int)numbers[1], (int)numbers[2], (int)numbers[3],
           (int)x, (int)y, factor, n);
  } else {
    printf("%d\\n", result);
  }
  ((void (*)(void))dlsym(driver, "mockReset"))();
}
int main(void) {
  void *context = NULL;
  driver = dlopen("libcuda.so.1", RTLD_NOW);
  say(scale_default(0, 4096, 8192, 2.5f, 250, 3)); // no context yet
  ((int (*)(void **, int))dlsym(driver, "cuDevicePrimaryCtxRetain"))(&context, 0);
  ((int (*)(void *))dlsym(driver, "cuCtxSetCurrent"))(context);
  say(scale_default(0, 4096, 8192, 2.5f, 256, 1));
  say(scale_default(0, 4096, 8192, 2.5f, 250, 3));
  say(scale(0, 4096, 8192, 0.5f, 250, 1, 1));
  say(scale_default(0, 4096, 8192, 2.5f, 0, 1));
  say(scale(0, 0, 0, 0, 0, 0, 2));
  unload_scale();
  printf("%d of %d\\n", ((int (*)(void))dlsym(driver, "mockUnloaded"))(), scale_get_num_algos());
  return 0;
}
"""


@pytest.fixture
def kernels(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TILEWRIGHT_INTERPRET", raising=False)
    path = tmp_path / "kernels.py"
    path.write_text(KERNEL)
    return path


def arguments(path, signature, **more):
    return CompileArgs(
        **{
            "path": str(path),
            "kernel_name": "scale",
            "signature": signature,
            "grid": "(n + 127) / 128, 1, 1",
            "target": "cuda:90:32",
            "num_warps": 4,
            "out_path": path.parent / "scale",
            **more,
        }
    )


SPECIALISED = "*fp32:16, *fp32:16, fp32, i32:16, i32:1, 128"
GENERAL = "*fp32, *fp32, fp32, i32, i32, 128"


def test_linked_kernels_run_from_c(kernels, tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang-19")
    if compiler is None:
        pytest.skip("no C compiler on this machine")
    made = [
        compile_kernel(arguments(kernels, SPECIALISED)),
        compile_kernel(arguments(kernels, GENERAL)),
        compile_kernel(arguments(kernels, GENERAL.replace("128", "256"), num_warps=8)),
    ]
    assert [name.rsplit("_", 1)[1] for name, _ in made] == ["0d1d3d4c", "", ""]
    files = [file for _, group in made for file in group]
    header, source = link([file for file in files if file.suffix == ".h"], tmp_path / "all")
    (tmp_path / "cuda.h").write_text(CUDA_H)
    (tmp_path / "program.c").write_text(PROGRAM)
    sources = [file for file in (*files, source, tmp_path / "program.c") if file.suffix == ".c"]
    subprocess.run(
        [
            compiler,
            "-std=c11",
            "-Wall",
            "-Werror",
            f"-I{tmp_path}",
            *map(str, sources),
            "-o",
            str(tmp_path / "program"),
            "-ldl",
            "-lpthread",
        ],
        check=True,
    )
    shutil.copy(mock_driver.build(tmp_path), tmp_path / "libcuda.so.1")
    said = subprocess.run(
        [str(tmp_path / "program")],
        env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert said == [
        "1",
        "grid 2 1 1 threads 128: 4096 8192 2.5 256",  # divisible, and a step of 1 that is not passed
        "grid 2 1 1 threads 128: 4096 8192 2.5 250",
        "grid 2 1 1 threads 256: 4096 8192 0.5 250",  # the other constants, by their number
        "0",
        "1",  # an empty grid launches nothing, an unknown number is refused
        "3 of 2",
    ]


def test_as_scripts(kernels, tmp_path):
    from tilewright.tools import compile as compile_tool
    from tilewright.tools import link as link_tool

    def run(*command):
        return subprocess.run([sys.executable, *map(str, command)], cwd=tmp_path, check=True)

    kernels.write_text(KERNEL.replace("tilewright", "triton"))

    line = (kernels, "-n", "scale", "-g", "1, 1, 1", "-t", "cuda:80:32", "-o", "made", "-on", "made", "-s", GENERAL)
    run(compile_tool.__file__, *line)
    run("-m", "tilewright.tools.compile", *line, "-w", "2")
    headers = sorted(tmp_path.glob("made.*.h"))
    assert len(headers) == 2
    run(link_tool.__file__, *headers, "-o", "all")
    assert "int made_get_num_algos(void);" in (tmp_path / "all.h").read_text()


@pytest.mark.parametrize(
    "signature, more, words",
    [
        (GENERAL, {"grid": "1, 1"}, "2 parts"),
        (GENERAL.replace("fp32, i32", "fp16, i32"), {}, "no C type"),
        ("tensordesc<fp32[128]>, tensordesc<fp32[128]>, 128", {"kernel_name": "copy"}, "has no type in C as Triton writes it"),
    ],
)
def test_what_c_code_cannot_have(kernels, signature, more, words):
    with pytest.raises(errors.TilewrightError, match=words):
        compile_kernel(arguments(kernels, signature, **more))


@pytest.mark.parametrize(
    "texts, words",
    [
        ([], "none"),
        (["// tt-linker: odd:int32_t n:1_warps4xstages3"], "no name"),
        (["// tt-linker: f_01234567_3d:int32_t n:1_warps4xstages3"], "specialises parameter 3"),
        (["// tt-linker: f_01234567_:int32_t n:1_w", "// tt-linker: f_01234568_:float n:1_w"], "different parameters"),
        (["// tt-linker: f_01234567_:int32_t n:1_w", "// tt-linker: g_01234567_:int32_t n:1_w"], "one kernel"),
    ],
)
def test_headers_that_cannot_be_linked(texts, words):
    with pytest.raises(LinkerError, match=words):
        read_headers(texts)
