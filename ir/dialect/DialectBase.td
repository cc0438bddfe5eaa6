//===- DialectBase.td - What operations are made of --------*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the dialect itself, its types, its attributes, the constraints on operands, and
// the classes that operations derive from.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_DIALECT_DIALECTBASE_TD
#define TILEWRIGHT_IR_DIALECT_DIALECTBASE_TD

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

#endif // TILEWRIGHT_IR_DIALECT_DIALECTBASE_TD
