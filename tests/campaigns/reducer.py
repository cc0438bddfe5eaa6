# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the text of a failing kernel smaller while it goes on failing in the same way."""

import re


def kind_of(problem):
    """What stays the same while a kernel is made smaller: who finds it, and what."""
    who = problem.split(":")[0].split(" ")[0]
    code = re.search(r"E\d{4}", problem)
    what = code[0] if code else "differ" if "differ" in problem else problem.splitlines()[-1][:40]
    return f"{who} {what}"


def indent_of(line):
    return len(line) - len(line.lstrip())


def end_of_block(lines, at):
    """The first line after the one at `at` and what is indented below it."""
    end = at + 1
    while end < len(lines) and lines[end].strip() and indent_of(lines[end]) > indent_of(lines[at]):
        end += 1
    return end


def smaller_texts(lines, at):
    """Texts without the statement at a line; or, of a block, with its body alone."""
    line, end = lines[at], end_of_block(lines, at)
    start = at - 1 if line.startswith("def ") and lines[at - 1].startswith("@") else at
    yield lines[:start] + lines[end:]
    if end < len(lines) and lines[end].strip() == "else:" and indent_of(lines[end]) == indent_of(line):
        yield lines[:start] + lines[end_of_block(lines, end) :]
    if line.strip().startswith(("if ", "for ", "while ")) and end > at + 1:
        yield lines[:at] + [body[4:] for body in lines[at + 1 : end]] + lines[end:]
    if re.search(r", (mask|other|eviction_policy|cache_modifier|num_stages|loop_unroll_factor|flatten)=", line):
        hints = "eviction_policy|cache_modifier|num_stages|loop_unroll_factor|flatten|disallow_acc_multi_buffer|disable_licm"
        yield lines[:at] + [re.sub(rf', ({hints})=("[^"]*"|\w+)', "", line)] + lines[at + 1 :]
    if match := re.match(r"( +\w+ = )(.*)$", line):
        # An operand instead of the whole expression.
        for name in dict.fromkeys(re.findall(r"\b[a-z]+\d[\dx]*\b", match[2])):
            if match[2] != name:
                yield lines[:at] + [match[1] + name] + lines[at + 1 :]


def reduced(text, problem_of, rounds=3):
    """A smaller text of which `problem_of` says something of the same kind."""
    kind, lines = kind_of(problem_of(text)), text.split("\n")
    for _ in range(rounds):
        before, at = list(lines), len(lines) - 1
        while at >= 0:
            if at < len(lines) and lines[at].strip() and not lines[at].startswith(("import", "@", "def kernel")):
                for shorter in smaller_texts(lines, at):
                    if shorter != lines and kind_of(problem_of("\n".join(shorter)) or "nothing") == kind:
                        lines = shorter
                        break
            at -= 1
        if lines == before:
            break
    return "\n".join(lines)
