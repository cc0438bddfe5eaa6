# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rules: their names, what they find, and where a finding is collected."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..checking.finding import Finding


@dataclass(frozen=True)
class Rule:
    """One kind of finding. Rules that are right about many sound programs' habits only are off by default."""

    name: str
    summary: str
    help: str
    is_default: bool = True


RULES = {
    rule.name: rule
    for rule in (
        Rule("forbidden", "a construct that kernels may not contain (E0102)", ""),
        Rule(
            "constexpr-needed",
            "a value known at run time only where a compile-time one is needed (E0112)",
            "annotate the parameter as tl.constexpr, or compute the value from such parameters",
        ),
        Rule("unknown-name", "a name that the language does not have (E0104, E0125)", ""),
        Rule("unknown-keyword", "a keyword that a function of the language does not take (E0122)", ""),
        Rule("launch-keyword", "a keyword of a launch that is neither a parameter nor an option (E0210)", ""),
        Rule(
            "missing-mask",
            "an access without a mask by an index that masks other accesses of the kernel",
            "pass mask=, as the other access does",
        ),
        Rule(
            "undefined-lanes",
            "lanes that a masked load leaves undefined reach a reduction or a product",
            "pass other= with the neutral value (0 for sums and products, -inf for maxima), or use tl.where",
        ),
        Rule("unused-mask", "a comparison that is assigned and never used", "pass it as mask=, or remove it"),
        Rule(
            "half-accumulator",
            "a sum over a loop in float16 or bfloat16",
            "accumulate in tl.float32 and convert once, after the loop",
        ),
        Rule("lost-accumulator", "an accumulator of products that each iteration makes anew", "create it before the loop"),
        Rule(
            "float64-constant",
            "a constant that no float32 holds makes a tile of float64",
            "use a constant of at least 1.2e-38, or convert the result",
        ),
        Rule("print-left", "a print that is left in a kernel", "remove it, or put it under 'if DEBUG:' with a constexpr"),
        Rule(
            "unmasked-tail",
            "an access at program_id * BLOCK + arange without a mask",
            "pass mask=, unless the extent is a multiple of the block",
            is_default=False,
        ),
        Rule(
            "int32-stride",
            "a product of the program id and a run-time stride, in 32 bits",
            "widen it for arrays of 2^31 elements and more: tl.program_id(0).to(tl.int64) * stride",
            is_default=False,
        ),
    )
}


class Reporter:
    """Takes findings in one kernel or launch, but for those that are turned off."""

    def __init__(self, module, enabled):
        self.module, self.enabled = module, enabled
        self.findings: list = []

    def report(self, name: str, node: ast.AST, kernel: str, text: str, *, help: str = "", notes=()):
        if name not in self.enabled or self.module.ignored(node) & {name, "*"}:
            return
        line = self.module.lines[node.lineno - 1]
        frame = {
            "file": self.module.path,
            "function": kernel,
            "line": node.lineno,
            "column": node.col_offset + 1,
            "source_line": line.strip(),
        }
        self.findings.append(Finding(name, text, help or RULES[name].help, list(notes), [frame], kernel))
