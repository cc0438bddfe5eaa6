# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The child of isolation.py: launches the kernel that it is sent, once, and reports the outcome."""

from __future__ import annotations

import sys

import numpy as np

from .. import _core, errors
from ..child_process import serve


class _Pointer:
    """What a launch takes for a pointer; the kernel's own signature has the type."""

    dtype = "uint8"

    def __init__(self, address):
        self.address = address

    def data_ptr(self):
        return self.address


def _run(message, image, memory, device, answer) -> dict:
    for buffer, content in memory:
        buffer.copy_from(np.frombuffer(content, np.uint8))
    arguments = [
        _Pointer(memory[a["memory"]][0].data_ptr() + a["offset"]) if "memory" in a else a["value"] for a in message["arguments"]
    ]
    try:
        kernel = _core.load_kernel(
            device,
            image,
            message["name"],
            message["types"],
            message["threads"],
            message["shared"],
            message["num_ctas"],
            message["cooperative"],
            message["programmatic"],
            0,
            1,
            message["maxnreg"],
            message["tensor_maps"],
            message["host_tensor_maps"],
        )
        answer({"status": "launching"})  # from here on the time of the kernel counts
        _core.launch_loaded(kernel, tuple(message["grid"]), 0, arguments)
        _core.synchronize(device)
    except errors.TilewrightError as error:
        lost = isinstance(error, (errors.DeviceFault, errors.ContextLost, errors.DeviceAssert))
        # What is neither the device's nor the candidate's is this process's own fault.
        is_its_own = lost or isinstance(error, (errors.OutOfResources, errors.AssemblerError, errors.InternalError))
        return {
            "status": "failed" if is_its_own else "unsupported",
            "lost": lost,
            "reason": f"{type(error).__name__} {str(error).splitlines()[0]}",
        }
    return {"status": "ok", "reason": ""}


def main() -> int:
    device = int(sys.argv[1])
    _core.set_current_device(device)
    memory = []

    def handle(message, blob, answer):
        if message["what"] == "memory":
            memory.append((_core.DeviceBuffer(len(blob), "uint8", device), blob))
        else:
            answer(_run(message, blob, memory, device, answer))

    serve(handle)
    return 0


if __name__ == "__main__":
    sys.exit(main())
