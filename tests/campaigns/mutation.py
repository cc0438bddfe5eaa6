# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes mistakes in the interpreter's C++ and says which ones no test notices.

    python tests/campaigns/mutation.py              # all mutants
    python tests/campaigns/mutation.py bounds nan   # those whose name contains a word
    python tests/campaigns/mutation.py --list

A mutant is one replaced text. The working tree's own build folder is used: each mutant compiles one file, links the unit
tests and the extension, and runs the tests of the interpreter until the first failure. The file is put back in any case.
"""

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "runtime" / "interpreter"
BUILD = Path(os.environ.get("TILEWRIGHT_BUILD_DIR", ROOT / "build"))

# From quick to slow: the first that fails ends a mutant.
TESTS = [
    [str(BUILD / "tests" / "tilewright-unit"), "--gtest_filter=Interpreter*", "--gtest_brief=1"],
    [sys.executable, "-m", "pytest", "-q", "-x", "tests/planted", "tests/diag/test_check_reports.py"],
    [sys.executable, "-m", "pytest", "-q", "-x", "-k", "not assemble and not emulator and not gpu",
     "tests/e2e/test_interpreter_values.py", "tests/e2e/test_interpreter_memory.py", "tests/e2e/test_casts.py",
     "tests/e2e/test_reductions.py", "tests/e2e/test_elementwise.py", "tests/e2e/test_shapes.py", "tests/e2e/test_dot.py",
     "tests/e2e/test_atomics.py", "tests/e2e/test_running_reductions.py"],
]  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    text: str
    replacement: str


MUTANTS = [
    Mutant("bounds-last-element", "Memory.cpp", "lastOffset = span - size,", "lastOffset = span,"),
    Mutant("bounds-masked-lanes", "Memory.cpp",
           "outside |= (offset | (lastOffset - offset)) & active;", "outside |= offset & active;"),
    Mutant("bounds-smallest-array", "Memory.cpp",
           "address < array.high && size < bestSize", "address <= array.high && size < bestSize"),
    Mutant("bounds-negative-element", "Memory.cpp", "-((-bytes + size - 1) / size)", "-(-bytes / size)"),
    Mutant("nan-of-minimum", "CpuElementwise.cpp",
           "canonical(a != a ? b : (b != b ? a : orderedMin(a, b)))", "canonical(a < b ? a : b)"),
    Mutant("nan-propagated", "CpuElementwise.cpp",
           "canonical(a != a ? a : (b != b ? b : orderedMax(a, b)))", "canonical(orderedMax(a, b))"),
    Mutant("zero-sign-of-minimum", "CpuElementwise.cpp",
           "bitCast<BitsOf<T>>(a) | bitCast<BitsOf<T>>(b)", "bitCast<BitsOf<T>>(a) & bitCast<BitsOf<T>>(b)"),
    Mutant("nan-bits", "CpuElementwise.cpp", "bitCast<float>(0x7fffffffu)", "bitCast<float>(0x7fc00000u)"),
    Mutant("shift-by-width", "CpuElementwise.cpp",
           "b < bits ? static_cast<U>(a << (b & (bits - 1))) : U(0)", "static_cast<U>(a << (b & (bits - 1)))"),
    Mutant("quotient-of-smallest", "CpuElementwise.cpp",
           "isNegation ? static_cast<T>(U(0) - static_cast<U>(a)) : quotient", "quotient"),
    Mutant("remainder-sign", "CpuElementwise.cpp",
           "static_cast<U>(static_cast<U>(a) - product)", "static_cast<U>(product - static_cast<U>(a))"),
    Mutant("cast-saturation", "CpuCast.cpp", "return Limits::max();", "return Limits::min();"),
    Mutant("cast-nan-to-int", "CpuCast.cpp",
           "bool wide = sizeof(To) == 8 || sizeof(From) == 8;", "bool wide = sizeof(To) == 8;"),
    Mutant("cast-double-rounding", "CpuCast.cpp",
           "chunk[i] = roundToOddFloat(from[start + i]);", "chunk[i] = static_cast<float>(from[start + i]);"),
    Mutant("cast-toward-zero", "CpuCast.cpp",
           "chunk[i] = roundToZeroFloat(from[start + i]);", "chunk[i] = static_cast<float>(from[start + i]);"),
    Mutant("fma-rounded-twice", "CpuElementwise.cpp", "canonical(std::fma(a[i], b[i], c[i]))", "canonical(a[i] * b[i] + c[i])"),
    Mutant("reduce-order", "CpuReduce.cpp", "even[i] = from[2 * i];", "even[i] = from[2 * i + 1];"),
    Mutant("scan-first-element", "CpuReduce.cpp",
           "std::memcpy(result, source, distance * step);", "std::memset(result, 0, distance * step);"),
    Mutant("dot-tf32", "CpuDot.cpp", "return {1, tf32Bits};", "return {1, 0xfffff000u};"),
    Mutant("dot-nan", "CpuDot.cpp", "sum = sum == sum ? sum : bitCast<float>(0x7fffffffu);", "sum = sum == sum ? sum : 0.0f;"),
    Mutant("load-other", "CpuMemory.cpp",
           "std::memcpy(result + active, other + active,", "std::memcpy(result + active, other,"),
    Mutant("load-gap-in-mask", "CpuMemory.cpp", "if (std::memchr(mask + active, 1, count - active))", "if (false)"),
    Mutant("atomic-inactive", "CpuAtomics.cpp", "olds[i] = 0;", "olds[i] = 1;"),
    Mutant("atomic-signed-maximum", "CpuAtomics.cpp",
           "return signedOld > signedOperand ? old : operand;", "return old > operand ? old : operand;"),
    Mutant("wrap-of-sums", "WrappedIntegers.cpp",
           "return std::max(left, right) < room;", "return std::max(left, right) <= room;"),
    Mutant("wrap-of-products", "WrappedIntegers.cpp", "return left + right < room;", "return left + right <= room + 1;"),
    Mutant("wrap-undone", "WrappedIntegers.cpp", "if (number == laneAsInteger(result, i))\n      return 0;\n    for", "for"),
    Mutant("mark-ends-when-finite", "Marks.cpp", "bool isOver = isFloat && origins", "bool isOver = false && origins"),
    Mutant("mark-decided-by-false", "Marks.cpp", "return laneAsInteger(operand, lane) == 0;", "return false;"),
    Mutant("mark-of-inactive-lane", "Marks.cpp", "if (lanes[i] && (!mask || mask[i]))", "if (lanes[i])"),
    Mutant("hint-groups", "CpuHints.cpp", "if (i % promise.number == 0)", "if (i == 0)"),
    Mutant("hint-runs", "CpuHints.cpp", "(i == 0 || value != before + promise.unit) && ", ""),
    Mutant("unwritten-part", "UnwrittenMemory.cpp",
           "std::fill_n(isWritten, access.sizeInBytes, uint8_t(1));", "*isWritten = 1;"),
]  # fmt: skip


def run(command):
    environment = {**os.environ, "TILEWRIGHT_BUILD_DIR": str(BUILD)}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True).returncode


def build():
    return run(["cmake", "--build", str(BUILD), "--target", "tilewright-unit", "_core"])


def what_fails():
    """What fails, of the build and the tests; "" for nothing."""
    if build() != 0:
        return "the compiler"
    return next((f"tests {number}" for number, command in enumerate(TESTS, 1) if run(command) != 0), "")


def noticed_by(mutant):
    """Which tests notice it; "" for none."""
    path = FOLDER / mutant.file
    original = path.read_text()
    if original.count(mutant.text) == 0:
        return "nothing: the text is not there any more"
    try:
        path.write_text(original.replace(mutant.text, mutant.replacement))
        return what_fails()
    finally:
        path.write_text(original)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    chosen = [m for m in MUTANTS if not arguments.words or any(word in m.name for word in arguments.words)]
    if arguments.list:
        print("\n".join(f"{m.name:28} {m.file}" for m in chosen))
        return
    if failing := what_fails():
        sys.exit(f"{failing} would notice every mutant: without one there is a failure")
    survivors = []
    try:
        for mutant in chosen:
            by = noticed_by(mutant)
            print(f"{mutant.name:28} {f'noticed by {by}' if by else 'NOT NOTICED'}", flush=True)
            survivors += [] if by else [mutant.name]
    finally:
        build()
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutants are noticed")
    sys.exit(bool(survivors))


if __name__ == "__main__":
    main()
