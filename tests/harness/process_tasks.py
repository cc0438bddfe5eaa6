# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a child process can do, by how it was started and whether its parent had used CUDA.

    python -m harness.process_tasks before|after fork|spawn|forkserver

prints a line "task result" for each task: "ok", or the code of the error. Runs on
the driver that TILEWRIGHT_LIBCUDA_PATH names.
"""

import multiprocessing
import sys

import numpy as np

import tilewright
import tilewright.language as tl
from harness.mock_driver import FakeTensor
from tilewright import errors
from tilewright.compiler import ASTSource


@tilewright.jit
def increment(x_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets) + 1)


def compile_one(block):
    source = ASTSource(increment, {"x_ptr": "*fp32"}, {"BLOCK": block})
    assert ".entry increment" in tilewright.compile(source, "sm_90a").asm["ptx"]


def launch(block):
    increment[(1,)](FakeTensor(), BLOCK=block)


def interpret(block):
    x = np.zeros(block, np.float32)
    increment[(1,)](x, BLOCK=block)
    assert (x == 1).all()


def ask(block):
    """What torch's compile workers ask, which are forked and launch nothing."""
    from tilewright.runtime.driver import CudaDriver

    assert CudaDriver.is_active()


TASKS = {"compile": compile_one, "launch": launch, "interpret": interpret, "ask": ask}


def run_task(name, queue):
    try:
        TASKS[name](64)
        queue.put("ok")
    except errors.TilewrightError as error:
        queue.put(error.code)
    except Exception as error:  # noqa: BLE001 - the parent prints it
        queue.put(repr(error))


def main(when, method):
    # What the parent compiled and interpreted must not hinder the child either.
    compile_one(32)
    interpret(32)
    if when == "after":
        launch(32)
    context = multiprocessing.get_context(method)
    for name in TASKS:
        queue = context.SimpleQueue()
        child = context.Process(target=run_task, args=(name, queue))
        child.start()
        child.join(60)
        result = "hangs" if child.is_alive() else queue.get() if child.exitcode == 0 else f"exit {child.exitcode}"
        if child.is_alive():
            child.kill()
        print(name, result, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
