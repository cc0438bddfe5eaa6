# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests share.

Devices to run a kernel on, element types with their special values, and
comparisons that know what is exact.
"""
