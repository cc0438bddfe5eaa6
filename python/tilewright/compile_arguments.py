# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of `tilewright compile`."""

from __future__ import annotations

from .lazy_names import deferred

#: What `tilewright compile --emit` names, and the stage that it is.
STAGES = {
    "ttir": "ttir",
    "ir": "ttir",
    "layout": "ttgir",
    "ttgir": "ttgir",
    "llir": "llir",
    "ptx": "ptx",
    "cubin": "cubin",
    "sass": "sass",
}


def add_parser(commands):
    one = commands.add_parser("compile", help="compile a kernel without a GPU")
    one.set_defaults(call=deferred("compile_command:compile_command"), stages=STAGES)
    one.add_argument("kernel", metavar="FILE:FUNCTION")
    one.add_argument("--signature", "-s", required=True, help='"*fp32:16,*fp32,i32,1024" or "x=*fp32,BLOCK=1024"')
    one.add_argument("--target", "-t", default="sm_90a", help="sm_80, sm_86, sm_89 or sm_90a (default)")
    one.add_argument("--emit", "-e", default="ptx", choices=sorted(STAGES))
    one.add_argument("--output", "-o", help="file; standard output where missing")
    one.add_argument("--num-warps", dest="num_warps", type=int)
    one.add_argument("--num-stages", dest="num_stages", type=int)
    one.add_argument("--num-ctas", dest="num_ctas", type=int)
    one.add_argument("--maxnreg", type=int)
    one.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="any other launch option")
    one.add_argument("--verbose", "-v", action="store_true", help="resources and remarks on standard error")
