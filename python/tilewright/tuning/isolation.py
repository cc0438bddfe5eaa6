# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs each candidate first in a child process, which a fault or a hang may end.

A candidate that faults takes the CUDA context with it, and one that never ends cannot
be stopped; in a child process both cost one restart. The child (trial_worker.py) gets the machine code and a
copy of the arguments' memory, launches once, and answers. It gets none of the user's
Python, only JSON and bytes. A candidate that survives is then checked and
measured in this process, like all others.
"""

from __future__ import annotations

from .. import _core
from ..child_process import Child
from ..user_objects import attribute, has_attribute
from .memory import region_of

_START_SECONDS = 60  # of the child: Python, the driver, a context; or loading a kernel


class Unsupported(Exception):
    """This candidate cannot be described to the child; it goes on without a trial."""


class Trials:
    """The child and what it has been sent."""

    def __init__(self, timeout):
        self.timeout = timeout
        self.child = None
        self.sent: dict = {}  # address and size of a region -> its number in the child
        self.memory: dict = {}  # name -> (region key, bytes before tuning)

    # -- the memory ------------------------------------------------------------

    def keep(self, arguments):
        """Copies what the arguments hold now: later runs change it."""
        for name, value in arguments.items():
            region = region_of(value)
            if region is not None:
                self.memory[name] = (region.key, _bytes_of(region))

    def _address(self, name, value):
        if name not in self.memory:
            raise Unsupported(f"the size of '{name}' is not known")
        (address, size), content = self.memory[name]
        if (address, size) not in self.sent:
            self.sent[(address, size)] = len(self.sent)
            self.child.send({"what": "memory"}, content)
        return {"memory": self.sent[(address, size)], "offset": value.data_ptr() - address}

    # -- the child -------------------------------------------------------------

    def _start(self):
        self.child = Child("tilewright.tuning.trial_worker", _core.current_device())
        self.sent = {}
        self.child.answer(_START_SECONDS)

    def close(self):
        if self.child is not None:
            self.child.close()
            self.child = None

    # -- one trial -------------------------------------------------------------

    def trial(self, kernel, arguments, grid) -> tuple[str, str]:
        """("ok", ""), or ("failed" or "hung", reason). Raises Unsupported."""
        if not hasattr(kernel, "signature") or kernel.metadata.global_scratch_size:
            raise Unsupported("it needs more than its arguments")
        for kind in kernel.signature.values():
            if not isinstance(kind, str) or kind.startswith("tensordesc"):
                raise Unsupported("tuples and descriptors are not sent")
        try:
            if self.child is None:
                self._start()
            described = [self._describe(name, kind, arguments) for name, kind in kernel.signature.items()]
            metadata = kernel.metadata
            image = kernel.asm.get("cubin")
            message = {
                "what": "run",
                "name": kernel.name,
                "types": list(kernel.signature.values()),
                "grid": list(grid),
                "threads": metadata.num_warps * metadata.warp_size,
                "shared": metadata.shared,
                "num_ctas": metadata.num_ctas,
                "cooperative": bool(metadata.launch_cooperative_grid),
                "programmatic": bool(metadata.launch_pdl),
                "maxnreg": metadata.maxnreg or 0,
                "tensor_maps": list(metadata.tensor_maps),
                "host_tensor_maps": list(metadata.host_tensor_maps),
                "arguments": described,
            }
            self.child.send(message, image if image is not None else kernel.asm["ptx"].encode())
            answer, _ = self.child.answer(_START_SECONDS)
            if answer["status"] == "launching":
                answer, _ = self.child.answer(self.timeout)
        except TimeoutError:
            self.close()
            return "hung", f"ran longer than {self.timeout:g} s"
        except (EOFError, BrokenPipeError):
            self.close()
            return "failed", "the process that tried it ended"
        if answer.get("lost"):
            self.close()  # its context is gone; the next trial starts another
        if answer["status"] == "unsupported":
            raise Unsupported(answer["reason"])
        return answer["status"], answer["reason"]

    def _describe(self, name, kind, arguments):
        if name not in arguments:
            raise Unsupported(f"'{name}' is computed")
        value = arguments[name]
        if kind.startswith("*"):
            return self._address(name, value)
        return {"value": attribute(value, "value", value)}


def _bytes_of(region) -> bytes:
    kept = region.copy(on_host=True)
    if isinstance(kept, bytes):
        return kept
    if has_attribute(kept, "numpy"):  # torch; a view as bytes, as NumPy lacks some of its types
        import torch

        return kept.view(torch.uint8).numpy().tobytes()
    return bytes(kept)
