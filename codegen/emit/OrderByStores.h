//===- OrderByStores.h - Values made store by store -------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_EMIT_ORDERBYSTORES_H
#define TILEWRIGHT_CODEGEN_EMIT_ORDERBYSTORES_H

#include <cstdint>

namespace llvm {
class Module;
} // namespace llvm

namespace tilewright::codegen {

/// Puts what stores behind a barrier or an exchange need into the order of the stores, where
/// more values than usual are alive at once, or what is loaded for the last stores would take
/// most of a thread's `registers` (0: it does not matter). True where a load may now follow a
/// store that it preceded, through another argument of the kernel.
bool orderByStores(llvm::Module &module, int64_t registers);

} // namespace tilewright::codegen

#endif // TILEWRIGHT_CODEGEN_EMIT_ORDERBYSTORES_H
