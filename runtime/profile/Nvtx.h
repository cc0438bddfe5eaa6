//===- Nvtx.h - Ranges that NVIDIA's tools show -----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: named ranges of a thread for the tool that watches this process (Nsight Systems
// sets NVTX_INJECTION64_PATH). Without such a tool there is nothing to call.
//
// How: what the headers of NVTX 3 do: open the tool's library, let it fill the table of
// functions, call those. Two of its functions are used.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_PROFILE_NVTX_H
#define TILEWRIGHT_RUNTIME_PROFILE_NVTX_H

namespace tilewright::profile {

/// Whether a tool takes ranges; looked up once.
bool nvtxHasTool();
/// Opens a range of this thread; only where there is a tool.
void nvtxPush(const char *name);
void nvtxPop();

} // namespace tilewright::profile

#endif // TILEWRIGHT_RUNTIME_PROFILE_NVTX_H
