# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright lint`: mistakes that the text of a kernel shows, without importing or compiling it (docs/linting.md)."""
