# ===- __init__.py - What the tests share ----------------------------------===#
#
# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: devices to run a kernel on, element types with their special values, and
# comparisons that know what is exact.
#
# ===----------------------------------------------------------------------===#
