//===- AssemblerFaults.cpp - What assemblers are known to get wrong -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/AssemblerFaults.h"

#include <cstdio>

namespace tilewright::codegen {

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
