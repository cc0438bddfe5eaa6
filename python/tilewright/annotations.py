# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The annotations of functions, classes and modules, on every version of Python.

From Python 3.14 on they are evaluated when they are asked for (PEP 649). A class or a module then has no dictionary of
them among its variables, and an annotation may name what is defined later, or only for type checkers. Such an annotation
is given here as its text, as all of them are under `from __future__ import annotations`.
"""

from __future__ import annotations

import inspect
import sys

from .user_objects import text_of

_ARE_LAZY = sys.version_info >= (3, 14)
if _ARE_LAZY:
    import annotationlib  # not in Python 3.13


def _known_or_text(read) -> dict:
    """What `read` gives in one of annotationlib's formats: values, but the texts of those that name something unknown."""
    values = read(annotationlib.Format.FORWARDREF)
    unknown = [name for name, value in values.items() if "ForwardRef(" in text_of(value)]
    texts = read(annotationlib.Format.STRING) if unknown else {}
    return {**values, **{name: texts[name] for name in unknown}}


def class_annotations(cls) -> dict:
    """Those of a class, without its bases'."""
    if not _ARE_LAZY:
        return inspect.get_annotations(cls)
    return _known_or_text(lambda form: annotationlib.get_annotations(cls, format=form))


def module_annotations(variables) -> dict:
    """Those of the module that has these variables, as far as it has run."""
    annotations = variables.get("__annotations__")
    annotations = annotations if isinstance(annotations, dict) else {}
    annotate = variables.get("__annotate__") if _ARE_LAZY else None
    if not callable(annotate):
        return annotations
    try:
        return {**annotations, **_known_or_text(lambda form: annotationlib.call_annotate_function(annotate, form))}
    except Exception:  # noqa: BLE001 - the annotation of some other name may raise anything
        return annotations


def signature(function) -> inspect.Signature:
    """As inspect.signature, which from Python 3.14 on raises NameError where an annotation names something unknown."""
    if not _ARE_LAZY:
        return inspect.signature(function)

    def read(form):
        parameters = inspect.signature(function, annotation_format=form).parameters
        return {name: parameter.annotation for name, parameter in parameters.items()}

    found = inspect.signature(function, annotation_format=annotationlib.Format.FORWARDREF)
    annotations = _known_or_text(read)
    return found.replace(parameters=[p.replace(annotation=annotations[p.name]) for p in found.parameters.values()])
