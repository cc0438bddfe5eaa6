# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of a package, to be launched: `tilewright.load("ops.twpkg").add(x, y, out, n)`.

A launch compiles nothing and does not need the source of the kernels. It checks the promises
of the signatures and chooses variant and configuration as the C library does.
"""

from __future__ import annotations

import itertools

from .. import _core, errors
from ..backends.compiler import GPUTarget
from ..compiler.kernel import CompilationResult, CompiledKernel
from ..compiler.options import DEFAULTS
from ..kernel_arguments import refused
from ..runtime.arguments import extent_in_bytes
from ..runtime.host_arrays import read_array
from ..scalar_types import short_type
from ..user_objects import attribute
from .model import is_descriptor
from .package_file import read_package

__all__ = ["load", "Package", "PackagedKernel"]


class _Source:
    """What CompiledKernel asks of the source of a kernel, of one that has none."""

    def __init__(self, kernel, variant):
        self.name = kernel.function
        self.runtime_signature, self.constants, self.divisibility = variant.types, variant.constants, variant.divisibility


class PackagedKernel:
    """One kernel: `kernel[grid](*arguments)`, or `kernel(*arguments)` where it was exported with a grid.

    Arguments are given by position or by name, without those that every signature has as
    constants; `configuration=` takes the one of a number.
    """

    def __init__(self, kernel):
        self._kernel = kernel
        self._compiled: dict = {}
        self.__name__ = kernel.name

    @property
    def signatures(self) -> list:
        return list(self._kernel.signatures)

    @property
    def configurations(self) -> list:
        return [dict(configuration) for configuration in self._kernel.configurations]

    @property
    def parameters(self) -> list:
        return [parameter.name for parameter in self._kernel.parameters]

    def __repr__(self):
        return f"PackagedKernel({self.__name__}({', '.join(self.parameters)}))"

    def __getitem__(self, grid):
        return lambda *args, **kwargs: self._launch(grid, args, kwargs)

    def __call__(self, *args, **kwargs):
        if self._kernel.grid is None:
            raise refused(
                f"'{self.__name__}' was exported without a grid", f"say how many programs there are: {self.__name__}[grid](...)"
            )
        return self._launch(None, args, kwargs)

    # -- a launch -----------------------------------------------------------

    def _bound(self, args, kwargs) -> dict:
        names = self.parameters
        bound = dict(zip(names, args))
        text = f"{self.__name__}({', '.join(names)})"
        for name, value in kwargs.items():
            if name not in names or name in bound:
                raise errors.make("E0205", problem="unexpected", a=name, sig=text)
            bound[name] = value
        missing = [name for name in names if name not in bound]
        if missing or len(args) > len(names):
            raise errors.make(
                "E0205", problem="missing" if missing else "unexpected", a=missing[0] if missing else f"#{len(names)}", sig=text
            )
        return bound

    def _broken_promise(self, variant, bound) -> str:
        """What a signature promises and these arguments do not keep, or nothing."""
        for parameter in self._kernel.parameters:
            name, value = parameter.name, bound[parameter.name]
            divisor = variant.divisibility.get(name, 1)
            if name in variant.constants and value != variant.constants[name]:
                return f"'{name}' is {value!r}, and {variant.constants[name]!r} is compiled in"
            if divisor > 1 and parameter.kind.startswith("*") and _address_of(name, value) % divisor:
                return f"'{name}' does not begin at a multiple of {divisor} bytes"
            if divisor > 1 and parameter.kind[0] in "iu" and value % divisor:
                return f"'{name}' is {value}, no multiple of {divisor}"
        return ""

    def _signature(self, configuration, bound) -> int:
        """The first signature that the arguments keep. Whole rows of descriptors are looked at by the launch itself."""
        broken = ""
        for number in range(len(self._kernel.signatures)):
            broken = self._broken_promise(self._kernel.variant(configuration, number), bound)
            if not broken:
                return number
        raise refused(
            f"{self.__name__}: {broken}",
            f"keep what the signature promises, or export one that does not: {' | '.join(self.signatures)}",
        )

    def _check_arrays(self, bound, device):
        """Refuses arrays of another element type than the one that was exported, or of another device."""
        for parameter in self._kernel.parameters:
            name, value = parameter.name, bound[parameter.name]
            if is_descriptor(parameter.kind):
                value, wanted = value.base, parameter.kind.partition("<")[2].partition("[")[0]
            elif parameter.kind.startswith("*") and not isinstance(value, int):
                wanted = parameter.kind[1:].removeprefix("k")
            else:
                continue
            dtype = attribute(value, "dtype")
            if dtype is not None and short_type(name, dtype) != wanted:
                raise refused(
                    f"{self.__name__}: '{name}' holds {short_type(name, dtype)}, and was exported for {wanted}",
                    f"convert it, or export a kernel for *{short_type(name, dtype)}",
                )
            where = attribute(attribute(value, "device"), "index")
            if isinstance(where, int) and where != device:
                raise refused(
                    f"{self.__name__}: '{name}' lies on device {where}, and the current device is {device}",
                    "make the device of the arrays the current one, such as by torch.cuda.device",
                )

    def _check_overlap(self, bound):
        if not self._kernel.needs_distinct_arguments:
            return
        arrays = []
        for parameter in self._kernel.parameters:
            if not parameter.kind.startswith("*") and not is_descriptor(parameter.kind):
                continue
            value = bound[parameter.name]
            value = value.base if is_descriptor(parameter.kind) else value
            if address := _address_of(parameter.name, value):
                # A bare address does not tell how far its array reaches.
                extent = None if isinstance(value, int) else extent_in_bytes(value)
                arrays.append((address, max(extent or 1, 1), parameter))
        for (a, a_extent, first), (b, b_extent, second) in itertools.combinations(arrays, 2):
            if (first.is_written or second.is_written) and a < b + b_extent and b < a + a_extent:
                raise refused(
                    f"{self.__name__}: '{first.name}' and '{second.name}' "
                    f"{'are the same array' if a == b else 'overlap'}, and one is written",
                    "pass arrays of their own, or export with --option arguments_may_overlap=True",
                )

    def _configuration(self, bound, device) -> int:
        table = self._kernel.table
        if table is None:
            return 0
        properties = _core.device_properties(device)
        rows = next(
            (
                rows
                for name, rows in table.devices.items()
                if name.startswith(f"{properties['name']}, {properties['multiprocessor_count']} ")
            ),
            None,
        )
        return nearest(rows or max(table.devices.values(), key=len), [int(bound[key]) for key in table.keys])

    def _loaded(self, variant, device) -> CompiledKernel:
        capability = _core.device_capability(device)
        found = self._compiled.get((id(variant), capability))
        if found is None:
            image = max(variant.images, key=lambda image: image.suitability(capability))
            if image.suitability(capability) < 0:
                raise errors.from_native(
                    "E0306",
                    "UnsupportedTarget",
                    f"'{self.__name__}' has no code for a GPU of capability {capability // 10}.{capability % 10}",
                    "export it for one more target",
                )
            found = self._compiled[id(variant), capability] = _compiled_kernel(self._kernel, variant, image)
        return found

    def _launch(self, grid, args, kwargs):
        stream, configuration = kwargs.pop("stream", None), kwargs.pop("configuration", None)
        bound = self._bound(args, kwargs)
        device = _core.current_device()
        if configuration is None:
            configuration = self._configuration(bound, device)
        if not 0 <= configuration < len(self._kernel.configurations):
            raise refused(
                f"{self.__name__} has no configuration {configuration}", f"there are {len(self._kernel.configurations)}"
            )
        self._check_arrays(bound, device)
        variant = self._kernel.variant(configuration, self._signature(configuration, bound))
        self._check_overlap(bound)
        if grid is None:
            grid = self._kernel.grid.sizes(
                variant.constants, bound, lambda: _core.device_properties(device)["multiprocessor_count"]
            )
        elif callable(grid):
            grid = grid({**variant.constants, **bound})
        kernel = self._loaded(variant, device)
        kernel[grid](*(bound[name] for name in variant.types), stream=stream)
        return kernel


class Package:
    """The kernels of a file by name, as attributes and as items; nothing of it can be changed."""

    def __init__(self, library):
        self._kernels = {kernel.name: PackagedKernel(kernel) for kernel in library.kernels}
        self.__name__ = library.name

    def __getitem__(self, name) -> PackagedKernel:
        if name not in self._kernels:
            raise KeyError(f"no kernel '{name}' in the package; there are {', '.join(self._kernels)}")
        return self._kernels[name]

    def __getattr__(self, name) -> PackagedKernel:
        kernels = self.__dict__.get("_kernels", {})
        if name not in kernels:
            raise AttributeError(f"no kernel '{name}' in the package; there are {', '.join(kernels)}", name=name, obj=self)
        return kernels[name]

    def __iter__(self):
        return iter(self._kernels)

    def __len__(self):
        return len(self._kernels)

    def __dir__(self):
        return sorted({*super().__dir__(), *self._kernels})

    def __repr__(self):
        return f"Package({self.__name__}: {', '.join(self._kernels)})"


def load(path) -> Package:
    """The kernels of a package that `tilewright export ... -o FILE.twpkg` has written; E0506 for any other file."""
    return Package(read_package(path))


def _address_of(name, value) -> int:
    if isinstance(value, int):
        return value
    data_ptr = getattr(value, "data_ptr", None)
    if data_ptr is not None:
        return data_ptr()
    array = read_array(name, value)
    if array is None:
        raise errors.make("E0204", a=name, t=type(value).__name__)
    return array.address


def _compiled_kernel(kernel, variant, image) -> CompiledKernel:
    metadata = {**image.metadata, "cluster_dims": tuple(image.metadata["cluster_dims"])}
    stage = {"ptx": image.content.rstrip(b"\0").decode()} if image.kind == "ptx" else {"cubin": image.content}
    result = {"name": image.entry, "metadata": metadata, **stage}
    target = GPUTarget("cuda", image.target, metadata["warp_size"])
    return CompiledKernel(_Source(kernel, variant), CompilationResult(result, DEFAULTS, target), _core.sha256(image.content))


def nearest(rows, values) -> int:
    """The configuration of the row nearest to these values, by the product of ratios, as the C library computes it."""

    def distance(numbers):
        product = 1.0
        for a, b in zip(numbers, values):
            a, b = a if a > 0 else 0.5, b if b > 0 else 0.5
            product *= a / b if a > b else b / a
        return product

    exact = [choice for numbers, choice in rows if numbers == values]
    return exact[0] if exact else min(rows, key=lambda row: distance(row[0]))[1]
