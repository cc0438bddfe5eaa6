# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright check` and `tilewright replay`: every launch of a program, checked.

  command     the two commands
  session     what a process of a checked program does with each launch
  journal     how the processes of one program tell what they saw
  findings    what the interpreter found in one launch
  compiled    the same launch, compiled and without any check
  comparison  both sides of one launch, element by element
  saved       a launch in a file
  report      the summary

Nothing here is imported by a program that is not checked.
"""
