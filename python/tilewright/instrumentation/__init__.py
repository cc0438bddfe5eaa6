# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A place of Triton's for its tools that look into kernels; there is nothing in it, here as there."""
