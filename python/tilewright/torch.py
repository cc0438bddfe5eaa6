# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels as operators of torch: `tilewright.torch.custom_op`.

    scale = tilewright.torch.custom_op(
        "mine::scale", scale_kernel, lambda meta: (tilewright.cdiv(meta["n"], meta["BLOCK"]), ),
        "*fp32,*fp32,i32,fp32", outputs={"out_ptr": lambda x_ptr, n, factor: torch.empty_like(x_ptr)}, BLOCK=1024)

    y = scale(x, x.numel(), 2.0)

The kernel itself shows which arguments the operator changes, so you do not declare them.
"""

from __future__ import annotations

from typing import Callable, Optional

import torch

from . import errors
from .compiler.compiler import ASTSource
from .compiler.options import DEFAULTS
from .framework_calls import function_of, written_arguments

__all__ = ["custom_op"]


def _types_of(function, signature, constants) -> dict:
    """The types by parameter: of a mapping as it is, of a text in the order of the parameters that are no constants."""
    if not isinstance(signature, str):
        return dict(signature)
    names = [parameter.name for parameter in function.params if not parameter.is_constexpr and parameter.name not in constants]
    kinds = [kind.strip() for kind in signature.split(",")] if signature.strip() else []
    if len(kinds) > len(names):
        raise errors.make("E0205", problem="unexpected", a=kinds[len(names)], sig=f"{function.__name__}({', '.join(names)})")
    return dict(zip(names, kinds))


def _schema_type(name, kind) -> str:
    if isinstance(kind, str) and kind.startswith("*"):
        return "Tensor"
    if kind in ("i1", "u1", "bool"):
        return "bool"
    if isinstance(kind, str) and kind[:1] in "iu" and kind[1:].isdigit():
        return "SymInt"
    if isinstance(kind, str) and (kind.startswith("fp") or kind == "bf16"):
        return "float"
    raise errors.make("E0206", a=name, d=kind)


def _schema(types, written, outputs) -> str:
    """The operator's schema: what the kernel writes and the caller passes is marked as changed."""
    parameters = []
    for position, (name, kind) in enumerate((n, k) for n, k in types.items() if n not in outputs):
        text = _schema_type(name, kind)
        if text == "Tensor" and name in written:
            text = f"Tensor(a{position}!)"
        parameters.append(f"{text} {name}")
    results = ["Tensor"] * len(outputs)
    return f"({', '.join(parameters)}) -> " + (results[0] if len(results) == 1 else f"({', '.join(results)})")


def _register_backward(operator, passed, outputs, backward):
    """Gives the operator the gradients that `backward` computes, by the names of its arguments."""

    def setup_context(ctx, inputs, output):
        results = output if len(outputs) > 1 else (output,)
        values = {**dict(zip(passed, inputs)), **dict(zip(outputs, results))}
        tensors = {name: value for name, value in values.items() if isinstance(value, torch.Tensor)}
        ctx.save_for_backward(*tensors.values())
        ctx.names = tuple(tensors)
        ctx.numbers = {name: value for name, value in values.items() if name not in tensors}

    def gradients_of_arguments(ctx, *gradients):
        values = {**ctx.numbers, **dict(zip(ctx.names, ctx.saved_tensors))}
        # That of a sum is one number seen as a whole tensor, with strides of 0, which kernels do not expect.
        known = {name: gradient.contiguous() for name, gradient in zip(outputs, gradients)}
        found = backward(known, **values)
        for argument in found:
            if argument not in passed:
                raise errors.make(
                    "E0205", problem="unexpected", a=argument, sig=f"the arguments of the operator ({', '.join(passed)})"
                )
        return tuple(found.get(argument) for argument in passed)

    operator.register_autograd(gradients_of_arguments, setup_context=setup_context)


def _register_vmap(operator, passed, written):
    """Lets `torch.vmap` run the operator for one slice after the other; a better way can be registered over it."""

    def one_by_one(info, in_dims, *values):
        if info.batch_size == 0:
            raise errors.make(
                "E0122",
                name=operator._qualname,
                problem="torch.vmap over an axis of extent 0",
                help="leave the call out where there are no slices",
            )
        for argument, value, axis in zip(passed, values, in_dims):
            if argument in written and axis is None:
                raise errors.make(
                    "E0122",
                    name=operator._qualname,
                    problem=f"torch.vmap gives each slice the same '{argument}', which the kernel changes",
                    help="map over that argument too, or register a rule by register_vmap",
                )
        slices = [
            operator(*(value if axis is None else value.select(axis, i) for value, axis in zip(values, in_dims)))
            for i in range(info.batch_size)
        ]
        if slices[0] is None:
            return None, None
        if isinstance(slices[0], torch.Tensor):
            return torch.stack(slices), 0
        stacked = tuple(torch.stack(parts) for parts in zip(*slices))
        return stacked, (0,) * len(stacked)

    operator.register_vmap(one_by_one)


def _bodies_of(launch, passed, outputs) -> tuple[Callable, Callable]:
    """What the operator runs, and what makes its results where shapes are only traced."""

    def make_outputs(arguments):
        made = {}
        for output, make in outputs.items():
            made[output] = make(**arguments)
        return made

    def results(made):
        return next(iter(made.values())) if len(made) == 1 else tuple(made.values()) if made else None

    def implementation(*values):
        arguments = dict(zip(passed, values))
        made = make_outputs(arguments)
        launch(arguments, made)
        return results(made)

    def fake(*values):
        return results(make_outputs(dict(zip(passed, values))))

    return implementation, fake


def custom_op(
    name: str,
    kernel,
    grid,
    signature,
    outputs: Optional[dict[str, Callable]] = None,
    backward: Optional[Callable] = None,
    **constants,
):
    """Registers `kernel` as the operator `name` ("library::operator") and returns torch's object for it.

    `signature` has the types of the parameters, as a text in their order ("*fp32,*fp32,i32") or as a mapping;
    `constants` are constexpr arguments and launch options. The operator takes the other parameters in the
    kernel's order. `outputs` names those that are results instead: each is made by a function of
    the operator's arguments, by name, which also runs where shapes are only traced.

    `backward(gradients, **arguments)` gets the gradients of the results by name, contiguous, and the operator's
    arguments and results by name; it returns those of the arguments that have one, by name. In compiled functions
    it is traced, so it launches kernels as operators, too.
    """
    outputs = dict(outputs or {})
    function, known = function_of(kernel)
    options = {key: value for key, value in constants.items() if key in DEFAULTS and key not in function.arg_names}
    given = {key: value for key, value in constants.items() if key not in options}
    source = ASTSource(function, _types_of(function, signature, given), {**known, **given})
    written = written_arguments(source, outputs)
    passed = [parameter for parameter in source.runtime_signature if parameter not in outputs]
    changed = [argument for argument in passed if argument in written]
    if backward is not None and changed:
        raise errors.make(
            "E0122",
            name="custom_op",
            problem=f"{name} has no gradients, as it changes its argument '{changed[0]}'",
            help="let the kernel write to results alone (outputs=)",
        )

    def launch(arguments, made):
        kernel[grid](**arguments, **made, **constants)

    implementation, fake = _bodies_of(launch, passed, outputs)
    operator = torch.library.custom_op(
        name,
        implementation,
        mutates_args=[p for p in passed if p in written],
        schema=_schema(source.runtime_signature, written, outputs),
    )
    operator.register_fake(fake)
    _register_vmap(operator, passed, written)
    if backward is not None:
        _register_backward(operator, passed, tuple(outputs), backward)
    return operator
