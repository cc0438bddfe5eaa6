# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of `tilewright export`."""

from __future__ import annotations

from ..lazy_names import deferred


def add_parser(commands):
    one = commands.add_parser("export", help="write kernels as a C library, or as a package for Python")
    one.set_defaults(call=deferred("exporting.command:export_command"))
    one.add_argument("kernel", metavar="FILE:FUNCTION | FILE.json", help="a kernel, or a file that names several")
    one.add_argument(
        "--signature",
        "-s",
        action="append",
        default=[],
        help='"*fp32:16,*fp32,i32,BLOCK=1024"; given again, what to take where the one before does not fit',
    )
    one.add_argument("--output", "-o", required=True, metavar="DIR | FILE.twpkg", help="where to write")
    one.add_argument(
        "--target", "-t", metavar="sm_80,sm_90a", help="GPUs to make machine code for; sm_80,sm_90a where not given"
    )
    one.add_argument("--grid", "-g", help='programs along each axis: "cdiv(n, BLOCK), heads"; else the caller says')
    one.add_argument(
        "--config",
        "-c",
        action="append",
        default=[],
        metavar="NAME=VALUE,...",
        help="constants and options of one configuration; given again, of one more",
    )
    one.add_argument("--tuned", action="store_true", help="the configurations that the tuner has chosen on this machine")
    one.add_argument("--name", help="of the library; else that of the output")
    one.add_argument("--no-ptx", dest="ptx", action="store_false", help="without PTX for newer GPUs")
    one.add_argument("--num-warps", dest="num_warps", type=int)
    one.add_argument("--num-stages", dest="num_stages", type=int)
    one.add_argument("--num-ctas", dest="num_ctas", type=int)
    one.add_argument("--maxnreg", type=int)
    one.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="any other launch option")
