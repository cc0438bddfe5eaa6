//===- Passes.td - The passes on tile IR -------------------*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_PASSES_TD
#define TILEWRIGHT_PASSES_PASSES_TD

include "mlir/Pass/PassBase.td"

class TilewrightPass<string flag> : Pass<flag, "::mlir::ModuleOp"> {
  // Each pass takes a PassContext (Passes.h), which TableGen cannot express.
  let constructor = "nullptr";
}

def MarkWaits : TilewrightPass<"tw-mark-waits"> {
  let summary = "makes the loads volatile by which a loop waits for another program";
  let statistics = [Statistic<"numMarked", "marked", "Number of loads that became volatile">];
}

def ExtendHints : TilewrightPass<"tw-extend-hints"> {
  let summary = "lets what follows a promise about a value read the promise";
  let statistics = [Statistic<"numExtended", "extended", "Number of uses that read the promise">];
}

def VersionMasks : TilewrightPass<"tw-version-masks"> {
  let summary = "gives kernels over long rows a second body for full rows, without a mask";
  let statistics = [Statistic<"numVersioned", "versioned", "Number of kernels with two bodies">,
                    Statistic<"numRefused", "refused", "Number of long rows that keep their mask">];
}

def CombineOps : TilewrightPass<"tw-combine-ops"> {
  let summary = "simplifies pointer arithmetic and moves elementwise work before broadcasts";
  let statistics = [Statistic<"numCombined", "combined", "Number of ops replaced">];
}

def SimplifyMasked : TilewrightPass<"tw-simplify-masked"> {
  let summary = "drops what only concerns elements that a mask keeps from being stored";
  let statistics = [Statistic<"numSelects", "selects", "Number of selects passed by">];
}

def CompactLoads : TilewrightPass<"tw-compact-loads"> {
  let summary = "loads elements of one address once, in loops with products";
  let statistics = [Statistic<"numCompacted", "compacted", "Number of loads made smaller">];
}

def HoistInvariants : TilewrightPass<"tw-hoist-invariants"> {
  let summary = "moves pure loop-invariant ops out of loops that allow it, and loads out of those that only read";
  let statistics = [Statistic<"numHoisted", "hoisted", "Number of pure ops moved">,
                    Statistic<"numLoads", "loads", "Number of loads moved">,
                    Statistic<"numDropped", "dropped", "Number of loop-carried variables that never change">,
                    Statistic<"numRefused", "refused", "Number of loops left alone">];
}

def FlattenLoops : TilewrightPass<"tw-flatten-loops"> {
  let summary = "makes one loop of a loop over tiles and the loop inside it, where asked";
  let statistics = [Statistic<"numFlattened", "flattened", "Number of loops flattened">,
                    Statistic<"numRefused", "refused", "Number of loops left alone">];
}

def CarryScalars : TilewrightPass<"tw-carry-scalars"> {
  let summary = "carries what is added to all elements of a row instead of the row";
  let statistics = [Statistic<"numCarried", "carried", "Number of loop variables made scalars">];
}

def NarrowProducts : TilewrightPass<"tw-narrow-products"> {
  let summary = "computes products of operands that were widened from what they were widened from";
  let statistics = [Statistic<"numNarrowed", "narrowed", "Number of products in 16 bits">];
}

def ChooseNumWarps : TilewrightPass<"tw-choose-num-warps"> {
  let summary = "sets the number of warps where the user gave none";
  let statistics = [Statistic<"numChosen", "chosen", "Number of kernels without a number of their own">];
}

def SelectMatrixUnit : TilewrightPass<"tw-select-matrix-unit"> {
  let summary = "decides which instruction computes each product, and the share of each warp";
  let statistics = [Statistic<"numSelected", "selected", "Number of products by matrix instructions">,
                    Statistic<"numRefused", "refused", "Number of products that no matrix instruction computes">];
}

def AssignLayouts : TilewrightPass<"tw-assign-layouts"> {
  let summary = "gives every tile a layout, from coalesced memory accesses outwards";
  let statistics = [Statistic<"numConversions", "conversions", "Number of layout conversions made">,
                    Statistic<"numRecomputed", "recomputed", "Number of ops repeated in another layout">];
}

def RemoveConversions : TilewrightPass<"tw-remove-conversions"> {
  let summary = "removes layout conversions that other choices make unnecessary";
  let statistics = [Statistic<"numRemoved", "removed", "Number of conversions removed">,
                    Statistic<"numMoved", "moved", "Number of conversions moved out of loops or to narrower types">,
                    Statistic<"numRefused", "refused", "Number of loads and loop variables whose users hold them otherwise">];
}

def PromoteShared : TilewrightPass<"tw-promote-shared"> {
  let summary = "moves operands of products to shared memory, and makes wgmma of products";
  let statistics = [Statistic<"numBuffers", "buffers", "Number of tiles placed in shared memory">];
}

def PromoteGathers : TilewrightPass<"tw-promote-gathers"> {
  let summary = "stores the source of gathers in shared memory, once, where it is defined, and counts there for histograms";
  let statistics = [Statistic<"numBuffers", "buffers", "Number of tiles placed in shared memory">];
}

def DeferReductions : TilewrightPass<"tw-defer-reductions"> {
  let summary = "keeps running sums and extrema of a loop per thread, and combines the threads' after it";
  let statistics = [Statistic<"numDeferred", "deferred", "Number of variables that gather per thread">,
                    Statistic<"numRefused", "refused", "Number of reductions left in their loop">];
}

def NarrowLiveTiles : TilewrightPass<"tw-narrow-live-tiles"> {
  let summary = "keeps tiles across reductions in the narrow type they were loaded in";
  let statistics = [Statistic<"numNarrowed", "narrowed", "Number of tiles recomputed after a reduction">,
                    Statistic<"numRefused", "refused", "Number of tiles that stay wide">];
}

def VerifyLayouts : TilewrightPass<"tw-verify-layouts"> {
  let summary = "checks that the layouts of each op's operands and results agree";
}

def PipelineLoops : TilewrightPass<"tw-pipeline-loops"> {
  let summary = "starts loads of later iterations of a loop while earlier ones compute";
  let statistics = [Statistic<"numPipelined", "pipelined", "Number of loops pipelined">,
                    Statistic<"numRefused", "refused", "Number of loads that are not copied ahead">];
}

def PrefetchOperands : TilewrightPass<"tw-prefetch-operands"> {
  let summary = "reads the operands of the next iteration's mma while this one's runs";
  let statistics = [Statistic<"numPrefetched", "prefetched", "Number of loops changed">,
                    Statistic<"numRefused", "refused", "Number of loops without the registers or stages">];
}

def OverlapProducts : TilewrightPass<"tw-overlap-products"> {
  let summary = "waits for wgmma where its result is used, not where it starts";
  let statistics = [Statistic<"numOverlapped", "overlapped", "Number of products made asynchronous">,
                    Statistic<"numRefused", "refused", "Number of products waited for at once">];
}

def LowerDescriptors : TilewrightPass<"tw-lower-descriptors"> {
  let summary = "turns accesses through descriptors into TMA copies that are waited for on the spot";
  let statistics = [Statistic<"numLoads", "loads", "Number of loads made copies">,
                    Statistic<"numStores", "stores", "Number of stores made copies">];
}

def StageLoads : TilewrightPass<"tw-stage-loads"> {
  let summary = "starts loads that follow a reduction before it, into shared memory";
  let statistics = [Statistic<"numStaged", "staged", "Number of loads that start earlier">,
                    Statistic<"numRefused", "refused", "Number of loads without room or cp.async">];
}

def GatherLoads : TilewrightPass<"tw-gather-loads"> {
  let summary = "starts loads together that are waited for one after the other";
  let statistics = [Statistic<"numGathered", "gathered", "Number of loads that start earlier">,
                    Statistic<"numRefused", "refused", "Number of loads that depend on an exchange, or have no room">];
}

def PlaceTensorMaps : TilewrightPass<"tw-place-tensor-maps"> {
  let summary = "gives tensor maps that programs make their place in global memory";
  let statistics = [Statistic<"numPlaced", "placed", "Number of descriptors with a place">,
                    Statistic<"numRefused", "refused", "Number of descriptors read through pointers">];
}

def VerifyAsync : TilewrightPass<"tw-verify-async"> {
  let summary = "checks that copies, products and stores that are started are waited for";
}

def PrepareExchanges : TilewrightPass<"tw-prepare-exchanges"> {
  let summary = "gives reductions across blocks their barriers, and lets all blocks begin before";
  let statistics = [Statistic<"numExchanges", "exchanges", "Number of reductions across blocks">];
}

def AllocateShared : TilewrightPass<"tw-allocate-shared"> {
  let summary = "places the scratch of ops in shared memory by liveness";
  let options = [Option<"sharedLimit", "shared-limit", "int64_t", /*default=*/"0",
                        "bytes per block; 0 takes the target's">];
  let statistics = [Statistic<"numBuffers", "buffers", "Number of buffers placed">];
}

def InsertBarriers : TilewrightPass<"tw-insert-barriers"> {
  let summary = "separates accesses of shared and global memory that threads could reorder";
  let statistics = [Statistic<"numShared", "shared", "Number of barriers for shared memory">,
                    Statistic<"numFences", "fences", "Number of fences before wgmma and TMA">,
                    Statistic<"numGlobal", "global", "Number of barriers for global memory">];
}

def MarkConstancy : TilewrightPass<"tw-mark-constancy"> {
  let summary = "marks integer tiles whose neighbouring elements are provably equal, or count up";
  let statistics = [Statistic<"numMarked", "marked", "Number of ops marked">];
}

def VerifyFences : TilewrightPass<"tw-verify-fences"> {
  let summary = "checks that wgmma and TMA see what threads have written, and that no slot is filled while it is read";
}

def VerifyResources : TilewrightPass<"tw-verify-resources"> {
  let summary = "checks that what is alive together has bytes of its own in shared memory";
}

def DeleteBarrier : TilewrightPass<"tw-delete-barrier"> {
  let summary = "deletes one barrier, fence or wait, for tests of what notices it";
  let options = [Option<"number", "number", "unsigned", /*default=*/"",
                        "which, in program order from 0; without it, remarks say where they are">];
}

def PrintLoopSchedule : TilewrightPass<"tw-print-loop-schedule"> {
  let summary = "prints the schedule that PipelineLoops would give to each loop";
}

def PrintAxisInfo : TilewrightPass<"tw-print-axis-info"> {
  let summary = "prints what is known of values along each dimension";
}

def PrintResources : TilewrightPass<"tw-print-resources"> {
  let summary = "prints the registers that a thread is forecast to need";
}

def TestFault : TilewrightPass<"tw-test-fault"> {
  let summary = "fails in the way that it is told, for tests of what happens then";
  let options = [Option<"kind", "kind", "std::string", /*default=*/"\"fail\"",
                        "fail, break (leave wrong IR), abort, segfault, loop, or grow (take memory)">];
}

#endif // TILEWRIGHT_PASSES_PASSES_TD
