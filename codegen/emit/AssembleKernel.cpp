//===- AssembleKernel.cpp - PTX to machine code, with how many registers --===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/AssembleKernel.h"

#include "codegen/emit/NvJitLink.h"
#include "ir/dialect/TileDialect.h"
#include "passes/pipeline/KernelFacts.h"

#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::codegen {

//===----------------------------------------------------------------------===//
// Registers against occupancy
//===----------------------------------------------------------------------===//

// Measured on an H200, November 2026: a layer norm of 16384 f16 columns with 16
// warps takes 91 registers and one block per multiprocessor, 2494 GB/s; held to
// 64 registers two blocks overlap, 3916 GB/s. The assembler spends registers on
// loads in flight that a second block provides for nothing.

/// Threads that should be resident on a multiprocessor, unless a pass says otherwise.
constexpr int64_t usualThreads = 1024;
/// Where fewer are resident, latencies show in kernels without loops.
constexpr int64_t fewThreads = usualThreads / 2;
/// A few spilled bytes (four registers of 32 bits) cost less than the missing
/// block; beyond that the measurements turn.
constexpr int acceptedSpillBytes = 16;

/// Products with a single block resident whose loads nothing overlaps gain more by a second one:
/// an attention in tf32 without stages (32x32 scores of 128 columns, 8 warps) takes 186
/// registers, spills 88 bytes with 128, and then 2294 us instead of 2882 (H100, November 2026).
constexpr int acceptedSpillBytesForOverlap = 96;

/// The directive goes after the block size: an assembler given a block size
/// ignores a limit among its options.
static std::string withRegisterLimit(const std::string &ptx, int limit) {
  size_t directive = ptx.find(".reqntid");
  if (directive == std::string::npos)
    return ptx;
  size_t lineEnd = ptx.find('\n', directive);
  return ptx.substr(0, lineEnd + 1) + ".maxnreg " + std::to_string(limit) + "\n" +
         ptx.substr(lineEnd + 1);
}

/// Products that wait for each other lose most of the tensor cores' speed.
static bool isSerializedProduct(const std::string &warning) {
  return warning.find("wgmma") != std::string::npos;
}
static bool serializesProducts(const AssembleResult &assembled) {
  return llvm::any_of(assembled.warnings, isSerializedProduct);
}

/// Assembles with a limit, and keeps what came before where that is worse.
static AssembleResult assembleWithLimit(CompiledModule &compiled, const TargetInfo &target,
                                        const AssembleOptions &options, int limit, int spillBytes,
                                        AssembleResult assembled) {
  // What spills with all registers spills more with fewer, and large kernels that spill are
  // those that take the assembler seconds.
  if (assembled.spillStoreBytes > spillBytes)
    return assembled;
  std::string limitedPtx = withRegisterLimit(compiled.ptx, limit);
  AssembleResult limited;
  bool isPossible = true;
  try {
    limited = assemblePtx(limitedPtx, target.name, options);
  } catch (const Error &) {
    // An instruction may need more registers than that by itself.
    isPossible = false;
  }
  // Accumulators that do not fit make products wait for each other.
  bool isSerialized = serializesProducts(limited) && !serializesProducts(assembled);
  bool isBetter = isPossible && !isSerialized && limited.spillStoreBytes <= spillBytes;
  Remark remark;
  remark.kind = "register-limit";
  remark.applied = isBetter;
  remark.numbers = {{"registers", assembled.registers},
                    {"limit", limit},
                    {"spillBytes", std::max(limited.spillStoreBytes, 0)}};
  remark.reason = isBetter       ? "more blocks overlap on a multiprocessor"
                  : !isPossible  ? "an instruction needs more registers"
                  : isSerialized ? "the limit would serialize products"
                                 : "the limit would spill too much";
  compiled.remarks.add(std::move(remark));
  if (!isBetter)
    return assembled;
  compiled.ptx = std::move(limitedPtx);
  return limited;
}

/// Where the assembler took more registers than the tiles need, tries with those of more
/// blocks. nvJitLink makes code that could be linked with other code, and is then generous:
/// the gradient of SwiGLU with a quantisation of its rows takes 184 registers, of ptxas 140
/// where it compiles the whole program. Held to 168, three blocks are resident instead of two;
/// five such kernels take 0.86 to 0.89 of the time. Done for all kernels, as many became
/// slower as faster: those with loops, or with 512 threads resident before (H100, November 2026).
static AssembleResult assembleAsForecast(CompiledModule &compiled, const TargetInfo &target,
                                         const AssembleOptions &options, int64_t wantedBlocks,
                                         int64_t blocks, AssembleResult assembled) {
  int64_t threads = int64_t(compiled.numWarps) << target.log2WarpSize;
  const int before = assembled.registers;
  // Where that spills too much, once more half way.
  int tried = 0;
  for (int64_t more : {wantedBlocks, (wantedBlocks + blocks + 1) / 2}) {
    int limit = static_cast<int>(target.registersFor(more * threads));
    if (assembled.registers < before || limit == tried || limit >= before)
      break;
    assembled = assembleWithLimit(compiled, target, options, limit, acceptedSpillBytes,
                                  std::move(assembled));
    tried = limit;
  }
  return assembled;
}

/// Assembles. If the kernel's registers leave too few threads resident and the
/// user has set no limit, tries again with a limit and keeps the better code.
static AssembleResult assembleForOccupancy(CompiledModule &compiled, const TargetInfo &target,
                                           const AssembleOptions &options,
                                           const RegisterNeeds &needs) {
  int64_t wanted = needs.wantedThreads;
  AssembleResult assembled = assemblePtx(compiled.ptx, target.name, options);
  int64_t threads = int64_t(compiled.numWarps) << target.log2WarpSize;
  if (options.maxRegisters || assembled.registers < 0)
    return assembled;
  int64_t resident = target.residentBlocks(threads, assembled.registers, 0) * threads;
  int limit = static_cast<int>(target.registersFor(wanted));
  // Twice the limit was never met without heavy spills, and assembling a large kernel again
  // for nothing would double its compile time.
  if (threads <= wanted / 2 && resident < wanted && assembled.registers > limit &&
      assembled.registers <= 2 * limit)
    return assembleWithLimit(compiled, target, options, limit, acceptedSpillBytes,
                             std::move(assembled));
  int64_t blocks = resident / threads;
  if (needs.forecast && resident < fewThreads) {
    // The forecast is not exact, and what spills much is refused.
    int64_t fitting =
        target.residentBlocks(threads, *needs.forecast * 15 / 16, compiled.sharedBytes);
    if (int64_t more = std::min(fitting, fewThreads / threads); more > blocks)
      return assembleAsForecast(compiled, target, options, more, blocks, std::move(assembled));
  }
  // One block more may be near: a layer norm of 4096 columns with 8 warps takes 56 registers
  // and does with 48, 78.8 and 72.9 us; its backward pass of 8192 columns takes 144
  // and does with 128, 153.7 and 112.4 us (H200, November 2026). That kernels without
  // barriers and blocks of less than 8 warps do better as they are is a guess.
  limit = static_cast<int>(target.registersFor(resident + threads));
  bool isNear = assembled.registers > limit && limit * 4 >= assembled.registers * 3;
  bool isEnough = resident >= wanted && threads < usualThreads / 4;
  bool isFull = resident + threads > target.multiprocessor.threads;
  if (compiled.sharedBytes == 0 || !isNear || isEnough || isFull)
    return assembled;
  return assembleWithLimit(compiled, target, options, limit,
                           resident < wanted ? acceptedSpillBytes : 0, std::move(assembled));
}

/// Accumulators of products fill the registers by design. But where shared memory has
/// room for one block more and the registers nearly have, assemblers often manage
/// with those as well: an epilogue with an address per element took 181 of them and does
/// with 128. With 512 threads resident a block more gains little.
static AssembleResult assembleProducts(CompiledModule &compiled, const TargetInfo &target,
                                       const AssembleOptions &options) {
  AssembleResult assembled = assemblePtx(compiled.ptx, target.name, options);
  if (options.maxRegisters || assembled.registers <= 0 || compiled.sharedBytes == 0)
    return assembled;
  int64_t threads = int64_t(compiled.numWarps) << target.log2WarpSize;
  int64_t blocks = target.residentBlocks(threads, assembled.registers, 0);
  int64_t limit = target.registersFor((blocks + 1) * threads);
  if (blocks * threads >= usualThreads / 2)
    return assembled;
  bool isNear = assembled.registers > limit && limit * 3 >= int64_t(assembled.registers) * 2;
  if (blocks >= target.blocksBySharedMemory(compiled.sharedBytes) || !isNear)
    return assembled;
  // Warps that wait for copies or wgmma have work in flight by themselves.
  bool overlapsNothing = !llvm::StringRef(compiled.ptx).contains("cp.async") &&
                         !llvm::StringRef(compiled.ptx).contains("wgmma.mma_async");
  int spillBytes = blocks == 1 && overlapsNothing ? acceptedSpillBytesForOverlap : 0;
  return assembleWithLimit(compiled, target, options, static_cast<int>(limit), spillBytes,
                           std::move(assembled));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static std::optional<int64_t> largestAccumulator(ModuleOp module) {
  std::optional<int64_t> largest;
  module.walk([&](Operation *op) {
    if (!llvm::isa<ir::DotOp, ir::SharedDotOp, ir::WgmmaOp>(op))
      return;
    auto type = llvm::cast<RankedTensorType>(op->getResult(0).getType());
    int64_t elements = int64_t(1) << ir::getLinearLayout(type).numInBits(InDim::Register);
    int64_t registers = elements * ir::elementBits(type.getElementType()) / 32;
    largest = std::max(largest.value_or(0), registers);
  });
  return largest;
}

/// An accumulator of twice the registers is spilled whatever the assembler tries,
/// and it tries for minutes: ptxas needs 125 s for a 128x128x64 product in one warp
/// with -O3, 3 s with -O0. The levels in between spill as much and take 10 s.
static void limitEffort(CompiledModule &compiled, int64_t accumulator, const TargetInfo &target,
                        AssembleOptions &options) {
  if (accumulator <= 2 * target.maxRegistersPerThread)
    return;
  options.optimizationLevel = 0;
  Remark remark;
  remark.kind = "assembler-effort";
  remark.applied = false;
  remark.numbers = {{"accumulatorRegisters", accumulator}, {"limit", target.maxRegistersPerThread}};
  remark.reason = "the accumulator needs over twice the registers of a thread, so the code "
                  "is not optimised; more warps or a smaller tile would help";
  compiled.remarks.add(std::move(remark));
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

static bool hasLoops(ModuleOp module) {
  return module.walk([](LoopLikeOpInterface) { return WalkResult::interrupt(); }).wasInterrupted();
}

RegisterNeeds registerNeeds(ModuleOp module) {
  RegisterNeeds needs;
  auto wanted = module->getAttrOfType<IntegerAttr>(ir::wantedThreadsAttr);
  needs.wantedThreads = wanted ? wanted.getInt() : usualThreads;
  needs.accumulator = largestAccumulator(module);
  if (!needs.accumulator && !hasLoops(module))
    needs.forecast = passes::forecastModuleRegisters(module);
  return needs;
}

static void remarkOnAssembly(CompiledModule &result, const AssembleResult &assembled) {
  for (const std::string &warning : assembled.warnings) {
    Remark remark;
    // Tests look for the first kind.
    remark.kind = isSerializedProduct(warning) ? "wgmma-serialized" : "assembler-warning";
    remark.applied = false;
    remark.reason = warning;
    result.remarks.add(std::move(remark));
  }
  if (result.spillBytes > 0) {
    Remark remark;
    remark.kind = "register-spills";
    remark.applied = false;
    remark.numbers = {{"spillBytes", result.spillBytes}, {"registers", result.registers}};
    remark.reason = "the values alive at once do not fit the registers; more warps or a smaller "
                    "tile would help";
    result.remarks.add(std::move(remark));
  }
}

void assembleKernel(CompiledModule &result, const TargetInfo &target, const CompileOptions &options,
                    const RegisterNeeds &needs) {
  AssembleOptions assembleOptions;
  assembleOptions.lineInfo = options.lineInfo;
  assembleOptions.maxRegisters = options.maxRegisters;
  assembleOptions.kernelName = result.kernelName;
  if (needs.accumulator)
    limitEffort(result, *needs.accumulator, target, assembleOptions);
  AssembleResult assembled = needs.accumulator
                                 ? assembleProducts(result, target, assembleOptions)
                                 : assembleForOccupancy(result, target, assembleOptions, needs);
  result.cubin = std::move(assembled.cubin);
  result.registers = assembled.registers;
  result.spillBytes = assembled.spillStoreBytes;
  result.assembler = assembled.assembler;
  remarkOnAssembly(result, assembled);
}

} // namespace tilewright::codegen
