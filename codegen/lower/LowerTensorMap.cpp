//===- LowerTensorMap.cpp - Tensor maps that programs make ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: tw.make_descriptor as inline PTX, and how its value is used.
//
// How: the first warp, whose first thread starts all copies,
//
//     waits for stores by TMA          they may read what is made again
//     writes zeros to shared memory    32 lanes, a word each
//     replaces the fields              first lane
//     copies the map to its slot and releases it to TMA's view of tensor maps
//     acquires it there                so that no older map in the cache is used
//
// Predicates keep the other warps out of all this. A branch would make the assembler wait for
// products in flight. The thread that makes the map also starts the copies that use it, later
// in its program. So no barrier is needed, and one acquire serves all these copies. A map of
// zeros is the form without interleave, swizzle or promotion to L2.
//
// A descriptor is the generic address of its map, with bit 0 set if the array has no
// elements. The map cannot say this, because it holds extents less 1. (For a descriptor that
// is a kernel's argument, the launch has refused such arrays.) The map of such an array
// points at the map's own memory, because TMA faults on invalid addresses even where it loads
// nothing from there.
//
// Extents beyond 2^31 - 1 are cut off there: coordinates are 32-bit integers.
//
// Reference: PTX ISA, "tensormap.replace", "tensormap.cp_fenceproxy".
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/PtxText.h"

#include "ir/support/Hardware.h"
#include "ir/support/TmaBox.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace tilewright::codegen {

TensorMapUse useTensorMap(FunctionLowering &lowering, Value descriptor) {
  Value value = lowering.getScalar(descriptor);
  auto argument = llvm::dyn_cast<BlockArgument>(descriptor);
  if (argument && llvm::isa<func::FuncOp>(argument.getOwner()->getParentOp()))
    return {value, Value()};
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  Value bits = builder.create<LLVM::PtrToIntOp>(loc, builder.getI64Type(), value);
  Value address = builder.create<LLVM::AndOp>(loc, bits, lowering.constantI64(~int64_t(1)));
  Value flag = builder.create<LLVM::TruncOp>(loc, builder.getI1Type(), bits);
  return {address, flag};
}

/// The next of the op's slots in turn. The counter is a variable of the thread, which
/// LLVM keeps in a register.
static Value nextSlot(ir::MakeDescriptorOp op, FunctionLowering &lowering) {
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  Value first = lowering.getScalar(op.getScratch());
  if (op.getSlots() == 1)
    return first;
  Type i32 = builder.getI32Type();
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Value counter = lowering.entryBuilder.create<LLVM::AllocaOp>(
      loc, pointer, i32, lowering.constantI32(1), /*alignment=*/4);
  lowering.entryBuilder.create<LLVM::StoreOp>(loc, lowering.constantI32(0), counter);
  Value slot = builder.create<LLVM::LoadOp>(loc, i32, counter);
  Value next = builder.create<LLVM::AndOp>(
      loc, builder.create<LLVM::AddOp>(loc, slot, lowering.constantI32(1)),
      lowering.constantI32(op.getSlots() - 1));
  builder.create<LLVM::StoreOp>(loc, next, counter);
  Value offset =
      builder.create<LLVM::MulOp>(loc, slot, lowering.constantI32(hardware::tensorMapBytes));
  return builder.create<LLVM::GEPOp>(loc, first.getType(), builder.getI8Type(), first,
                                     llvm::ArrayRef<LLVM::GEPArg>{offset}, /*inbounds=*/true);
}

/// The numbers of PTX for types of elements. Those without one of their own travel as
/// unsigned integers: only reductions and NaN padding look at the type.
static int elementTypeNumber(Type element, bool isUnsigned) {
  if (element.isF16())
    return 6;
  if (element.isF32())
    return 7;
  if (element.isF64())
    return 9;
  if (element.isBF16())
    return 10;
  bool isSigned = element.isInteger() && !isUnsigned;
  switch (ir::elementBits(element)) {
  case 64:
    return isSigned ? 5 : 4;
  case 32:
    return isSigned ? 3 : 2;
  case 16:
    return 1;
  default:
    return 0;
  }
}

static int swizzleNumber(int swizzleBytes) {
  return swizzleBytes == 128 ? 3 : swizzleBytes == 64 ? 2 : swizzleBytes == 32 ? 1 : 0;
}

namespace {

/// The instructions that fill in the fields of the map in shared memory.
class FieldWriter {
public:
  FieldWriter(PtxText &text, std::string map) : text(text), map(std::move(map)) {}

  std::string lines;

  void number(const char *field, int64_t value) { line(field, "b32", std::to_string(value)); }
  void number(const char *field, int dim, int64_t value) {
    line(field, "b32", std::to_string(dim) + ", " + std::to_string(value));
  }
  void word(const char *field, int dim, Value value) {
    line(field, "b32", std::to_string(dim) + ", " + text.operand(value, 'r'));
  }
  void wide(const char *field, Value value) { line(field, "b64", text.operand(value, 'l')); }
  void wide(const char *field, int dim, Value value) {
    line(field, "b64", std::to_string(dim) + ", " + text.operand(value, 'l'));
  }

private:
  PtxText &text;
  std::string map;

  void line(const char *field, const char *type, const std::string &value) {
    lines += std::string("\t@first tensormap.replace.tile.") + field + ".shared::cta.b1024." +
             type + " [" + map + "], " + value + ";\n";
  }
};

} // namespace

/// An extent as the map takes it; `isEmpty` becomes true where there is none.
static Value clampedExtent(FunctionLowering &lowering, Value extent, Value &isEmpty) {
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  Value one = lowering.constantI64(1), most = lowering.constantI64(INT32_MAX);
  Value none = builder.create<LLVM::ICmpOp>(loc, LLVM::ICmpPredicate::slt, extent, one);
  isEmpty = isEmpty ? Value(builder.create<LLVM::OrOp>(loc, isEmpty, none)) : none;
  Value some = builder.create<LLVM::SMaxOp>(loc, extent, one);
  return builder.create<LLVM::TruncOp>(loc, builder.getI32Type(),
                                       builder.create<LLVM::SMinOp>(loc, some, most));
}

/// The fields of the map that lies at `slot`.
static void writeFields(ir::MakeDescriptorOp op, FunctionLowering &lowering, FieldWriter &fields,
                        Value slot, Value &isEmpty) {
  OpBuilder &builder = lowering.builder;
  ir::DescriptorType type = op.getType();
  int rank = static_cast<int>(type.getShape().size());
  int64_t bytes = ir::elementBits(type.getElementType()) / 8;
  TmaBox box = tmaBox(type.getShape().vec(), bytes);
  fields.number("rank", rank - 1);
  // Innermost first; the innermost stride is implied.
  for (int dim = 0; dim < rank; ++dim) {
    int from = rank - 1 - dim;
    Value extent = lowering.getScalar(op.getShape()[from]);
    fields.word("global_dim", dim, clampedExtent(lowering, extent, isEmpty));
    fields.number("box_dim", dim, box.extents[from]);
    fields.number("element_stride", dim, 1);
  }
  auto unlessEmpty = [&](Value value, Value other) -> Value {
    return builder.create<LLVM::SelectOp>(lowering.loc, isEmpty, other, value);
  };
  fields.wide("global_address", unlessEmpty(lowering.getScalar(op.getBase()), slot));
  for (int dim = 1; dim < rank; ++dim) {
    Value stride = builder.create<LLVM::MulOp>(lowering.loc,
                                               lowering.getScalar(op.getStrides()[rank - 1 - dim]),
                                               lowering.constantI64(bytes));
    fields.wide("global_stride", dim - 1,
                unlessEmpty(stride, lowering.constantI64(hardware::tensorMapBytes)));
  }
  fields.number("elemtype", elementTypeNumber(type.getElementType(), op.getIsUnsigned()));
  fields.number("interleave_layout", 0);
  fields.number("swizzle_mode", swizzleNumber(box.swizzleBytes));
  fields.number("fill_mode", op.getPadsWithNan() ? 1 : 0);
}

LogicalResult lowerMakeDescriptor(Operation *op, FunctionLowering &lowering) {
  auto make = llvm::cast<ir::MakeDescriptorOp>(op);
  if (!make.getScratch() || !make.getStaging())
    return op->emitOpError("has no place for its tensor map");
  OpBuilder &builder = lowering.builder;
  Value slot = nextSlot(make, lowering);
  PtxText text(lowering);
  std::string warp = text.operand(lowering.uniformWarpId(), 'r');
  std::string staging = text.operand(lowering.getScalar(make.getStaging()), 'r');
  std::string target = text.operand(slot, 'l');
  FieldWriter fields(text, staging);
  Value isEmpty;
  writeFields(make, lowering, fields, slot, isEmpty);
  // The braces make names local: the text may stand several times in one kernel.
  text.emit("{\n\t.reg .pred mine, first;\n\t.reg .b32 lane, place;\n" +
            std::string(make.getFollowsStores() ? "\tcp.async.bulk.wait_group.read 0;\n" : "") +
            "\tmov.u32 lane, %laneid;\n\tsetp.eq.u32 mine, " + warp +
            ", 0;\n\tsetp.eq.and.u32 first, lane, 0, mine;\n"
            "\tshl.b32 place, lane, 2;\n\tadd.u32 place, place, " +
            staging +
            ";\n"
            // A lane may still copy the map before.
            "\tbar.warp.sync -1;\n\t@mine st.shared.b32 [place], 0;\n\tbar.warp.sync -1;\n" +
            fields.lines +
            "\tbar.warp.sync -1;\n"
            "\t@mine tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu"
            ".sync.aligned [" +
            target + "], [" + staging + "], " + std::to_string(hardware::tensorMapBytes) +
            ";\n\t@mine fence.proxy.tensormap::generic.acquire.gpu [" + target + "], " +
            std::to_string(hardware::tensorMapBytes) + ";\n\t}");
  auto generic = LLVM::LLVMPointerType::get(builder.getContext());
  Value bits = builder.create<LLVM::PtrToIntOp>(
      lowering.loc, builder.getI64Type(),
      builder.create<LLVM::AddrSpaceCastOp>(lowering.loc, generic, slot));
  Value flag = builder.create<LLVM::ZExtOp>(lowering.loc, builder.getI64Type(), isEmpty);
  Value tagged = builder.create<LLVM::OrOp>(lowering.loc, bits, flag);
  lowering.set(op->getResult(0), {builder.create<LLVM::IntToPtrOp>(lowering.loc, generic, tagged)});
  return success();
}

} // namespace tilewright::codegen
