# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels made ahead of time: as a C library that needs the CUDA driver alone, or as a package for Python.

`requests.py` says what is asked for, `build.py` compiles it, `model.py` is the result;
`c_library.py` and `package_file.py` write it, and `package.py` launches what was written as a package.
"""
