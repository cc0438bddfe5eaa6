# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Configurations from the tuner's figures: the best of each tuned key becomes a row of the exported table."""

from __future__ import annotations

import ast

from ..kernel_arguments import load_object, parse_signature, refused
from ..runtime.dependencies import Dependencies
from ..scalar_types import plain_type, short_type
from ..tuning import table
from .model import TunedTable


def _tables(function):
    """Headers of all tables of a kernel: of this machine's cache, the latest first, then of files beside the kernel."""
    dependencies = Dependencies(function)
    dependencies.encode(())
    digest = dependencies.digest()
    shipped = [found for path in table.shipped_files(function.file) for found in table.read_file(path)]
    headers = [header for _, header in table.all_tables(function.__name__)] + shipped
    return [header for header in headers if header["fields"].get("kernel") == digest]


def _best(header, by_identity):
    """The configuration that a launch with this key would run, or None."""
    records = header["records"]
    for identity in (header.get("pinned"), header.get("best")):
        if identity in by_identity:
            return by_identity[identity]
    working = [
        (record["median"], identity)
        for identity, record in records.items()
        if record["status"] == "ok" and record["median"] is not None and identity in by_identity
    ]
    return by_identity[min(working)[1]] if working else None


def _values_of(header, count, element_types):
    """The numbers of a table's key, or None where it is of arrays of other types, or no row of numbers."""
    try:
        key = ast.literal_eval(header["key"])
    except (KeyError, ValueError, SyntaxError):
        return None
    values, texts = key[:count], key[count:]
    if any(type(value) is not int for value in values) or len(texts) != len(element_types):
        return None
    return list(values) if all(short_type("key", text) == kind for text, kind in zip(texts, element_types)) else None


def _element_types(kinds):
    """Element types of the arrays among a signature's types, as the tuner's key has them."""
    return [
        kind.lstrip("*k") if kind.startswith("*") else kind[len("tensordesc<") : kind.index("[")]
        for kind in map(plain_type, kinds)
        if kind.startswith(("*", "tensordesc<"))
    ]


def add_tuned_results(request):
    """Gives a request the configurations that the tuner has chosen, and the table of them."""
    tuned, function = load_object(request.kernel)
    keys = getattr(tuned, "keys", None)
    if keys is None or not hasattr(tuned, "configs"):
        raise refused(
            f"'{function.__name__}' is not tuned",
            "decorate it with @autotune, or name configurations: --config BLOCK=256,num_warps=4",
        )
    if request.configurations:
        raise refused(
            f"'{function.__name__}' has configurations and is to have the tuned ones", "leave --config or --tuned away"
        )
    # In the kernel's order, as a launch passes them; constants of configurations are not in the signature yet.
    types = parse_signature(function, request.signatures[0])[0] if request.signatures else {}
    element_types = _element_types([types[name] for name in function.arg_names if name in types])
    by_identity = {table.config_identity(config)[0]: config for config in tuned.configs}
    best: dict = {}  # (device, values) -> configuration
    for header in _tables(function):
        config, values = _best(header, by_identity), _values_of(header, len(keys), element_types)
        if config is not None and values is not None:
            best.setdefault((header["fields"]["device"], tuple(values)), config)
    chosen = [config for config in tuned.configs if config in best.values()]
    found = TunedTable(list(keys))
    for (device, values), config in sorted(best.items(), key=lambda item: item[0]):
        found.devices.setdefault(device, []).append((list(values), chosen.index(config)))
    if not chosen:
        raise refused(
            f"there are no tuned results of '{function.__name__}' for such arguments on this machine",
            "run the program that tunes it, import its tables (tilewright tune import), or name configurations: --config",
        )
    request.configurations, request.table = [config.all_kwargs() for config in chosen], found
