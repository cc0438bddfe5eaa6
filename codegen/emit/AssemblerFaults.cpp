//===- AssemblerFaults.cpp - What assemblers are known to get wrong -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/AssemblerFaults.h"

#include <cstdio>
#include <limits>

namespace tilewright::codegen {

/// Later than all: no version is known to be right.
static constexpr AssemblerVersion notFixed = std::numeric_limits<AssemblerVersion>::max();

const std::vector<AssemblerFault> &assemblerFaults() {
  static const std::vector<AssemblerFault> faults = {
      // Seen in the machine code of 12.5, 12.9, 13.0 and 13.3 for sm_90 and sm_90a; right in
      // 13.4, and for sm_80 to sm_89 in all of them.
      {"async-copy-eviction-hint", 13004, "cp.async with .L2::cache_hint",
       "the copy uses a descriptor in uniform registers that nothing writes: illegal instruction",
       "copies are written without the hint",
       [](const TargetInfo &target) { return target.hasTma; },
       [](TargetInfo &target) { target.hasCopyEvictionHints = false; }},
      {"wgmma-left-operand-reuse", 13003, "wgmma with its left operand in registers",
       "the registers may be written before the product has read them",
       "with every assembler the operand stays alive until the product is waited for",
       [](const TargetInfo &target) { return target.hasWgmma; }, nullptr},
      // Seen in the machine code of 12.5, 12.8, 13.0 and 13.5 for sm_90a, and on an H200 with the
      // driver's assembler: F2FP.F16.E5M2.UNPACK_B of 0x1 where RZ.H1 is meant.
      {"fp8-unpack-of-zero", notFixed, "cvt of the upper fp8 pair of a register that is zero",
       "the pair becomes 2^-16 (E5M2) or 2^-9 (E4M3) and 0",
       "with every assembler pairs are given in registers of their own, E5M2 without cvt",
       [](const TargetInfo &target) { return target.hasFp8Conversions; }, nullptr},
  };
  return faults;
}

AssemblerVersion parseAssemblerVersion(const std::string &text) {
  int major = 0, minor = 0;
  size_t space = text.rfind(' ');
  if (space == std::string::npos || std::sscanf(text.c_str() + space, "%d.%d", &major, &minor) != 2)
    return 0;
  return 1000 * major + minor;
}

TargetInfo withoutFaults(TargetInfo target, AssemblerVersion version) {
  for (const AssemblerFault &fault : assemblerFaults())
    if (version < fault.fixedIn && fault.avoid && fault.concerns(target))
      fault.avoid(target);
  return target;
}

} // namespace tilewright::codegen
