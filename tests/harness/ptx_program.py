# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PTX text as a list of instructions.

Only what the compiler writes: one entry function, scopes without meaning
of their own, tables of bytes beside it, no calls but those that print.
"""

import dataclasses
import functools
import re


@dataclasses.dataclass
class Instruction:
    """`@!%p1 st.global.v2.f32 [%rd1+8], {%f1, %f2}`: parts of the name, texts of the operands."""

    text: str
    parts: list[str]
    operands: list[str]
    predicate: str | None = None
    negated: bool = False
    target: int = -1  # of a branch

    @property
    def name(self):
        return self.parts[0]

    @property
    def type(self):
        """The type suffix that tells how the result is held."""
        return self.parts[-1]


@dataclasses.dataclass
class Program:
    name: str
    parameters: list[tuple[str, int, int]]  # name, offset, bytes
    parameter_bytes: int
    num_threads: int
    instructions: list[Instruction]
    tables: dict[str, bytes]  # constants of the module, as of libdevice's polynomials
    local_bytes: int  # of each thread
    # Numbers of the instructions that some thread has run.
    executed: set[int] = dataclasses.field(default_factory=set)

    @functools.cached_property
    def is_plain(self):
        """Of each instruction, and of the end: whether it only computes, or reads and writes memory by threads."""
        return [instruction.name in PLAIN and "async" not in instruction.parts for instruction in self.instructions] + [False]

    @functools.cached_property
    def is_of_warps(self):
        """Of each instruction, whether all threads of a warp run it together, waiting for each other."""
        return [
            "sync" in instruction.parts and (instruction.name in OF_WARPS or "warp" in instruction.parts)
            for instruction in self.instructions
        ]

    @functools.cached_property
    def parameter_offsets(self):
        return {name: offset for name, offset, _ in self.parameters}


PLAIN = {
    "add", "sub", "mul", "mad", "fma", "div", "rem", "neg", "abs", "min", "max", "and", "or", "xor", "not", "shl", "shr",
    "shf", "prmt", "lop3", "bfe", "bfi", "mov", "setp", "selp", "cvt", "cvta", "ld", "st", "shfl", "mma", "ldmatrix", "popc",
    "clz", "brev", "copysign",
}  # fmt: skip
OF_WARPS = {"shfl", "vote", "redux", "elect", "mma", "ldmatrix", "stmatrix"}
WIDTHS = {"8": 1, "16": 2, "32": 4, "64": 8}


def split_operands(text: str) -> list[str]:
    """By commas outside of brackets and braces."""
    operands, depth, start = [], 0, 0
    for index, char in enumerate(text):
        depth += char in "[{("
        depth -= char in "]})"
        if char == "," and depth == 0:
            operands.append(text[start:index].strip())
            start = index + 1
    rest = text[start:].strip()
    return operands + [rest] if rest else operands


def parse_parameters(text: str):
    parameters, offset = [], 0
    for line in split_operands(text):
        align = re.search(r"\.align (\d+)", line)
        array = re.search(r"\.b8\s+(\S+)\[(\d+)\]", line)
        if array:
            name, size = array[1], int(array[2])
        else:
            name = line.split()[-1]
            size = WIDTHS[re.search(r"\.[ubsf](\d+)", line)[1]]
        alignment = int(align[1]) if array and align else size
        offset = -(-offset // alignment) * alignment
        parameters.append((name, offset, size))
        offset += size
    return parameters, offset


def statements(body: str):
    """Statements and labels ("name:") of a function's body, each with its scopes, innermost first."""
    position, scopes, count = 0, (0,), 0
    while position < len(body):
        char = body[position]
        if char == "{":
            count += 1
            scopes = (count, *scopes)
        elif char == "}":
            scopes = scopes[1:]
        if char.isspace() or char in "{};":
            position += 1
            continue
        label = re.match(r"[$\w]+:(?!:)", body[position:])
        end = label.end() + position if label else body.index(";", position)
        yield body[position:end].strip(), scopes
        position = end


def length_of_scope(text: str) -> int:
    """Up to the brace that closes what was opened before `text`."""
    depth = 1
    for match in re.finditer(r"[{}]", text):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.start()
    raise ValueError("a brace that is not closed")


def parse_instruction(text: str) -> Instruction:
    match = re.match(r"(?:@(!?)(\S+)\s+)?(\S+)\s*(.*)", text, re.S)
    negated, predicate, name, operands = match.groups()
    return Instruction(text, name.split("."), split_operands(operands), predicate, negated == "!")


def parse_tables(text: str) -> dict[str, bytes]:
    tables = re.finditer(r"\.(?:global|const)\s+(?:\.align \d+\s+)?\.b8\s+(\w+)\[(\d+)\]\s*=\s*\{([^}]*)\}", text)
    return {table[1]: bytes(map(int, table[3].split(","))).ljust(int(table[2]), b"\0") for table in tables}


@functools.cache
def parse(ptx: str) -> Program:
    text = re.sub(r"//[^\n]*|/\*.*?\*/|\n\s*\.loc\s[^\n]*", "", ptx, flags=re.S)
    entry = re.search(r"\.entry\s+(\S+?)\s*\((.*?)\)(.*?)\{", text, re.S)
    parameters, parameter_bytes = parse_parameters(entry[2])
    threads = int(re.search(r"\.reqntid (\d+)", entry[3])[1])
    body = text[entry.end() : entry.end() + length_of_scope(text[entry.end() :])]
    labels, instructions, scopes_of = {}, [], []
    for statement, scopes in statements(body):
        if statement.endswith(":"):
            labels[scopes[0], statement[:-1]] = len(instructions)
        elif not statement.startswith("."):
            instructions.append(parse_instruction(statement))
            scopes_of.append(scopes)
    for instruction, scopes in zip(instructions, scopes_of):
        if instruction.name == "bra":
            name = instruction.operands[0]
            instruction.target = next(labels[scope, name] for scope in scopes if (scope, name) in labels)
    local = re.search(r"\.local .*__local_depot0\[(\d+)\]", body)
    local_bytes = int(local[1]) if local else 0
    return Program(entry[1], parameters, parameter_bytes, threads, instructions, parse_tables(text), local_bytes)
