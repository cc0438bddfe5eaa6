//===- TileOps.td - The tw dialect -------------------------*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: what a tile language adds to arith, math, scf and func. Elementwise
// arithmetic is arith and math on tensors; control flow is scf; this dialect
// has program indices, shapes, pointers, memory, reductions, layouts.
//
// Levels: at tile level tensors have no encoding. At layout level every tensor
// carries #tw.layout and ConvertLayout appears. Rationale.md has the decisions.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_DIALECT_TILEOPS_TD
#define TILEWRIGHT_IR_DIALECT_TILEOPS_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/CommonTypeConstraints.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Dialect, types, attributes
//===----------------------------------------------------------------------===//

def TW_Dialect : Dialect {
  let name = "tw";
  let cppNamespace = "::tilewright::ir";
  let summary = "programs on tiles: pointers, memory, shapes, reductions, layouts";
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::func::FuncDialect"];
}

class TW_Type<string name, string typeMnemonic> : TypeDef<TW_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def TW_Pointer : TW_Type<"Pointer", "ptr"> {
  let summary = "a 64-bit address of elements of one type";
  let description = [{
    `!tw.ptr<f32>` points to global memory; `!tw.ptr<f32, 3>` to shared memory.
    The boolean `i1` is stored as a byte, so pointers to it are `!tw.ptr<i8>`.
  }];
  let parameters = (ins "::mlir::Type":$pointee, DefaultValuedParameter<"unsigned", "1">:$addressSpace);
  let assemblyFormat = "`<` $pointee (`,` $addressSpace^)? `>`";
  let builders = [TypeBuilderWithInferredContext<(ins "::mlir::Type":$pointee), [{
    return Base::get(pointee.getContext(), pointee, 1);
  }]>];
}

def TW_Layout : AttrDef<TW_Dialect, "Layout"> {
  let mnemonic = "layout";
  let summary = "the linear layout of a tile: which element each hardware index holds";
  let description = [{
    The columns of a `tilewright::LinearLayout`, one list per input dimension; the
    extents come from the tensor type that carries the attribute. Elements are
    row-major positions (ir/layout/LinearLayout.h has a worked example):

        tensor<4x4xf32, #tw.layout<register = [1, 2], lane = [4, 8], warp = [], block = []>>
  }];
  let parameters = (ins ArrayRefParameter<"uint32_t">:$registers, ArrayRefParameter<"uint32_t">:$lanes,
                        ArrayRefParameter<"uint32_t">:$warps, ArrayRefParameter<"uint32_t">:$blocks);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// The layout of a tile of this shape.
    ::tilewright::LinearLayout toLinear(::llvm::ArrayRef<int64_t> shape) const;
    static LayoutAttr fromLinear(::mlir::MLIRContext *context, const ::tilewright::LinearLayout &layout);
  }];
}

def TW_SharedLayout : AttrDef<TW_Dialect, "SharedLayout"> {
  let mnemonic = "shared";
  let summary = "the linear layout of a tile in shared memory: which element each offset holds";
  let description = [{
    One column per bit of the offset, which counts elements; row-major positions as
    in #tw.layout. The map is invertible.
  }];
  let parameters = (ins ArrayRefParameter<"uint32_t">:$offsets);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    ::tilewright::LinearLayout toLinear(::llvm::ArrayRef<int64_t> shape) const;
    static SharedLayoutAttr fromLinear(::mlir::MLIRContext *context, const ::tilewright::LinearLayout &layout);
  }];
}

def TW_Buffer : TW_Type<"Buffer", "buffer"> {
  let summary = "a tile in shared memory, or a ring of `slots` of them";
  let description = [{ `!tw.buffer<64x32xf16, #tw.shared<offset = [...]>, 3>` }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        "::tilewright::ir::SharedLayoutAttr":$layout, "int64_t":$slots);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    ::tilewright::LinearLayout toLinear() const { return getLayout().toLinear(getShape()); }
    /// Bytes of one slot.
    int64_t slotBytes() const;
    /// Bytes from one slot to the next: each begins where a swizzle pattern does.
    int64_t slotStride() const;
    BufferType withSlots(int64_t slots) const {
      return get(getContext(), getShape(), getElementType(), getLayout(), slots);
    }
  }];
}

def TW_Mbarrier : TW_Type<"Mbarrier", "mbarrier"> {
  let summary = "a ring of barrier objects in shared memory, 8 bytes each";
  let parameters = (ins "int64_t":$slots);
  let assemblyFormat = "`<` $slots `>`";
}

def TW_Descriptor : TW_Type<"Descriptor", "descriptor"> {
  let summary = "an array in global memory, accessed by blocks of one shape at coordinates";
  let description = [{ `!tw.descriptor<128x64xf16>`: rank, block shape and element type. }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
}

class TW_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::tilewright::ir";
  let genSpecializedAttr = 0;
}
class TW_EnumAttr<EnumAttrInfo info, string mnemonic> : EnumAttr<TW_Dialect, info, mnemonic> {
  let assemblyFormat = "`<` $value `>`";
}

def TW_CacheModifierKind : TW_Enum<"CacheModifier", "which caches an access uses", [
  I32EnumAttrCase<"none", 0>, I32EnumAttrCase<"ca", 1>, I32EnumAttrCase<"cg", 2>, I32EnumAttrCase<"cs", 3>,
  I32EnumAttrCase<"cv", 4>, I32EnumAttrCase<"wb", 5>, I32EnumAttrCase<"wt", 6>]>;
def TW_CacheModifier : TW_EnumAttr<TW_CacheModifierKind, "cache">;

def TW_EvictionKind : TW_Enum<"Eviction", "how long a line should stay in cache", [
  I32EnumAttrCase<"normal", 0>, I32EnumAttrCase<"evict_first", 1>, I32EnumAttrCase<"evict_last", 2>]>;
def TW_Eviction : TW_EnumAttr<TW_EvictionKind, "eviction">;

def TW_AtomicKindEnum : TW_Enum<"AtomicKind", "read-modify-write operation", [
  I32EnumAttrCase<"add", 0>, I32EnumAttrCase<"fadd", 1>, I32EnumAttrCase<"bit_and", 2, "and">, I32EnumAttrCase<"bit_or", 3, "or">,
  I32EnumAttrCase<"bit_xor", 4, "xor">, I32EnumAttrCase<"smax", 5>, I32EnumAttrCase<"smin", 6>,
  I32EnumAttrCase<"umax", 7>, I32EnumAttrCase<"umin", 8>, I32EnumAttrCase<"exchange", 9>,
  I32EnumAttrCase<"fmax", 10>, I32EnumAttrCase<"fmin", 11>,
  I32EnumAttrCase<"load", 12>, I32EnumAttrCase<"store", 13>]>;
def TW_AtomicKind : TW_EnumAttr<TW_AtomicKindEnum, "atomic">;

def TW_SemanticKind : TW_Enum<"MemorySemantic", "memory ordering", [
  I32EnumAttrCase<"relaxed", 0>, I32EnumAttrCase<"acquire", 1>, I32EnumAttrCase<"release", 2>,
  I32EnumAttrCase<"acq_rel", 3>]>;
def TW_Semantic : TW_EnumAttr<TW_SemanticKind, "semantic">;

def TW_ScopeKind : TW_Enum<"MemoryScope", "who observes the ordering", [
  I32EnumAttrCase<"cta", 0>, I32EnumAttrCase<"gpu", 1>, I32EnumAttrCase<"sys", 2>]>;
def TW_Scope : TW_EnumAttr<TW_ScopeKind, "scope">;

def TW_RoundingKind : TW_Enum<"FloatRounding", "rounding of a float conversion", [
  I32EnumAttrCase<"nearest_even", 0>, I32EnumAttrCase<"toward_zero", 1>]>;
def TW_Rounding : TW_EnumAttr<TW_RoundingKind, "rounding">;

def TW_PreciseKind : TW_Enum<"PreciseMath", "correctly rounded f32 operation", [
  I32EnumAttrCase<"div", 0>, I32EnumAttrCase<"sqrt", 1>]>;

//===----------------------------------------------------------------------===//
// Constraints and base classes
//===----------------------------------------------------------------------===//

def TW_PtrOrPtrTile : Type<
  CPred<"::llvm::isa<::tilewright::ir::PointerType>(::mlir::getElementTypeOrSelf($_self))">,
  "pointer or tile of pointers">;
def TW_Tile : Type<CPred<"::llvm::isa<::mlir::RankedTensorType>($_self)">, "tile",
                   "::mlir::RankedTensorType">;
def TW_BufferType : Type<CPred<"::llvm::isa<::tilewright::ir::BufferType>($_self)">, "tile in shared memory",
                         "::tilewright::ir::BufferType">;
def TW_MbarrierType : Type<CPred<"::llvm::isa<::tilewright::ir::MbarrierType>($_self)">, "shared-memory barrier",
                           "::tilewright::ir::MbarrierType">;
def TW_DescriptorType : Type<CPred<"::llvm::isa<::tilewright::ir::DescriptorType>($_self)">, "tensor descriptor",
                             "::tilewright::ir::DescriptorType">;
def TW_ScalarPointer : Type<CPred<"::llvm::isa<::tilewright::ir::PointerType>($_self)">, "pointer",
                            "::tilewright::ir::PointerType">;
def TW_TileOrBuffer : AnyTypeOf<[TW_Tile, TW_BufferType]>;
def TW_Any : Type<CPred<"true">, "any type">;
def TW_IntOrIntTile : Type<CPred<"::mlir::getElementTypeOrSelf($_self).isSignlessInteger()">,
                           "integer or tile of integers">;
def TW_BoolOrBoolTile : Type<CPred<"::mlir::getElementTypeOrSelf($_self).isSignlessInteger(1)">,
                             "i1 or tile of i1">;
def TW_FloatOrFloatTile : Type<CPred<"::llvm::isa<::mlir::FloatType>(::mlir::getElementTypeOrSelf($_self))">,
                               "float or tile of floats">;

class TW_Op<string mnemonic, list<Trait> traits = []> : Op<TW_Dialect, mnemonic, traits>;
class TW_PureOp<string mnemonic, list<Trait> traits = []> : TW_Op<mnemonic, !listconcat([Pure], traits)>;
/// Operands and results are alike in shape and layout: the op acts on each
/// register by itself.
class TW_ElementwiseOp<string mnemonic, list<Trait> traits = []>
  : TW_PureOp<mnemonic, !listconcat([Elementwise, SameOperandsAndResultShape], traits)>;

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

def TW_OpaqueOp : TW_ElementwiseOp<"opaque", [SameOperandsAndResultType]> {
  let summary = "the identity, which optimisations and the assembler do not see through";
  let description = [{
    What is computed from the result is not shared with what was computed from the
    source: that would be kept in registers meanwhile.

        %8 = tw.opaque %x : tensor<8xf32>
  }];
  let arguments = (ins TW_Any:$source);
  let results = (outs TW_Any:$result);
  let assemblyFormat = "$source attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

def TW_LoadOp : TW_Op<"load", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "loads through pointers; lanes with a false mask hold `other`, or zero";
  let description = [{
    A mask has the shape of the pointers, and `other` the type of the result. A volatile
    load is neither repeated nor left out.

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
    A program of one block needs no `all_blocks`. With it all blocks of the cluster meet.

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
    numbers are printed as their bits.

        tw.print "x" hex %x : tensor<8xf32> {isSigned = array<i1: true>}
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
    the element type of the descriptor's blocks, possibly without leading dimensions of
    extent 1.

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
    With `reduction` the block is combined with what is there.

        tw.descriptor_store %0[%i, %j], %1 : !tw.descriptor<64x32xf16>, tensor<64x32xf16>
        tw.descriptor_store %0[%i, %j], %1 {reduction = #tw.atomic<fadd>} : !tw.descriptor<64x32xf16>, tensor<64x32xf16>
  }];
  let arguments = (ins TW_DescriptorType:$descriptor, Variadic<I32>:$coordinates, TW_Tile:$value,
                       OptionalAttr<TW_AtomicKind>:$reduction);
  let assemblyFormat = "$descriptor `[` $coordinates `]` `,` $value attr-dict `:` type($descriptor) `,` type($value)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Layout level
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

//===--- tiles in shared memory ---------------------------------------------===//

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

//===--- asynchronous copies ------------------------------------------------===//

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

//===--- shared-memory barriers and TMA --------------------------------------===//

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

//===--- wgmma ---------------------------------------------------------------===//

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

#endif // TILEWRIGHT_IR_DIALECT_TILEOPS_TD
