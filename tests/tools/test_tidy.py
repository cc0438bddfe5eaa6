# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The checks of .clang-tidy: each of these faults is found, and the house's own forms are not."""

import re
import shutil
import subprocess

import pytest

from tools.sources import ROOT

pytestmark = pytest.mark.skipif(not shutil.which("clang-tidy-19"), reason="clang-tidy-19 is not installed")

# One fault for each check, found at once: clang-tidy takes a second to start.
FAULTS = {
    "readability-identifier-naming": "static int NumWarps() { return 4; }",
    "readability-inconsistent-declaration-parameter-name": """static int half(int size);
static int half(int bytes) { return bytes / 2; }""",
    "bugprone-use-after-move": """static unsigned long sizeAfterMove(Text text) {
  Text kept = std::move(text);
  return text.size() + kept.size();
}""",
    "bugprone-integer-division": "static double share(int part, int whole) { return part / whole; }",
    "performance-unnecessary-value-param": "static unsigned long sizeOf(const Text text) { return text.size(); }",
    "misc-unused-using-decls": "namespace other {\nclass Unused;\n}\nusing other::Unused;",
    "misc-use-internal-linkage": "int visible() { return 4; }",
}

TEXT = """
namespace std {
template <typename T> T &&move(T &value) { return static_cast<T &&>(value); }
} // namespace std
class Text {
public:
  Text() = default;
  Text(const Text &);
  Text(Text &&) noexcept;
  ~Text();
  unsigned long size() const;
};
"""

HOUSE = """
namespace tilewright {
namespace {
class LaunchTable {
public:
  int numWarps() const { return warps; }

private:
  int warps = 4;
};
} // namespace
template <typename Function>
static bool isNan(double value, Function function) {
  return value != value && function();
}
static int warpsOf(const LaunchTable &table) { return table.numWarps(); }
} // namespace tilewright
"""


def checks_that_fire(tmp_path, text):
    file = tmp_path / "Sample.cpp"
    file.write_text('#include "Text.h"\n' + text + "\n")
    (tmp_path / "Text.h").write_text(TEXT)
    command = ["clang-tidy-19", "--quiet", "--warnings-as-errors=*", f"--config-file={ROOT / '.clang-tidy'}", file, "--", "-w"]
    done = subprocess.run(command, capture_output=True, text=True)
    found = set(re.findall(r"\[([a-z-]+),-warnings-as-errors\]", done.stdout))
    assert (done.returncode != 0) == bool(found), done.stdout + done.stderr
    return found


def test_faults_are_found(tmp_path):
    found = checks_that_fire(tmp_path, "\n".join(FAULTS.values()))
    assert found == set(FAULTS)


def test_house_forms_are_accepted(tmp_path):
    assert not checks_that_fire(tmp_path, HOUSE)


def test_checks_exist():
    command = ["clang-tidy-19", "--verify-config", f"--config-file={ROOT / '.clang-tidy'}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "No config errors detected" in done.stdout, done.stdout + done.stderr
