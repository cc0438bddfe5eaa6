//===- ElementOps.td - Operations on elements --------------*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: tiles and scalars from others, at tile level: programs and creation, shapes,
// elementwise operations, those across elements, code of the user, matrix products.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_DIALECT_ELEMENTOPS_TD
#define TILEWRIGHT_IR_DIALECT_ELEMENTOPS_TD

include "ir/dialect/DialectBase.td"

//===----------------------------------------------------------------------===//
// Programs and creation
//===----------------------------------------------------------------------===//

def TW_ProgramIdOp : TW_PureOp<"program_id"> {
  let summary = "index of this program along one axis of the grid";
  let description = [{
    Axes are 0, 1 and 2. The same in all threads of a program, and from 0 to the extent
    of the grid - 1.

        %0 = tw.program_id 0 : i32
  }];
  let arguments = (ins ConfinedAttr<I32Attr, [IntMinValue<0>, IntMaxValue<2>]>:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
}

def TW_NumProgramsOp : TW_PureOp<"num_programs"> {
  let summary = "extent of the grid along one axis";
  let description = [{
    Axes are 0, 1 and 2; an axis that the launch does not name has one program.

        %1 = tw.num_programs 2 : i32
  }];
  let arguments = (ins ConfinedAttr<I32Attr, [IntMinValue<0>, IntMaxValue<2>]>:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
}

def TW_RangeOp : TW_PureOp<"range"> {
  let summary = "the consecutive integers start to end - 1";
  let description = [{
    The result has rank 1, elements of 32 bits, and as many of them as the range; both
    ends are constants.

        %0 = tw.range 8 to 16 : tensor<8xi32>
  }];
  let arguments = (ins I32Attr:$start, I32Attr:$end);
  let results = (outs TW_Tile:$result);
  let assemblyFormat = "$start `to` $end attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def TW_SplatOp : TW_PureOp<"splat"> {
  let summary = "a tile whose elements are all one scalar";
  let description = [{
    The scalar has the element type of the tile: a number, a pointer, or a truth value.

        %1 = tw.splat %x : f32 -> tensor<4x4xf32>
  }];
  let arguments = (ins TW_Any:$source);
  let results = (outs TW_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

def TW_ExpandDimsOp : TW_PureOp<"expand_dims"> {
  let summary = "inserts a dimension of extent 1";
  let description = [{
    The new dimension stands at `axis`, from 0 to the rank of the source. No element
    moves.

        %0 = tw.expand_dims %y, 0 : tensor<8xf32> -> tensor<1x8xf32>
  }];
  let arguments = (ins TW_Tile:$source, I32Attr:$axis);
  let results = (outs TW_Tile:$result);
  let assemblyFormat = "$source `,` $axis attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def TW_BroadcastOp : TW_PureOp<"broadcast"> {
  let summary = "stretches dimensions of extent 1";
  let description = [{
    The ranks are equal, and so is each extent that is not 1 in the source:
    tw.expand_dims comes first.

        %1 = tw.broadcast %0 : tensor<1x8xf32> -> tensor<4x8xf32>
  }];
  let arguments = (ins TW_Tile:$source);
  let results = (outs TW_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TW_ReshapeOp : TW_PureOp<"reshape"> {
  let summary = "the same elements in row-major order under another shape";
  let description = [{
    With `may_reorder` the compiler may permute the elements if that saves moving
    them; nothing but the multiset of values is then promised.

        %2 = tw.reshape %1 : tensor<4x8xf32> -> tensor<2x16xf32>
        %3 = tw.reshape %1 may_reorder : tensor<4x8xf32> -> tensor<32xf32>
  }];
  let arguments = (ins TW_Tile:$source, UnitAttr:$mayReorder);
  let results = (outs TW_Tile:$result);
  let assemblyFormat = "$source (`may_reorder` $mayReorder^)? attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TW_PermuteOp : TW_PureOp<"permute"> {
  let summary = "permutes dimensions: result dimension i is source dimension order[i]";
  let description = [{
    `order` names each dimension of the source once.

        %4 = tw.permute %x [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  }];
  let arguments = (ins TW_Tile:$source, DenseI32ArrayAttr:$order);
  let results = (outs TW_Tile:$result);
  let assemblyFormat = "$source $order attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TW_JoinOp : TW_PureOp<"join", [AllTypesMatch<["lhs", "rhs"]>]> {
  let summary = "stacks two tiles along a new last dimension of extent 2";
  let description = [{
    result[.., 0] is `lhs`, result[.., 1] is `rhs`. tw.split takes it apart again.

        %5 = tw.join %y, %y : tensor<8xf32> -> tensor<8x2xf32>
  }];
  let arguments = (ins TW_Tile:$lhs, TW_Tile:$rhs);
  let results = (outs TW_Tile:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
  let hasVerifier = 1;
}

def TW_SplitOp : TW_PureOp<"split"> {
  let summary = "the two halves of a tile along its last dimension of extent 2";
  let description = [{
    The inverse of tw.join: the last extent of the source is 2, and the results lack it.

        %6, %7 = tw.split %5 : tensor<8x2xf32> -> tensor<8xf32>, tensor<8xf32>
  }];
  let arguments = (ins TW_Tile:$source);
  let results = (outs TW_Tile:$lhs, TW_Tile:$rhs);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($lhs) `,` type($rhs)";
  let hasVerifier = 1;
}

def TW_ConcatOp : TW_PureOp<"concat", [AllTypesMatch<["lhs", "rhs"]>]> {
  let summary = "the elements of both tiles, along the first dimension";
  let description = [{
    Both have one type. The result has twice the first extent: `lhs` comes first.

        %8 = tw.concat %6, %7 : tensor<8xf32> -> tensor<16xf32>
  }];
  let arguments = (ins TW_Tile:$lhs, TW_Tile:$rhs);
  let results = (outs TW_Tile:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
  let hasVerifier = 1;
}

def TW_ExtractScalarOp : TW_PureOp<"extract_scalar"> {
  let summary = "the only element of a one-element tile";
  let description = [{
    The tile has one element.

        %9 = tw.extract_scalar %one : tensor<1xf32> -> f32
  }];
  let arguments = (ins TW_Tile:$source);
  let results = (outs TW_Any:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Elementwise: what arith and math do not have
//===----------------------------------------------------------------------===//

def TW_AddPtrOp : TW_ElementwiseOp<"addptr", [AllTypesMatch<["pointer", "result"]>]> {
  let summary = "advances pointers by a number of elements";
  let description = [{
    The offset is sign-extended to 64 bits, or zero-extended with `unsigned`.

        %0 = tw.addptr %p, %i : tensor<8x!tw.ptr<f32>>, tensor<8xi32>
        %1 = tw.addptr %p, %i unsigned : tensor<8x!tw.ptr<f32>>, tensor<8xi32>
  }];
  let arguments = (ins TW_PtrOrPtrTile:$pointer, TW_IntOrIntTile:$offset, UnitAttr:$isUnsigned);
  let results = (outs TW_PtrOrPtrTile:$result);
  let assemblyFormat = "$pointer `,` $offset (`unsigned` $isUnsigned^)? attr-dict `:` type($pointer) `,` type($offset)";
}

def TW_FloatCastOp : TW_ElementwiseOp<"float_cast"> {
  let summary = "converts between float types, fp8 included";
  let description = [{
    E4M3 saturates finite values; NaN stays NaN. Widening is exact.

        %0 = tw.float_cast %x : tensor<8xf32> -> tensor<8xf8E4M3FN>
        %1 = tw.float_cast %x {rounding = #tw.rounding<toward_zero>} : tensor<8xf32> -> tensor<8xbf16>
  }];
  let arguments = (ins TW_FloatOrFloatTile:$source, DefaultValuedAttr<TW_Rounding, "FloatRounding::nearest_even">:$rounding);
  let results = (outs TW_FloatOrFloatTile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
}

def TW_PtrToIntOp : TW_ElementwiseOp<"ptr_to_int"> {
  let summary = "the address as a 64-bit integer";
  let description = [{
    The address in bytes. Passes keep apart what is added to it: an address computed
    from the integer may be of any array.

        %2 = tw.ptr_to_int %p : tensor<8x!tw.ptr<f32>> -> tensor<8xi64>
  }];
  let arguments = (ins TW_PtrOrPtrTile:$source);
  let results = (outs TW_IntOrIntTile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
}

def TW_IntToPtrOp : TW_ElementwiseOp<"int_to_ptr"> {
  let summary = "a 64-bit integer as an address";
  let description = [{
    Of a descriptor only the address 0 means something: none yet.

        %3 = tw.int_to_ptr %2 : tensor<8xi64> -> tensor<8x!tw.ptr<f32>>
  }];
  let arguments = (ins TW_IntOrIntTile:$source);
  let results = (outs AnyTypeOf<[TW_PtrOrPtrTile, TW_DescriptorType]>:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
}

def TW_BitcastOp : TW_ElementwiseOp<"bitcast"> {
  let summary = "the same bits as another type of equal width, pointers included";
  let description = [{
    Both element types have the same number of bits. A pointer becomes one to another
    type, not an integer: tw.ptr_to_int does that.

        %4 = tw.bitcast %x : tensor<8xf32> -> tensor<8xi32>
  }];
  let arguments = (ins TW_Any:$source);
  let results = (outs TW_Any:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TW_MulHighOp : TW_ElementwiseOp<"mul_high", [SameOperandsAndResultType]> {
  let summary = "the upper half of an integer product";
  let description = [{
    The product has twice the bits of an operand; the result is the upper half of it.
    `signed` says how the operands are extended.

        %5 = tw.mul_high %i, %i signed : tensor<8xi32>
  }];
  let arguments = (ins TW_IntOrIntTile:$lhs, TW_IntOrIntTile:$rhs, UnitAttr:$isSigned);
  let results = (outs TW_IntOrIntTile:$result);
  let assemblyFormat = "$lhs `,` $rhs (`signed` $isSigned^)? attr-dict `:` type($result)";
}

def TW_PreciseSqrtOp : TW_ElementwiseOp<"precise_sqrt", [SameOperandsAndResultType]> {
  let summary = "correctly rounded square root";
  let description = [{
    Rounds to nearest even. math.sqrt may be off by some ULP in f32.

        %6 = tw.precise_sqrt %x : tensor<8xf32>
  }];
  let arguments = (ins TW_FloatOrFloatTile:$source);
  let results = (outs TW_FloatOrFloatTile:$result);
  let assemblyFormat = "$source attr-dict `:` type($result)";
}

def TW_PreciseDivOp : TW_ElementwiseOp<"precise_div", [SameOperandsAndResultType]> {
  let summary = "correctly rounded division; arith.divf may be off by 2 ULP in f32";
  let description = [{
    Rounds to nearest even.

        %7 = tw.precise_div %x, %x : tensor<8xf32>
  }];
  let arguments = (ins TW_FloatOrFloatTile:$lhs, TW_FloatOrFloatTile:$rhs);
  let results = (outs TW_FloatOrFloatTile:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}

def TW_HintOp : TW_ElementwiseOp<"hint", [SameOperandsAndResultType]> {
  let summary = "a promise about the values of a tile or scalar; the identity otherwise";
  let description = [{
    Each list has one entry per dimension (one for a scalar). `divisibility`: the
    first of each run of consecutive values is divisible by it. `contiguity`: values
    come in runs of that length. `constancy`: in runs of equal values.

        %0 = tw.hint %x divisibility [16] : tensor<8xf32>
  }];
  let arguments = (ins TW_Any:$source, OptionalAttr<DenseI64ArrayAttr>:$divisibility,
                       OptionalAttr<DenseI64ArrayAttr>:$contiguity, OptionalAttr<DenseI64ArrayAttr>:$constancy);
  let results = (outs TW_Any:$result);
  let assemblyFormat = [{$source (`divisibility` $divisibility^)? (`contiguity` $contiguity^)?
                         (`constancy` $constancy^)? attr-dict `:` type($result)}];
}

def TW_OpaqueOp : TW_PureOp<"opaque", [AllTypesMatch<["source", "result"]>, Elementwise]> {
  let summary = "the identity, which optimisations and the assembler do not see through";
  let description = [{
    What is computed from the result is not shared with what was computed from the
    source: that would be kept in registers meanwhile. With a number that changes, such as
    that of a loop's iteration, it is not computed once for all of them either.

        %8 = tw.opaque %x : tensor<8xf32>
        %9 = tw.opaque %x for %i : tensor<8xf32>, i32
  }];
  let arguments = (ins TW_Any:$source, Optional<AnySignlessIntegerOrIndex>:$iteration);
  let results = (outs TW_Any:$result);
  let assemblyFormat = "$source (`for` $iteration^)? attr-dict `:` type($result) (`,` type($iteration)^)?";
}

//===----------------------------------------------------------------------===//
// Across elements
//===----------------------------------------------------------------------===//

class TW_CombineOp<string mnemonic> : TW_PureOp<mnemonic, [SingleBlock, SameVariadicOperandSize]> {
  let regions = (region SizedRegion<1>:$combine);
  let results = (outs Variadic<TW_Any>:$results);
  let hasVerifier = 1;
}

def TW_ReduceOp : TW_CombineOp<"reduce"> {
  let summary = "combines all elements along one axis; scalars for a tile of rank 1";
  let description = [{
    The region combines two tuples of scalars: its arguments are the n left elements,
    then the n right ones; `tw.yield` gives the n results. It must be associative. The
    order of combination is not specified. The results lack the axis.

        %0 = tw.reduce %x axis 1 {
        ^bb0(%a: f32, %b: f32):
          %s = arith.addf %a, %b : f32
          tw.yield %s : f32
        } : (tensor<4x8xf32>) -> tensor<4xf32>
  }];
  let arguments = (ins Variadic<TW_Tile>:$sources, I32Attr:$axis);
  let assemblyFormat = "$sources `axis` $axis $combine attr-dict `:` functional-type($sources, $results)";
}

def TW_ScanOp : TW_CombineOp<"scan"> {
  let summary = "inclusive prefix combination along one axis, from the end with `reverse`";
  let description = [{
    The region is that of tw.reduce. Element i of the result combines elements 0 to i of
    the source, in this order; with `reverse` elements n - 1 down to i. Results have the
    type of the sources.

        %1 = tw.scan %x axis 0 reverse {
        ^bb0(%a: f32, %b: f32):
          %s = arith.addf %a, %b : f32
          tw.yield %s : f32
        } : (tensor<4x8xf32>) -> tensor<4x8xf32>
  }];
  let arguments = (ins Variadic<TW_Tile>:$sources, I32Attr:$axis, UnitAttr:$reverse);
  let assemblyFormat = "$sources `axis` $axis (`reverse` $reverse^)? $combine attr-dict `:` functional-type($sources, $results)";
}

def TW_GatherOp : TW_PureOp<"gather"> {
  let summary = "the elements of a tile that indices along one axis name";
  let description = [{
    result[.., i, ..] = source[.., index[.., i, ..], ..]; zero where the index, as an
    unsigned number, is not below the extent of the source. All extents but that of the
    axis are those of the source.

        %2 = tw.gather %x[%n] axis 1 : tensor<4x8xf32>, tensor<4x2xi32> -> tensor<4x2xf32>
  }];
  let arguments = (ins TW_Tile:$source, TW_Tile:$index, I32Attr:$axis);
  let results = (outs TW_Tile:$result);
  let assemblyFormat = "$source `[` $index `]` `axis` $axis attr-dict `:` type($source) `,` type($index) `->` type($result)";
  let hasVerifier = 1;
}

def TW_HistogramOp : TW_PureOp<"histogram"> {
  let summary = "how many elements of a row have each of the first numbers";
  let description = [{
    result[i] is the number of elements of the source that are i and whose mask is true.
    Elements that are, as unsigned numbers, not below the extent of the result count nowhere.

        %3 = tw.histogram %n mask %m : tensor<64xi1> : tensor<64xi32> -> tensor<16xi32>
  }];
  let arguments = (ins TW_Tile:$source, Optional<TW_Tile>:$mask);
  let results = (outs TW_Tile:$result);
  let assemblyFormat = "$source (`mask` $mask^ `:` type($mask))? attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def TW_YieldOp : TW_PureOp<"yield", [Terminator, ReturnLike, ParentOneOf<["ReduceOp", "ScanOp", "MapOp"]>]> {
  let summary = "ends a region on scalars";
  let description = [{
    In tw.reduce, tw.scan and tw.map, whose descriptions say what it gives.

        tw.yield %s : f32
  }];
  let arguments = (ins Variadic<TW_Any>:$operands);
  let assemblyFormat = "$operands attr-dict `:` type($operands)";
}

//===----------------------------------------------------------------------===//
// Code of the user on elements
//===----------------------------------------------------------------------===//

def TW_MapOp : TW_Op<"map", [SingleBlock, RecursiveMemoryEffects, RecursivelySpeculatable]> {
  let summary = "runs a region on scalars, `pack` elements of each source at a time";
  let description = [{
    The region's arguments are `pack` elements of the first source, then of the next;
    it yields the results in the same order. Which elements form a group is not
    specified; the last may repeat in a group that is not full.

        %0 = tw.map %x, %y pack 1 {
        ^bb0(%a: f32, %b: i16):
          tw.yield %a : f32
        } : (tensor<8xf32>, tensor<8xi16>) -> tensor<8xf32>
  }];
  let regions = (region SizedRegion<1>:$body);
  let arguments = (ins Variadic<TW_Tile>:$sources, ConfinedAttr<I32Attr, [IntPositive]>:$pack);
  let results = (outs Variadic<TW_Tile>:$results);
  let assemblyFormat = "$sources `pack` $pack $body attr-dict `:` functional-type($sources, $results)";
  let hasVerifier = 1;
}

def TW_ExternCallOp : TW_ElementwiseOp<"extern_call"> {
  let summary = "a function of a bitcode library on each element";
  let description = [{
    `symbol` is one of libdevice (`__nv_...`).

        %3 = tw.extern_call "__nv_sinf"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  }];
  let arguments = (ins StrAttr:$symbol, Variadic<TW_Any>:$sources);
  let results = (outs TW_Any:$result);
  let assemblyFormat = "$symbol `(` $sources `)` attr-dict `:` functional-type($sources, $result)";
}

def TW_InlineAsmOp : TW_Op<"inline_asm", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "runs PTX on `pack` elements of each source at a time";
  let description = [{
    `constraints` are LLVM's: an output register per 32 bits of a group of each result,
    then an input register per 32 bits of each source, wider elements one register each;
    then clobbers. Elements narrower than 32 bits share a register, the first in the
    lowest bits. Groups are as in tw.map. Sources and results are alike in shape.

        %1 = tw.inline_asm "add.s16x2 $0, $1, $1;", "=r,r" pack 2 pure(%y) : (tensor<8xi16>) -> tensor<8xi16>
  }];
  let arguments = (ins Variadic<TW_Any>:$sources, StrAttr:$assembly, StrAttr:$constraints,
                       ConfinedAttr<I32Attr, [IntPositive]>:$pack, UnitAttr:$isPure);
  let results = (outs Variadic<TW_Any>:$results);
  let assemblyFormat = [{
    $assembly `,` $constraints `pack` $pack (`pure` $isPure^)? `(` $sources `)` attr-dict
    `:` functional-type($sources, $results)
  }];
}

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

def TW_DotPrecisionKind : TW_Enum<"DotPrecision", "how f32 operands of a product are used", [
  I32EnumAttrCase<"tf32", 0>, I32EnumAttrCase<"tf32x3", 1>, I32EnumAttrCase<"ieee", 2>,
  I32EnumAttrCase<"bf16x3", 3>, I32EnumAttrCase<"bf16x6", 4>]>;
def TW_DotPrecision : TW_EnumAttr<TW_DotPrecisionKind, "precision">;

def TW_MatrixUnitKind : TW_Enum<"MatrixUnit", "what computes a product", [
  I32EnumAttrCase<"fma", 0>, I32EnumAttrCase<"mma", 1>, I32EnumAttrCase<"wgmma", 2>]>;
def TW_MatrixUnit : TW_EnumAttr<TW_MatrixUnitKind, "unit">;

def TW_DotOp : TW_PureOp<"dot", [AllTypesMatch<["acc", "result"]>]> {
  let summary = "a x b + acc, over the last two dimensions; a leading one is a batch";
  let description = [{
    `a` is [B x] M x K, `b` [B x] K x N, `acc` [B x] M x N. `precision` concerns f32
    operands only. `max_imprecise` > 0: fp8 products are added to the accumulator
    in full precision every so many elements of K.

    `unit` and `warps` (log2 of the warps along each dimension of the result) are
    set by SelectMatrixUnit; with unit mma or fma at layout level the operands have
    the layout of makeDotOperand (mma) or any slice of the result's (fma); products
    by wgmma, and larger ones by fma, become ops that read shared memory.

        %0 = tw.dot %a, %b, %c : tensor<64x32xf16>, tensor<32x64xf16>, tensor<64x64xf32>
  }];
  let arguments = (ins TW_Tile:$a, TW_Tile:$b, TW_Tile:$acc,
                       DefaultValuedAttr<TW_DotPrecision, "DotPrecision::tf32">:$precision,
                       DefaultValuedAttr<I32Attr, "0">:$maxImprecise,
                       OptionalAttr<TW_MatrixUnit>:$unit, OptionalAttr<DenseI32ArrayAttr>:$warps);
  let results = (outs TW_Tile:$result);
  let assemblyFormat = "$a `,` $b `,` $acc attr-dict `:` type($a) `,` type($b) `,` type($acc)";
  let hasVerifier = 1;
}

#endif // TILEWRIGHT_IR_DIALECT_ELEMENTOPS_TD
