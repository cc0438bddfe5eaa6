# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Configuration of the FileCheck tests.

Finds tilewright-opt in the build folder (TILEWRIGHT_BUILD_DIR, else
build/ of the checkout) and FileCheck of LLVM 19 on the PATH. `config` is put
here by lit itself.
"""

import os
import shutil
from pathlib import Path

import lit.formats

root = Path(__file__).resolve().parents[2]
build = Path(os.environ.get("TILEWRIGHT_BUILD_DIR", root / "build"))


# FileCheck, not, split-file and count of the same LLVM.
tools = os.pathsep.join(["/usr/lib/llvm-19/bin", os.environ.get("PATH", "")])
if not shutil.which("FileCheck", path=tools):
    lit_config.fatal("no FileCheck; scripts/setup installs it (llvm-19-tools)")  # noqa: F821

config.name = "tilewright"  # noqa: F821
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.suffixes = [".mlir"]  # noqa: F821
config.test_source_root = str(Path(__file__).parent)  # noqa: F821
config.test_exec_root = lit_config.params.get("exec_root", str(build / "tests" / "lit"))  # noqa: F821
config.substitutions.append((r"\btilewright-opt\b", str(build / "tools" / "tilewright-opt")))  # noqa: F821
config.environment["PATH"] = tools  # noqa: F821
