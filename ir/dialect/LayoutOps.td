//===- LayoutOps.td - Operations at layout level -----------*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: what passes make of the operations of a program: other layouts of a tile, tiles in
// shared memory, asynchronous copies, their barriers, products of a warpgroup.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_DIALECT_LAYOUTOPS_TD
#define TILEWRIGHT_IR_DIALECT_LAYOUTOPS_TD

include "ir/dialect/DialectBase.td"

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

def TW_ConvertLayoutOp : TW_PureOp<"convert_layout", [SameOperandsAndResultShape, SameOperandsAndResultElementType]> {
  let summary = "the same tile distributed over threads in another way";
  let description = [{
    Only the layouts differ. Elements that a thread holds several times are equal.

        %0 = tw.convert_layout %x : !tile -> !turned
  }];
  let arguments = (ins TW_Tile:$source);
  let results = (outs TW_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Tiles in shared memory
//===----------------------------------------------------------------------===//

def TW_AllocSharedOp : TW_Op<"alloc_shared", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "a tile in shared memory, or a ring of them; written with `init` where given";
  let description = [{
    Lives until its last use. AllocateShared gives it `tw.scratch_offset`. `init`
    needs one slot.

        %m = tw.alloc_shared %x : !tile -> : !buffer
        %ring = tw.alloc_shared : !ring
  }];
  let arguments = (ins Optional<TW_Tile>:$init);
  let results = (outs TW_BufferType:$result);
  let assemblyFormat = "($init^ `:` type($init) `->`)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def TW_BufferSlotOp : TW_PureOp<"buffer_slot"> {
  let summary = "one tile of a ring";
  let description = [{
    The result has one slot, otherwise the type of the ring. The index is below the
    number of slots.

        %slot = tw.buffer_slot %ring[%i] : !ring -> !buffer
  }];
  let arguments = (ins TW_BufferType:$ring, I32:$index);
  let results = (outs TW_BufferType:$result);
  let assemblyFormat = "$ring `[` $index `]` attr-dict `:` type($ring) `->` type($result)";
  let hasVerifier = 1;
}

def TW_BufferPermuteOp : TW_PureOp<"buffer_permute"> {
  let summary = "the same bytes seen with permuted dimensions: result dimension i is source dimension order[i]";
  let description = [{
    The result's layout is that of the source with its dimensions in the other order.
    Nothing moves.

        %t = tw.buffer_permute %m [1, 0] : !buffer -> !turned_buffer
  }];
  let arguments = (ins TW_BufferType:$source, DenseI32ArrayAttr:$order);
  let results = (outs TW_BufferType:$result);
  let assemblyFormat = "$source $order attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def TW_SharedStoreOp : TW_Op<"shared_store", [MemoryEffects<[MemWrite]>]> {
  let summary = "writes a tile to shared memory";
  let description = [{
    Tile and buffer have one shape and element type; the buffer has one slot. Threads
    that hold the same element store the same.

        tw.shared_store %x, %m : !tile, !buffer
  }];
  let arguments = (ins TW_Tile:$value, TW_BufferType:$buffer);
  let assemblyFormat = "$value `,` $buffer attr-dict `:` type($value) `,` type($buffer)";
  let hasVerifier = 1;
}

def TW_SharedLoadOp : TW_Op<"shared_load", [MemoryEffects<[MemRead]>]> {
  let summary = "reads a tile from shared memory";
  let description = [{
    With `isOwn` each thread reads only what it has copied there itself (cp.async), in
    the layout of the copy: its own wait is enough, and no other lane reads for it.
    With `inPieces` the product that uses it is to read each piece when it needs it, if
    nothing is written in between.

        %1 = tw.shared_load %m : !buffer -> !tile
  }];
  let arguments = (ins TW_BufferType:$buffer, UnitAttr:$isOwn, UnitAttr:$inPieces);
  let results = (outs TW_Tile:$result);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer) `->` type($result)";
  let hasVerifier = 1;
}

def TW_SharedGatherOp : TW_Op<"shared_gather", [MemoryEffects<[MemRead]>]> {
  let summary = "tw.gather of a tile in shared memory";
  let description = [{
    Indices as for tw.gather, which PromoteGathers makes this of.

        %2 = tw.shared_gather %m[%n] axis 1 : !buffer, !indices -> !tile
  }];
  let arguments = (ins TW_BufferType:$buffer, TW_Tile:$index, I32Attr:$axis);
  let results = (outs TW_Tile:$result);
  let assemblyFormat = "$buffer `[` $index `]` `axis` $axis attr-dict `:` type($buffer) `,` type($index) `->` type($result)";
  let hasVerifier = 1;
}

def TW_SharedCountOp : TW_Op<"shared_count", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "counts the elements of a row in shared memory";
  let description = [{
    Adds one to element i of the buffer for each element i of the row, as tw.histogram,
    which PromoteGathers makes this of, counts them.

        tw.shared_count %n, %m mask %k : !masks : !numbers, !bins
  }];
  let arguments = (ins TW_Tile:$source, TW_BufferType:$buffer, Optional<TW_Tile>:$mask);
  let assemblyFormat = "$source `,` $buffer (`mask` $mask^ `:` type($mask))? attr-dict `:` type($source) `,` type($buffer)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Asynchronous copies
//===----------------------------------------------------------------------===//

def TW_AsyncCopyOp : TW_Op<"async_copy", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "starts copying through pointers to shared memory (cp.async)";
  let description = [{
    Elements with a false mask become zero, or `other`, which is then stored by the
    thread itself. `tw.vector_elements` as on tw.load.

        tw.async_copy %p, %slot {tw.vector_elements = 4 : i32} : !pointers, !buffer
  }];
  let arguments = (ins TW_Tile:$pointer, TW_BufferType:$buffer, Optional<TW_Tile>:$mask, Optional<TW_Tile>:$other,
                       DefaultValuedAttr<TW_CacheModifier, "CacheModifier::none">:$cache,
                       DefaultValuedAttr<TW_Eviction, "Eviction::normal">:$eviction);
  let assemblyFormat = [{$pointer `,` $buffer (`mask` $mask^ `:` type($mask))? (`other` $other^ `:` type($other))?
                         attr-dict `:` type($pointer) `,` type($buffer)}];
  let hasVerifier = 1;
}

def TW_AsyncCommitOp : TW_Op<"async_commit", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "closes the group of this thread's copies started since the last commit";
  let description = [{
    A group may be empty. Groups end in the order in which they were closed.

        tw.async_commit
  }];
  let assemblyFormat = "attr-dict";
}

def TW_AsyncWaitOp : TW_Op<"async_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until at most `pending` groups of this thread's copies are unfinished";
  let description = [{
    The newest `pending` groups may be under way. It is the thread's own copies that are
    there then: for those of others a tw.barrier must follow.

        tw.async_wait 1
  }];
  let arguments = (ins I32Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
}

//===----------------------------------------------------------------------===//
// Shared-memory barriers and TMA
//===----------------------------------------------------------------------===//

def TW_MbarrierAllocOp : TW_Op<"mbarrier_alloc", [MemoryEffects<[MemAlloc, MemWrite]>]> {
  let summary = "a ring of barrier objects in shared memory, each waiting for `arrivals`";
  let description = [{
    Initialised by one thread; a tw.barrier must follow before other threads use it.

        %full = tw.mbarrier_alloc 1 : !tw.mbarrier<3>
  }];
  let arguments = (ins I32Attr:$arrivals);
  let results = (outs TW_MbarrierType:$result);
  let assemblyFormat = "$arrivals attr-dict `:` type($result)";
}

def TW_MbarrierExpectOp : TW_Op<"mbarrier_expect", [MemoryEffects<[MemWrite]>]> {
  let summary = "arrives, and announces bytes that TMA will bring; one thread of the first warp";
  let description = [{
    The phase of that slot is over when all arrivals and the bytes have come.

        tw.mbarrier_expect %full[%i], 1024 : !tw.mbarrier<3>
  }];
  let arguments = (ins TW_MbarrierType:$barrier, I32:$index, I32Attr:$bytes);
  let assemblyFormat = "$barrier `[` $index `]` `,` $bytes attr-dict `:` type($barrier)";
}

def TW_MbarrierArriveOp : TW_Op<"mbarrier_arrive", [MemoryEffects<[MemWrite]>]> {
  let summary = "arrives once for each warp";
  let description = [{
    All threads come here. What a warp has read before it may then be overwritten by
    whoever waits for the phase.

        tw.mbarrier_arrive %free[%i] : !tw.mbarrier<3>
  }];
  let arguments = (ins TW_MbarrierType:$barrier, I32:$index);
  let assemblyFormat = "$barrier `[` $index `]` attr-dict `:` type($barrier)";
}

def TW_MbarrierWaitOp : TW_Op<"mbarrier_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until the phase of parity `phase` has completed";
  let description = [{
    `phase` is 0 or 1: that of the first phase of a slot is 0, and each one has the
    other parity than the one before. Before the first, that of parity 1 counts as over.

        tw.mbarrier_wait %full[%i], %phase : !tw.mbarrier<3>
  }];
  let arguments = (ins TW_MbarrierType:$barrier, I32:$index, I32:$phase);
  let assemblyFormat = "$barrier `[` $index `]` `,` $phase attr-dict `:` type($barrier)";
}

def TW_MbarrierPhaseOp : TW_Op<"mbarrier_phase", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "parity of the phase that is not complete, to wait for after arriving";
  let description = [{
    Saves carrying the phase through loops and branches. No thread may arrive while
    another asks: a tw.barrier must stand between this and what arrives.

        %phase = tw.mbarrier_phase %full[%i] : !tw.mbarrier<3>
  }];
  let arguments = (ins TW_MbarrierType:$barrier, I32:$index);
  let results = (outs I32:$result);
  let assemblyFormat = "$barrier `[` $index `]` attr-dict `:` type($barrier)";
}

def TW_IsFirstWarpOp : TW_PureOp<"is_first_warp"> {
  let summary = "whether this thread belongs to the first warp, uniform in each warp";
  let description = [{
    What is run under this condition alone may wait at no tw.barrier.

        %first = tw.is_first_warp
  }];
  let results = (outs I1:$result);
  let assemblyFormat = "attr-dict";
}

def TW_TmaLoadOp : TW_Op<"tma_load", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "starts copying a block to shared memory; completes at the barrier. One thread of the first warp";
  let description = [{
    The bytes of the block must be announced there (tw.mbarrier_expect) in the same
    phase. Coordinates are those of tw.descriptor_load.

        tw.tma_load %d[%i, %i], %slot, %full[%i] : !tw.descriptor<16x16xf32>, !buffer, !tw.mbarrier<3>
  }];
  let arguments = (ins TW_DescriptorType:$descriptor, Variadic<I32>:$coordinates, TW_BufferType:$buffer,
                       TW_MbarrierType:$barrier, I32:$index,
                       DefaultValuedAttr<TW_Eviction, "Eviction::normal">:$eviction);
  let assemblyFormat = [{$descriptor `[` $coordinates `]` `,` $buffer `,` $barrier `[` $index `]` attr-dict
                         `:` type($descriptor) `,` type($buffer) `,` type($barrier)}];
}

def TW_TmaStoreOp : TW_Op<"tma_store", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "starts copying a tile from shared memory to a block of an array; one thread of the first warp, own bulk group";
  let description = [{
    What is stored has been written before a tw.fence_async and a tw.barrier. With
    `reduction` the block is combined with what is there. The buffer stays as it is
    until tw.tma_store_wait.

        tw.tma_store %d[%i, %i], %m : !tw.descriptor<16x16xf32>, !buffer
  }];
  let arguments = (ins TW_DescriptorType:$descriptor, Variadic<I32>:$coordinates, TW_BufferType:$buffer,
                       OptionalAttr<TW_AtomicKind>:$reduction);
  let assemblyFormat = "$descriptor `[` $coordinates `]` `,` $buffer attr-dict `:` type($descriptor) `,` type($buffer)";
}

def TW_TmaStoreWaitOp : TW_Op<"tma_store_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until at most `pending` stores still read shared memory (or, with `complete`, are unfinished)";
  let description = [{
    Waits for the stores of the thread that started them: a tw.barrier must follow
    before others write the memory. `buffers` are what the stores read: named here
    so that they live until then.

        tw.tma_store_wait 0 %m : !buffer
  }];
  let arguments = (ins I32Attr:$pending, UnitAttr:$complete, Variadic<TW_BufferType>:$buffers);
  let assemblyFormat = "$pending (`complete` $complete^)? ($buffers^ `:` type($buffers))? attr-dict";
}

def TW_FenceAsyncOp : TW_Op<"fence_async", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "orders this thread's accesses of shared memory before those of wgmma and TMA that follow";
  let description = [{
    With `global` those of global memory, too, and in both directions.

        tw.fence_async
        tw.fence_async global
  }];
  let arguments = (ins UnitAttr:$global);
  let assemblyFormat = "(`global` $global^)? attr-dict";
}

//===----------------------------------------------------------------------===//
// Products of a warpgroup
//===----------------------------------------------------------------------===//

def TW_WgmmaOp : TW_Op<"wgmma", [AllTypesMatch<["acc", "result"]>, MemoryEffects<[MemRead]>]> {
  let summary = "a x b + acc by the warpgroups of the program; a from registers or shared memory, b from shared memory";
  let description = [{
    The accumulator has the layout of makeWgmmaAccumulator; a tile `a` that of
    makeDotOperand. With `is_async` the result may be used only as the accumulator
    of another wgmma or by tw.wgmma_wait, and the operands must stay as they are until then.
    Where `use_acc` is given and false the accumulator counts as zero. Each op is
    one group of the hardware.

        %p = tw.wgmma %a, %b, %acc async warps [2, 0] : !left, !right, !sums
  }];
  let arguments = (ins TW_TileOrBuffer:$a, TW_BufferType:$b, TW_Tile:$acc, Optional<I1>:$useAcc, UnitAttr:$isAsync,
                       DefaultValuedAttr<I32Attr, "0">:$maxImprecise, DenseI32ArrayAttr:$warps);
  let results = (outs TW_Tile:$result);
  let assemblyFormat = "$a `,` $b `,` $acc (`use_acc` $useAcc^)? (`async` $isAsync^)? `warps` $warps attr-dict `:` type($a) `,` type($b) `,` type($acc)";
  let hasVerifier = 1;
}

def TW_SharedDotOp : TW_Op<"shared_dot", [AllTypesMatch<["acc", "result"]>, MemoryEffects<[MemRead]>]> {
  let summary = "a x b + acc by fma, both operands in shared memory; a leading dimension is a batch";
  let description = [{
    The accumulator has the layout of makeMmaAccumulator. Threads read a few columns
    of `a` and rows of `b` at a time, in a loop.

        %0 = tw.shared_dot %a, %b, %c warps [1, 0] : !left, !right, !sums
  }];
  let arguments = (ins TW_BufferType:$a, TW_BufferType:$b, TW_Tile:$acc, DenseI32ArrayAttr:$warps);
  let results = (outs TW_Tile:$result);
  let assemblyFormat = "$a `,` $b `,` $acc `warps` $warps attr-dict `:` type($a) `,` type($b) `,` type($acc)";
  let hasVerifier = 1;
}

def TW_WgmmaWaitOp : TW_Op<"wgmma_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until at most `pending` groups are unfinished; results are the tiles, now readable if their group is done";
  let description = [{
    The last `settled` tiles belong to no product: the wait stands after their
    computation, however early the assembler would like to wait.

        %r = tw.wgmma_wait 0 %p : !sums -> !sums
  }];
  let arguments = (ins Variadic<TW_Tile>:$tiles, I32Attr:$pending, DefaultValuedAttr<I32Attr, "0">:$settled);
  let results = (outs Variadic<TW_Tile>:$results);
  let assemblyFormat = "$pending (`settled` $settled^)? ($tiles^ `:` type($tiles) `->` type($results))? attr-dict";
}

#endif // TILEWRIGHT_IR_DIALECT_LAYOUTOPS_TD
