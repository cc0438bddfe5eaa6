# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A kernel that makes a tensor map itself, for which a launch brings memory."""

import tilewright as tw
import tilewright.language as tl


@tw.jit
def grouped(x, out, n):
    # The base depends on the program, so no launch can make the map.
    source = tl.make_tensor_descriptor(x + tl.program_id(0) * n, [n], [1], [16])
    tile = source.load([0])
    tl.store(out + tl.program_id(0) * 16 + tl.arange(0, 16), tile)
