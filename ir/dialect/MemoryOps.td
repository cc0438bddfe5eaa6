//===- MemoryOps.td - Operations with effects --------------*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: global memory at tile level, through pointers and descriptors; barriers, promises
// and debugging.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_DIALECT_MEMORYOPS_TD
#define TILEWRIGHT_IR_DIALECT_MEMORYOPS_TD

include "ir/dialect/DialectBase.td"

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

def TW_LoadOp : TW_Op<"load", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "loads through pointers; lanes with a false mask hold `other`, or zero";
  let description = [{
    A mask has the shape of the pointers, and `other` the type of the result. A load that is
    volatile or has the cache modifier `cv` is neither repeated nor left out, and each element is
    read by one thread: another program may write it meanwhile, and a loop that waits for that
    must end in all threads at once.

        %2 = tw.load %p mask %m : tensor<8xi1> other %o : tensor<8xf32> : tensor<8x!tw.ptr<f32>> -> tensor<8xf32>
  }];
  let arguments = (ins TW_PtrOrPtrTile:$pointer, Optional<TW_BoolOrBoolTile>:$mask, Optional<TW_Any>:$other,
                       DefaultValuedAttr<TW_CacheModifier, "CacheModifier::none">:$cache,
                       DefaultValuedAttr<TW_Eviction, "Eviction::normal">:$eviction,
                       UnitAttr:$isVolatile);
  let results = (outs TW_Any:$result);
  let assemblyFormat = [{$pointer (`mask` $mask^ `:` type($mask))? (`other` $other^ `:` type($other))?
                         attr-dict `:` type($pointer) `->` type($result)}];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether two reads of one element may differ, because another program writes it meanwhile.
    bool mayChangeMeanwhile() { return getIsVolatile() || getCache() == CacheModifier::cv; }
  }];
}

def TW_StoreOp : TW_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "stores through pointers where the mask is true";
  let description = [{
    Where several elements have one address, one of them is stored, and which is not
    specified.

        tw.store %1, %2 mask %m : tensor<8xi1> : tensor<8x!tw.ptr<f32>>, tensor<8xf32>
  }];
  let arguments = (ins TW_PtrOrPtrTile:$pointer, TW_Any:$value, Optional<TW_BoolOrBoolTile>:$mask,
                       DefaultValuedAttr<TW_CacheModifier, "CacheModifier::none">:$cache,
                       DefaultValuedAttr<TW_Eviction, "Eviction::normal">:$eviction);
  let assemblyFormat = [{$pointer `,` $value (`mask` $mask^ `:` type($mask))?
                         attr-dict `:` type($pointer) `,` type($value)}];
  let hasVerifier = 1;
}

def TW_AtomicRmwOp : TW_Op<"atomic_rmw", [AllTypesMatch<["value", "result"]>, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "read-modify-write; the result is the old value";
  let description = [{
    A scalar atomic happens once per program and its result is known to all threads.
    Lanes with a false mask do nothing and their result is unspecified. `load` ignores the
    value, and the result of `store` is not read.

        %3 = tw.atomic_rmw <fadd>, <acq_rel>, <gpu>, %p, %o : tensor<8x!tw.ptr<f32>>, tensor<8xf32>
  }];
  let arguments = (ins TW_AtomicKind:$kind, TW_PtrOrPtrTile:$pointer, TW_Any:$value,
                       Optional<TW_BoolOrBoolTile>:$mask, TW_Semantic:$semantic, TW_Scope:$scope);
  let results = (outs TW_Any:$result);
  let assemblyFormat = [{$kind `,` $semantic `,` $scope `,` $pointer `,` $value (`mask` $mask^ `:` type($mask))?
                         attr-dict `:` type($pointer) `,` type($value)}];
}

def TW_AtomicCasOp : TW_Op<"atomic_cas", [AllTypesMatch<["compare", "value", "result"]>, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "compare and swap; the result is the old value";
  let description = [{
    Writes `value` where memory holds the bits of `compare`. A scalar one happens once
    per program, as for tw.atomic_rmw.

        %4 = tw.atomic_cas <acquire>, <sys>, %p, %o, %o : tensor<8x!tw.ptr<f32>>, tensor<8xf32>
  }];
  let arguments = (ins TW_PtrOrPtrTile:$pointer, TW_Any:$compare, TW_Any:$value, TW_Semantic:$semantic, TW_Scope:$scope);
  let results = (outs TW_Any:$result);
  let assemblyFormat = [{$semantic `,` $scope `,` $pointer `,` $compare `,` $value attr-dict
                         `:` type($pointer) `,` type($value)}];
}

//===----------------------------------------------------------------------===//
// Tensor descriptors
//===----------------------------------------------------------------------===//

def TW_MakeDescriptorOp : TW_PureOp<"make_descriptor", [AttrSizedOperandSegments]> {
  let summary = "a descriptor of an array that only the kernel knows; the program makes its tensor map";
  let description = [{
    `shape` has an extent for each dimension; `strides`, in elements, one for each
    but the last, whose stride is 1. Base and strides are multiples of 16 bytes.
    Elements outside the array are zero, or NaN with `padsWithNan`; `isUnsigned`
    says how reductions compare integers.

    Where maps are made follows from PlaceTensorMaps: `scratch` is global memory of
    this program for `slots` maps, which are used in turn; `staging` is shared
    memory in which a map is put together; `followsStores` says that TMA stores may
    still read a map that is made again.

        %0 = tw.make_descriptor %p shape[%n, %n] strides[%n] : !tw.ptr<f16> -> !tw.descriptor<64x32xf16>
  }];
  let arguments = (ins TW_ScalarPointer:$base, Variadic<I64>:$shape, Variadic<I64>:$strides,
                       Optional<TW_ScalarPointer>:$scratch, Optional<TW_BufferType>:$staging,
                       UnitAttr:$isUnsigned, UnitAttr:$padsWithNan,
                       DefaultValuedAttr<I32Attr, "1">:$slots, UnitAttr:$followsStores);
  let results = (outs TW_DescriptorType:$result);
  let assemblyFormat = [{$base `shape` `[` $shape `]` `strides` `[` $strides `]`
                         (`scratch` $scratch^ `:` type($scratch))? (`staging` $staging^ `:` type($staging))?
                         attr-dict `:` type($base) `->` type($result)}];
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$base, "::mlir::ValueRange":$shape,
                                 "::mlir::ValueRange":$strides, "bool":$isUnsigned, "bool":$padsWithNan), [{
    build($_builder, $_state, type, base, shape, strides, /*scratch=*/::mlir::Value(),
          /*staging=*/::mlir::Value(), isUnsigned, padsWithNan, /*slots=*/1, /*followsStores=*/false);
  }]>];
  let hasVerifier = 1;
}

def TW_DescriptorLoadOp : TW_Op<"descriptor_load", [MemoryEffects<[MemRead]>]> {
  let summary = "the block at some coordinates of an array; elements outside it are padding";
  let description = [{
    There is a coordinate, in elements, for each dimension; the result has the shape and
    the element type of the descriptor's blocks, possibly without dimensions of extent 1
    before the last one, or with more of them.

        %1 = tw.descriptor_load %0[%i, %j] : !tw.descriptor<64x32xf16> -> tensor<64x32xf16>
  }];
  let arguments = (ins TW_DescriptorType:$descriptor, Variadic<I32>:$coordinates,
                       DefaultValuedAttr<TW_Eviction, "Eviction::normal">:$eviction);
  let results = (outs TW_Tile:$result);
  let assemblyFormat = "$descriptor `[` $coordinates `]` attr-dict `:` type($descriptor) `->` type($result)";
  let hasVerifier = 1;
}

def TW_DescriptorStoreOp : TW_Op<"descriptor_store", [MemoryEffects<[MemWrite]>]> {
  let summary = "writes a block at some coordinates of an array; elements outside it are dropped";
  let description = [{
    With `reduction` the block is combined with what is there. The shape of the tile is
    that of a block as for tw.descriptor_load.

        tw.descriptor_store %0[%i, %j], %1 : !tw.descriptor<64x32xf16>, tensor<64x32xf16>
        tw.descriptor_store %0[%i, %j], %1 {reduction = #tw.atomic<fadd>} : !tw.descriptor<64x32xf16>, tensor<64x32xf16>
  }];
  let arguments = (ins TW_DescriptorType:$descriptor, Variadic<I32>:$coordinates, TW_Tile:$value,
                       OptionalAttr<TW_AtomicKind>:$reduction);
  let assemblyFormat = "$descriptor `[` $coordinates `]` `,` $value attr-dict `:` type($descriptor) `,` type($value)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Hints without a value, debugging
//===----------------------------------------------------------------------===//

def TW_AssumeOp : TW_Op<"assume", [MemoryEffects<[MemWrite]>]> {
  let summary = "promises that a scalar condition holds";
  let description = [{
    Code generation may rely on it; where it is false, the program means nothing.

        tw.assume %c
  }];
  let arguments = (ins I1:$condition);
  let assemblyFormat = "$condition attr-dict";
}

def TW_BarrierOp : TW_Op<"barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits for all threads of the block, or of the program, and orders their memory accesses";
  let description = [{
    A program of one block needs no `all_blocks`. With it all blocks of the cluster wait for each other.

        tw.barrier
        tw.barrier all_blocks
  }];
  let arguments = (ins UnitAttr:$allBlocks);
  let assemblyFormat = "(`all_blocks` $allBlocks^)? attr-dict";
}

def TW_ClusterArriveOp : TW_Op<"cluster_arrive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "tells the other blocks of the program that this one has begun";
  let description = [{
    Once per kernel, before any barrier of all blocks; a tw.cluster_wait follows.

        tw.cluster_arrive
  }];
  let assemblyFormat = "attr-dict";
}

def TW_ClusterWaitOp : TW_Op<"cluster_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until all blocks of the program have begun";
  let description = [{
    Once per kernel, after its tw.cluster_arrive and before anything that touches the
    shared memory of another block.

        tw.cluster_wait
  }];
  let assemblyFormat = "attr-dict";
}

def TW_PrintOp : TW_Op<"print", [MemoryEffects<[MemWrite]>]> {
  let summary = "prints values, one line per element, with program and element indices";
  let description = [{
    `isSigned` has an entry for each value, and concerns integers. With `hex` all
    numbers are printed as their bits. The prefix stands between index and value as it is.

        tw.print " x: " hex %x : tensor<8xf32> {isSigned = array<i1: true>}
  }];
  let arguments = (ins StrAttr:$prefix, UnitAttr:$hex, Variadic<TW_Any>:$values, DenseBoolArrayAttr:$isSigned);
  let assemblyFormat = "$prefix (`hex` $hex^)? ($values^ `:` type($values))? attr-dict";
}

def TW_AssertOp : TW_Op<"assert", [MemoryEffects<[MemWrite]>]> {
  let summary = "stops the kernel where a condition is false";
  let description = [{
    A tile stops the kernel where any of its elements is false.

        tw.assert %c, "positive" : i1
  }];
  let arguments = (ins TW_BoolOrBoolTile:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict `:` type($condition)";
}

#endif // TILEWRIGHT_IR_DIALECT_MEMORYOPS_TD
