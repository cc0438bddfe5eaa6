# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles what a request asks for: every signature with every configuration for every target."""

from __future__ import annotations

import re

from .. import errors
from ..compiler.compiler import compile
from ..compiler.options import DEFAULTS
from ..compiler.sources import ASTSource
from ..kernel_arguments import load_function, parse_signature, refused
from .c_parameters import identifier, number_type
from .grid import Grid
from .model import Descriptor, ExportedKernel, Image, Library, Parameter, Variant, is_descriptor

_FEW = 200  # variants of a kernel; more are a mistake in a loop


def capability_of(target) -> int:
    return int(re.fullmatch(r"sm_(\d+)a?", target).group(1))


def _ptx_target(targets) -> str:
    """The target whose PTX newer GPUs compile: the newest one, in the form that is not for one chip alone."""
    return max((target.rstrip("a") for target in targets), key=capability_of)


def _named_blocks(signature, values):
    """The signature with the constants of a configuration in the blocks of its descriptors."""

    def block(match):
        extents = [str(values.get(part.strip(), part.strip())) for part in match.group(1).split(",")]
        return f"[{','.join(extents)}]"

    return re.sub(r"\[([^\]]*)\]", block, signature)


class _Builder:
    """One kernel on its way from a request to its variants."""

    def __init__(self, request, targets, with_ptx):
        self.request, self.targets, self.with_ptx = request, targets, with_ptx
        self.fn = request.kernel if not isinstance(request.kernel, str) else load_function(request.kernel)
        self.name = identifier(request.name or self.fn.__name__)
        self.configurations = request.configurations or [{}]
        if not request.signatures:
            raise refused(
                f"'{self.name}' has no signature", 'give the types of its parameters: "*fp32:16,*fp32:16,i32,BLOCK=1024"'
            )
        if len(self.configurations) * len(request.signatures) > _FEW:
            raise refused(
                f"'{self.name}' has {len(self.configurations)} configurations", f"choose the best; {_FEW} are the most"
            )

    def _split(self, configuration):
        """(constants of the kernel, options) of a configuration."""
        names = set(self.fn.arg_names)
        for name in configuration:
            if name not in names and name not in DEFAULTS:
                raise refused(
                    f"'{name}' of a configuration is neither a parameter of {self.fn.__name__}"
                    f"({', '.join(self.fn.arg_names)}) nor an option",
                    "see docs/launch.md for the options",
                )
        return (
            {n: v for n, v in configuration.items() if n in names},
            {n: v for n, v in configuration.items() if n not in names},
        )

    def _source(self, signature, constants) -> ASTSource:
        types, given, divisibility = parse_signature(self.fn, _named_blocks(signature, constants))
        for name in constants:
            if name in types:
                raise refused(f"'{name}' is in the signature and in a configuration", "leave it out of the signature")
        return ASTSource(self.fn, types, {**given, **constants}, divisibility)

    def _image(self, source, target, options, kind) -> Image | None:
        kernel = compile(source, target, options)
        content = kernel.asm.get("cubin") if kind != "ptx" else kernel.asm["ptx"].encode() + b"\0"
        if content is None:
            return None
        metadata = kernel.metadata._asdict()
        del metadata["target"], metadata["hash"]
        return Image(target, kind, capability_of(target), content, metadata)

    def _images(self, source, options):
        kinds = [(target, "exact" if target.endswith("a") else "family") for target in self.targets]
        images = [self._image(source, target, options, kind) for target, kind in kinds]
        if None in images:
            raise refused("there is no assembler for machine code", "install nvidia-nvjitlink; see tilewright doctor")
        if self.with_ptx:
            images.append(self._image(source, _ptx_target(self.targets), options, "ptx"))
        return images

    def _variant(self, number, signature, configuration) -> Variant:
        constants, options = self._split(configuration)
        source = self._source(signature, constants)
        for name, kind in source.runtime_signature.items():
            _check_type(name, kind)
        # What a launch on separate arrays runs; the exported launch looks for arrays that are passed twice.
        options = {"arguments_may_overlap": False, **self.request.options, **options}
        return Variant(
            self.request.signatures.index(signature),
            number,
            dict(source.runtime_signature),
            dict(source.constants),
            dict(source.divisibility),
            self._images(source, options),
        )

    def kernel(self) -> ExportedKernel:
        variants = [
            self._variant(number, signature, configuration)
            for number, configuration in enumerate(self.configurations)
            for signature in self.request.signatures
        ]
        parameters = _parameters(self.fn.arg_names, variants)
        table = self.request.table
        for key in table.keys if table else ():
            if not any(p.name == key and p.kind[0] in "iu" for p in parameters):
                raise refused(
                    f"the key '{key}' of the tuner is no integer parameter of the exported function",
                    "give it a type in the signature, so that the launch can choose by it",
                )
        return ExportedKernel(
            self.name,
            self.fn.__qualname__,
            parameters,
            self.request.signatures,
            self.configurations,
            self._grid(parameters, variants),
            variants,
            table,
        )

    def _grid(self, parameters, variants):
        if self.request.grid is None:
            if len(self.configurations) > 1:
                raise refused(
                    f"'{self.name}' has several configurations and no grid",
                    'say how many programs there are, by the constants: --grid "cdiv(n, BLOCK)"',
                )
            return None
        runtime = {p.name for p in parameters}
        constants = {name for name, value in variants[0].constants.items() if type(value) is int and name not in runtime}
        return Grid(
            self.request.grid,
            [p.name for p in parameters if p.kind[0] in "iu"],
            {p.name: Descriptor.of(variants[0].types[p.name]).rank for p in parameters if is_descriptor(p.kind)},
            constants,
        )


def _check_type(name, kind):
    if kind.startswith("("):
        raise refused(f"the parameter '{name}' is a tuple, which C has not", "give its elements as parameters of their own")
    if not kind.startswith("*") and not is_descriptor(kind):
        number_type(name, kind)
    if is_descriptor(kind):
        descriptor = Descriptor.of(kind) if re.fullmatch(r"tensordesc<\w+\[[\d,]+\](,\w+)*>", kind) else None
        if descriptor is None or descriptor.form() is None:
            raise errors.make(
                "E0215",
                a=name,
                reason=f"'{kind}' is no type of a descriptor that a launch can make",
                rule="a block of powers of two with at least 16 bytes in the last dimension, such as tensordesc<fp16[128,64]>",
            )


def _general(kind) -> str:
    """A type without what differs from variant to variant: the extents of a descriptor's block."""
    return re.sub(r"\[[^\]]*\]", lambda block: f"[{block.group().count(',') + 1}]", kind)


def _parameters(names, variants) -> list:
    """What is given at run time in at least one variant, in the kernel's order."""
    written = set()
    for metadata in (image.metadata for variant in variants for image in variant.images):
        written |= set(names if metadata["written_args"] is None else metadata["written_args"])
    parameters = []
    for name in names:
        kinds = {_general(v.types[name]): v.types[name] for v in variants if name in v.types}
        if len(kinds) > 1:
            raise refused(f"signatures give '{name}' the types {' and '.join(kinds)}", "export them under names of their own")
        for kind in kinds.values():
            parameters.append(Parameter(name, kind, name in written))
            _check_constants(name, kind, variants)
    return parameters


def _check_constants(name, kind, variants):
    """Where one signature has a constant for what another is given, the launch compares; so it must be a number."""
    for variant in variants:
        value = variant.constants.get(name, 0)
        if name not in variant.types and (type(value) not in (int, bool) or kind[0] not in "iu"):
            raise refused(
                f"signatures give '{name}' the type {kind} and the constant {value!r}", "only integers can be compared"
            )


def build(name, requests, targets, with_ptx=True) -> Library:
    """Compiles all that is asked for."""
    builders = [_Builder(request, targets, with_ptx) for request in requests]
    name = identifier(name)
    taken = {f"{name}_{function}" for function in ("load", "unload", "error_text", "last_error")}
    for builder in builders:
        if builder.name in taken:
            raise refused(
                f"two functions of the library would be called '{builder.name}'",
                'give the kernel another "name", or the library',
            )
        taken |= {builder.name, f"{builder.name}_with", f"{builder.name}_configurations"}
    return Library(name, [builder.kernel() for builder in builders])
