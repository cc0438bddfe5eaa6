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
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

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
/// A few spilled bytes (four registers of 32 bits) cost less than the missing
/// block; beyond that the measurements turn.
constexpr int acceptedSpillBytes = 16;

/// Products with a single block resident whose loads nothing overlaps gain more by a second one:
/// an attention in tf32 without stages (32x32 scores of 128 columns, 8 warps) takes 186
/// registers, spills 88 bytes with 128, and then 2294 us instead of 2882 (H100, November 2026).
constexpr int acceptedSpillBytesForOverlap = 96;

/// A limit below one in so many registers is not tried. The least that spilled nothing was 0.36 of
/// them, for powers of eight numbers; in 252 kernels with products ptxas took no less than 0.54.
constexpr int leastPart = 3, leastPartWithProducts = 2;
/// Longer PTX takes the assembler over a tenth of a second: only the surest limit is tried.
constexpr size_t largePtxBytes = 64 * 1024;

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
static AssembleResult assembleWithLimit(CompiledModule &compiled, const std::string &unlimited,
                                        const TargetInfo &target, const AssembleOptions &options,
                                        int limit, int spillBytes, AssembleResult assembled) {
  // What spills with all registers spills more with fewer, and large kernels that spill are
  // those that take the assembler seconds.
  if (assembled.spillStoreBytes > spillBytes)
    return assembled;
  std::string limitedPtx = withRegisterLimit(unlimited, limit);
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
  // Values are computed again instead of being held.
  bool isLonger =
      limited.cubin.size() > assembled.cubin.size() + assembled.cubin.size() / 32 + 1024;
  bool isBetter = isPossible && !isSerialized && !isLonger && limited.spillStoreBytes <= spillBytes;
  Remark remark;
  remark.kind = "register-limit";
  remark.applied = isBetter;
  remark.numbers = {{"registers", assembled.registers},
                    {"limit", limit},
                    {"spillBytes", std::max(limited.spillStoreBytes, 0)}};
  remark.reason = isBetter       ? "more blocks overlap on a multiprocessor"
                  : !isPossible  ? "an instruction needs more registers"
                  : isSerialized ? "the limit would serialize products"
                  : isLonger     ? "the limit would make the code longer"
                                 : "the limit would spill too much";
  compiled.remarks.add(std::move(remark));
  if (!isBetter)
    return assembled;
  compiled.ptx = std::move(limitedPtx);
  return limited;
}

/// The limits that leave room for more blocks than `registers` do, by threads, shared memory and
/// registers alike, but for no more than `mostThreads` threads; the largest first, none below
/// `least`.
static std::vector<int> limitsOfMoreBlocks(const CompiledModule &compiled, const TargetInfo &target,
                                           int registers, int64_t mostThreads, int64_t least) {
  std::vector<int> limits;
  int64_t threads = int64_t(compiled.numWarps) << target.log2WarpSize;
  int64_t blocks = target.residentBlocks(threads, registers, compiled.sharedBytes);
  int64_t most = target.residentBlocks(threads, 0, compiled.sharedBytes);
  for (int64_t more = blocks + 1; more <= std::min(most, mostThreads / threads); ++more) {
    int limit = static_cast<int>(target.registersFor(more * threads));
    bool isNew = limits.empty() ? limit < registers : limit < limits.back();
    if (isNew && limit >= least)
      limits.push_back(limit);
  }
  return limits;
}

/// Assembles with ever fewer registers until that spills more than `spillBytesWith(limit)`. Where
/// the first limit does, the surest is tried as well: half of the kernels that can be held to some
/// limit spill with two thirds of their registers.
static AssembleResult assembleWithLeast(CompiledModule &compiled, const TargetInfo &target,
                                        const AssembleOptions &options, llvm::ArrayRef<int> limits,
                                        llvm::function_ref<int(int limit)> spillBytesWith,
                                        AssembleResult assembled) {
  const std::string unlimited = compiled.ptx;
  bool isLarge = unlimited.size() >= largePtxBytes, isHeld = false;
  size_t at = isLarge ? 0 : limits.size() / 4;
  for (int tries = isLarge ? 1 : 3; tries > 0 && at < limits.size(); --tries) {
    int limit = limits[at], before = assembled.registers;
    assembled = assembleWithLimit(compiled, unlimited, target, options, limit,
                                  spillBytesWith(limit), std::move(assembled));
    if (assembled.registers < before) {
      isHeld = true;
      limits = limits.drop_front(at + 1);
      at = limits.size() / 2;
    } else if (isHeld || at == 0) {
      break;
    } else {
      at = 0;
    }
  }
  return assembled;
}

namespace {

/// How far limits of registers go.
struct LimitRules {
  /// Threads beyond which a further block is not worth a limit.
  int64_t mostThreads;
  /// Registers below which no limit goes.
  int64_t leastRegisters;
  /// Bytes that may spill with as many threads as the kernel wants, and with more.
  int spillBytes, spillBytesBeyond;
};

/// What a thread loads from global memory between two labels of a loop, which it can have in flight
/// together.
struct LoopLoads {
  int64_t loads = 0, bytes = 0;
};

} // namespace

/// The bytes of "ld.global.L1::no_allocate.v4.b32", whose last two parts are what is loaded.
static int64_t bytesOfLoad(llvm::StringRef op) {
  auto [before, type] = op.rsplit('.');
  int64_t bits = 0, vector = 1;
  type.drop_front().getAsInteger(10, bits);
  llvm::StringRef last = before.rsplit('.').second;
  if (last.consume_front("v"))
    last.getAsInteger(10, vector);
  return vector * bits / 8;
}

/// Where most bytes are loaded. Loops that are unrolled load more than their tiles say.
static LoopLoads largestLoopLoads(llvm::StringRef ptx) {
  llvm::SmallVector<LoopLoads> blocks(1), loops;
  llvm::StringMap<size_t> blockOf;
  for (llvm::StringRef line : llvm::split(ptx, '\n')) {
    line = line.trim();
    if (line.consume_back(":")) {
      blockOf[line] = blocks.size();
      blocks.emplace_back();
    } else if (size_t load = line.find("ld.global"); load != llvm::StringRef::npos) {
      ++blocks.back().loads;
      blocks.back().bytes += bytesOfLoad(line.substr(load).take_until(llvm::isSpace));
    } else if (line.contains("bra") && line.contains('$')) {
      // Back to a label: all blocks since then belong to a loop.
      auto target = blockOf.find(line.substr(line.find('$')).rtrim(';'));
      if (target != blockOf.end())
        loops.append(blocks.begin() + target->second, blocks.end());
    }
  }
  auto loadsLess = [](const LoopLoads &a, const LoopLoads &b) { return a.bytes < b.bytes; };
  return loops.empty() ? LoopLoads() : *std::max_element(loops.begin(), loops.end(), loadsLess);
}

/// The wanted threads of a kernel with loops, or as many more as have enough in flight where each
/// loads little at a time, by one or two loads: with more it would lose some of them to the limit
/// (56 registers of a loop with eight loads of two bytes became 32, and one load waited for the
/// other). Liger-Kernel's gradient of the GRPO loss loads 16 bytes per thread and round, in blocks
/// of 512 threads: 182 us with 45 registers and two blocks, 171 with 40 and three, 182 with 32 and
/// four, of which 20 bytes spill (bf16, 1024 rows of 151936, H200, November 2026).
static int64_t threadsOfLoops(const CompiledModule &compiled, const RegisterNeeds &needs,
                              const TargetInfo &target) {
  constexpr int64_t fewLoads = 2;
  if (needs.hasWorkInFlight)
    return needs.wantedThreads;
  LoopLoads most = largestLoopLoads(compiled.ptx);
  if (most.bytes == 0 || most.loads > fewLoads)
    return needs.wantedThreads;
  return std::clamp(target.bytesInFlight / most.bytes, needs.wantedThreads,
                    std::max(needs.wantedThreads, target.multiprocessor.threads));
}

/// What is worth a limit, by the kind of kernel; `registers` and `blocks` are those without one.
static LimitRules rulesFor(const CompiledModule &compiled, const RegisterNeeds &needs,
                           const TargetInfo &target, int64_t registers, int64_t blocks) {
  // Accumulators of products fill the registers by design, and with 512 threads resident a block
  // more gains little: flash-linear-attention's parallel_based kernels, held to 96 instead of 128
  // registers for a fifth block of 4 warps, took 1.05 and 1.10 of the time (H100, November 2026).
  if (needs.accumulator) {
    int spills = blocks == 1 && !needs.hasWorkInFlight ? acceptedSpillBytesForOverlap : 0;
    return {usualThreads / 2, registers / leastPartWithProducts, spills, spills};
  }
  int64_t least = registers / leastPart;
  // That the assembler spends registers of loops on loads of later iterations, which blocks beyond
  // those threads do not make up for, is a guess.
  if (needs.hasLoops)
    return {threadsOfLoops(compiled, needs, target), least, acceptedSpillBytes, 0};
  // Beyond the wanted threads none far below what is forecast: with the registers of all tiles that
  // are alive at once a thread has all its loads in flight. Where warps exchange values, a block
  // loads nothing while it waits, and a block more makes up for a quarter of them: Liger-Kernel's
  // layer norm of 4096 columns took 76 us with 56 registers, 71 with 48; without an exchange a
  // GEGLU took 94 us with 63, 108 with 48 (bf16, 2^26 numbers, H200, November 2026).
  bool isExchanged = compiled.numWarps > 1 && compiled.sharedBytes > 0;
  int64_t sixteenths = isExchanged ? 12 : 15;
  int64_t forecast =
      std::min(needs.forecast * sixteenths / 16, target.registersFor(needs.wantedThreads));
  return {target.multiprocessor.threads, std::max(least, forecast), acceptedSpillBytes, 0};
}

/// Assembles so that more blocks are resident where fewer registers do. nvJitLink makes code that
/// could be linked with other code and then takes registers as if they cost nothing. Of 972
/// kernels of public repositories 327 leave room for fewer blocks than with what ptxas 13.0 makes
/// of the same PTX as a whole program, 6 for more; with a limit it schedules as that does.
static AssembleResult assembleForOccupancy(CompiledModule &compiled, const TargetInfo &target,
                                           const AssembleOptions &options,
                                           const RegisterNeeds &needs) {
  AssembleResult assembled = assemblePtx(compiled.ptx, target.name, options);
  if (options.maxRegisters || assembled.registers <= 0)
    return assembled;
  int64_t threads = int64_t(compiled.numWarps) << target.log2WarpSize;
  int64_t blocks = target.residentBlocks(threads, assembled.registers, compiled.sharedBytes);
  LimitRules rules = rulesFor(compiled, needs, target, assembled.registers, blocks);
  std::vector<int> limits = limitsOfMoreBlocks(compiled, target, assembled.registers,
                                               rules.mostThreads, rules.leastRegisters);
  auto spillBytesWith = [&](int limit) {
    bool isWanted = limit >= target.registersFor(needs.wantedThreads);
    return isWanted ? rules.spillBytes : rules.spillBytesBeyond;
  };
  return assembleWithLeast(compiled, target, options, limits, spillBytesWith, std::move(assembled));
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

RegisterNeeds registerNeeds(ModuleOp module) {
  RegisterNeeds needs;
  auto wanted = module->getAttrOfType<IntegerAttr>(ir::wantedThreadsAttr);
  needs.wantedThreads = wanted ? wanted.getInt() : usualThreads;
  needs.accumulator = largestAccumulator(module);
  module.walk([&](Operation *op) {
    needs.hasWorkInFlight |= llvm::isa<ir::AsyncCopyOp, ir::TmaLoadOp, ir::WgmmaOp>(op);
    needs.hasLoops |= llvm::isa<LoopLikeOpInterface>(op);
  });
  if (!needs.accumulator && !needs.hasLoops)
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
  assembleOptions.more = options.assemblerOptions;
  if (needs.accumulator)
    limitEffort(result, *needs.accumulator, target, assembleOptions);
  AssembleResult assembled = assembleForOccupancy(result, target, assembleOptions, needs);
  result.cubin = std::move(assembled.cubin);
  result.registers = assembled.registers;
  result.spillBytes = assembled.spillStoreBytes;
  result.assembler = assembled.assembler;
  result.assemblerLog = std::move(assembled.log);
  remarkOnAssembly(result, assembled);
}

} // namespace tilewright::codegen
