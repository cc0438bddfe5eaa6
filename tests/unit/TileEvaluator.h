//===- TileEvaluator.h - Tile IR on vectors of int64 ------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: for tests of passes, a small evaluator of tile IR on integer, boolean and
// pointer tiles. It shares no code with the passes, and means the same before and
// after layouts. TileGenerator.h makes the kernels.
//
// How: loops are evaluated by running them, so a value has one entry per time it
// was computed. A result that the language leaves open is poison, and so is what
// depends on it.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_UNIT_TILEEVALUATOR_H
#define TILEWRIGHT_TESTS_UNIT_TILEEVALUATOR_H

#include "passes/analysis/AxisInfo.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

namespace tilewright::testing {

using namespace mlir;
using passes::AxisAnalysis;

/// The elements of a tile in row-major order, or the one of a scalar. Integers
/// are sign-extended, pointers are addresses.
using Elements = std::vector<int64_t>;

inline llvm::SmallVector<int64_t> shapeOf(Type type) {
  auto tile = llvm::dyn_cast<RankedTensorType>(type);
  return tile ? llvm::SmallVector<int64_t>(tile.getShape()) : llvm::SmallVector<int64_t>{1};
}

inline unsigned widthOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  return llvm::isa<ir::PointerType>(element) ? 64 : element.getIntOrFloatBitWidth();
}

inline bool isPointer(Value value) {
  return llvm::isa<ir::PointerType>(getElementTypeOrSelf(value));
}

inline RankedTensorType tileOf(Value value) {
  return llvm::dyn_cast<RankedTensorType>(value.getType());
}

inline int64_t pointeeBytes(Type type) {
  return ir::elementBits(llvm::cast<ir::PointerType>(getElementTypeOrSelf(type)).getPointee()) / 8;
}

/// An operation whose result the language leaves open (division by zero), or that
/// breaks the assumption of AxisInfo.h: a sum, product or shift of non-negative
/// values that does not fit. Nothing is claimed of what depends on it.
struct Undefined {};

class Evaluator {
public:
  /// `axes` is asked only where it assumes that nothing overflows; may be null.
  explicit Evaluator(const AxisAnalysis *axes) : axes(axes) {}

  llvm::DenseMap<Value, Elements> values;
  /// All that each value ever was.
  llvm::DenseMap<Value, std::vector<Elements>> history;
  int64_t programId = 0;
  /// What was stored, by address.
  std::map<int64_t, int64_t> memory;
  /// Called with each op that is about to run and the values it has; may be empty.
  std::function<void(Operation *)> observer;
  /// The elements of a value as it is now.
  const Elements &get(Value value) { return values[value]; }
  /// Stored poison: nothing can be compared.
  bool hasPoison = false;
  void set(Value value, Elements elements) {
    for (int64_t &element : elements)
      element = llvm::SignExtend64(element, widthOf(value.getType()));
    poisoned.erase(value);
    history[value].push_back(elements);
    values[value] = std::move(elements);
  }
  /// `to` is what `from` is, undefined included.
  void copy(Value from, Value to) {
    if (poisoned.contains(from))
      poison(to);
    else
      set(to, Elements(values[from]));
  }

  void run(Block &block) {
    for (Operation &op : block.without_terminator())
      run(&op);
  }

private:
  const AxisAnalysis *axes;
  llvm::DenseSet<Value> poisoned;

  void poison(Value value) {
    int64_t size = 1;
    for (int64_t extent : shapeOf(value.getType()))
      size *= extent;
    values[value].assign(size, 0);
    poisoned.insert(value);
  }

  void run(Operation *op) {
    if (observer)
      observer(op);
    if (auto loop = llvm::dyn_cast<scf::ForOp>(op))
      return runFor(loop);
    if (auto branch = llvm::dyn_cast<scf::IfOp>(op))
      return runIf(branch);
    if (auto loop = llvm::dyn_cast<scf::WhileOp>(op))
      ADD_FAILURE() << "evaluator lacks loops with a condition";
    if (auto store = llvm::dyn_cast<ir::StoreOp>(op))
      return runStore(store);
    if (llvm::isa<ir::ReduceOp, ir::ScanOp>(op))
      return runCombine(op);
    if (runShared(op))
      return;
    if (op->getNumResults() == 0)
      return;
    Value result = op->getResult(0);
    llvm::SmallVector<int64_t> shape = shapeOf(result.getType());
    Elements elements(1);
    for (int64_t extent : shape)
      elements.resize(elements.size() * extent);
    if (llvm::any_of(op->getOperands(), [&](Value operand) { return poisoned.contains(operand); }))
      return poison(result);
    try {
      if (!runShape(op, elements, shape))
        for (size_t index = 0; index < elements.size(); ++index)
          elements[index] = element(op, index);
    } catch (const Undefined &) {
      return poison(result);
    }
    set(result, std::move(elements));
  }

  void runFor(scf::ForOp loop) {
    for (auto [argument, init] : llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs()))
      copy(init, argument);
    int64_t step = get(loop.getStep())[0];
    for (int64_t i = get(loop.getLowerBound())[0], end = get(loop.getUpperBound())[0]; i < end;
         i += step) {
      set(loop.getInductionVar(), {i});
      run(*loop.getBody());
      // Read all before any is set: a yield may name another variable.
      std::vector<std::pair<Elements, bool>> next;
      for (Value yielded : loop.getBody()->getTerminator()->getOperands())
        next.push_back({get(yielded), poisoned.contains(yielded)});
      for (auto [argument, value] : llvm::zip(loop.getRegionIterArgs(), next))
        value.second ? poison(argument) : set(argument, value.first);
    }
    for (auto [argument, result] : llvm::zip(loop.getRegionIterArgs(), loop.getResults()))
      copy(argument, result);
  }

  void runIf(scf::IfOp branch) {
    bool isTrue = get(branch.getCondition())[0];
    if (!isTrue && branch.getElseRegion().empty())
      return;
    Block &taken = isTrue ? *branch.thenBlock() : *branch.elseBlock();
    run(taken);
    for (auto [yielded, result] :
         llvm::zip(taken.getTerminator()->getOperands(), branch.getResults()))
      copy(yielded, result);
  }

  void runStore(ir::StoreOp store) {
    for (Value operand : store->getOperands())
      hasPoison |= poisoned.contains(operand);
    for (size_t index = 0; index < get(store.getPointer()).size(); ++index)
      if (!store.getMask() || get(store.getMask())[index])
        memory[get(store.getPointer())[index]] = get(store.getValue())[index];
  }

  /// Ops on tiles in shared memory: the value of a buffer is what it contains.
  bool runShared(Operation *op) {
    if (auto alloc = llvm::dyn_cast<ir::AllocSharedOp>(op)) {
      if (alloc.getInit())
        fill(alloc.getResult(), alloc.getInit());
      return true;
    }
    if (auto store = llvm::dyn_cast<ir::SharedStoreOp>(op)) {
      fill(store.getBuffer(), store.getValue());
      return true;
    }
    if (auto load = llvm::dyn_cast<ir::SharedLoadOp>(op)) {
      copy(load.getBuffer(), load.getResult());
      return true;
    }
    if (auto permute = llvm::dyn_cast<ir::BufferPermuteOp>(op)) {
      ADD_FAILURE() << "evaluator lacks views of buffers";
      return true;
    }
    auto asyncCopy = llvm::dyn_cast<ir::AsyncCopyOp>(op);
    if (!asyncCopy)
      return false;
    Value buffer = asyncCopy.getBuffer();
    poisoned.erase(buffer);
    for (Value operand : op->getOperands())
      if (operand != buffer && poisoned.contains(operand))
        poisoned.insert(buffer);
    const Elements &pointers = get(asyncCopy.getPointer());
    Elements content(pointers.size());
    unsigned width = asyncCopy.getBuffer().getType().getElementType().getIntOrFloatBitWidth();
    for (size_t index = 0; index < content.size(); ++index) {
      if (!asyncCopy.getMask() || get(asyncCopy.getMask())[index])
        content[index] = loaded(pointers[index], width);
      else
        content[index] = asyncCopy.getOther() ? get(asyncCopy.getOther())[index] : 0;
    }
    values[buffer] = std::move(content);
    return true;
  }

  void fill(Value buffer, Value tile) {
    bool isPoison = poisoned.contains(tile);
    values[buffer] = Elements(values[tile]);
    isPoison ? (void)poisoned.insert(buffer) : (void)poisoned.erase(buffer);
  }

  /// Memory that nothing was stored to holds noise.
  int64_t loaded(int64_t address, unsigned width) {
    if (auto found = memory.find(address); found != memory.end())
      return found->second;
    return llvm::SignExtend64(uint64_t(address) * 0x9e3779b97f4a7c15u >> 17, width);
  }

  /// A reduction or scan of one operand, along its axis.
  void runCombine(Operation *op) {
    Value source = op->getOperand(0), result = op->getResult(0);
    if (poisoned.contains(source))
      return poison(result);
    auto axis = op->getAttrOfType<IntegerAttr>("axis").getInt();
    bool isScan = llvm::isa<ir::ScanOp>(op), isReverse = op->hasAttr("reverse");
    llvm::SmallVector<int64_t> shape = shapeOf(source.getType());
    int64_t stride = 1;
    for (size_t dim = axis + 1; dim < shape.size(); ++dim)
      stride *= shape[dim];
    const Elements in = get(source);
    Elements out = in;
    if (!isScan)
      out.resize(in.size() / shape[axis]);
    for (size_t outer = 0; outer < in.size() / (stride * shape[axis]); ++outer)
      for (int64_t inner = 0; inner < stride; ++inner) {
        int64_t total = 0;
        for (int64_t step = 0; step < shape[axis]; ++step) {
          int64_t position = isReverse ? shape[axis] - 1 - step : step;
          size_t index = (outer * shape[axis] + position) * stride + inner;
          total = step == 0 ? in[index] : combine(op->getRegion(0).front(), total, in[index]);
          if (isScan)
            out[index] = total;
        }
        if (!isScan)
          out[outer * stride + inner] = total;
      }
    set(result, std::move(out));
  }

  int64_t combine(Block &block, int64_t lhs, int64_t rhs) {
    set(block.getArgument(0), {lhs});
    set(block.getArgument(1), {rhs});
    run(block);
    return get(block.getTerminator()->getOperand(0))[0];
  }

  /// Ops that look at positions; false for elementwise ones.
  bool runShape(Operation *op, Elements &out, llvm::ArrayRef<int64_t> shape) {
    if (auto constant = llvm::dyn_cast<arith::ConstantOp>(op)) {
      if (auto dense = llvm::dyn_cast<DenseElementsAttr>(constant.getValue())) {
        for (auto [index, value] : llvm::enumerate(dense.getValues<APInt>()))
          out[index] = value.getSExtValue();
      } else {
        out[0] = llvm::cast<IntegerAttr>(constant.getValue()).getValue().getSExtValue();
      }
      return true;
    }
    if (llvm::isa<ir::ProgramIdOp>(op)) {
      out[0] = programId;
      return true;
    }
    if (auto range = llvm::dyn_cast<ir::RangeOp>(op)) {
      for (size_t index = 0; index < out.size(); ++index)
        out[index] = int32_t(range.getStart()) + int64_t(index);
      return true;
    }
    if (llvm::isa<ir::SplatOp>(op)) {
      std::fill(out.begin(), out.end(), get(op->getOperand(0))[0]);
      return true;
    }
    if (auto load = llvm::dyn_cast<ir::LoadOp>(op)) {
      for (size_t index = 0; index < out.size(); ++index) {
        if (!load.getMask() || get(load.getMask())[index])
          out[index] = loaded(get(load.getPointer())[index], widthOf(load.getType()));
        else
          out[index] = load.getOther() ? get(load.getOther())[index] : 0;
      }
      return true;
    }
    if (llvm::isa<ir::ExpandDimsOp, ir::ReshapeOp, ir::ConvertLayoutOp>(op)) {
      out = get(op->getOperand(0));
      return true;
    }
    if (llvm::isa<ir::BroadcastOp, ir::PermuteOp, ir::JoinOp>(op)) {
      for (size_t index = 0; index < out.size(); ++index)
        out[index] = positioned(op, index, shape);
      return true;
    }
    if (llvm::isa<ir::ConcatOp>(op)) {
      out = get(op->getOperand(0));
      out.insert(out.end(), get(op->getOperand(1)).begin(), get(op->getOperand(1)).end());
      return true;
    }
    return false;
  }

  int64_t positioned(Operation *op, int64_t index, llvm::ArrayRef<int64_t> shape) {
    llvm::SmallVector<int64_t> position(shape.size());
    for (int dim = shape.size() - 1; dim >= 0; --dim) {
      position[dim] = index % shape[dim];
      index /= shape[dim];
    }
    Value source = op->getOperand(0);
    llvm::SmallVector<int64_t> from = position;
    if (auto permute = llvm::dyn_cast<ir::PermuteOp>(op))
      for (auto [dim, sourceDim] : llvm::enumerate(permute.getOrder()))
        from[sourceDim] = position[dim];
    if (llvm::isa<ir::JoinOp>(op)) {
      source = op->getOperand(position.back());
      from.pop_back();
    }
    llvm::SmallVector<int64_t> sourceShape = shapeOf(source.getType());
    int64_t flat = 0;
    for (size_t dim = 0; dim < sourceShape.size(); ++dim)
      flat = flat * sourceShape[dim] + (sourceShape[dim] == 1 ? 0 : from[dim]);
    return get(source)[flat];
  }

  /// Throws where the result of an integer operation is left open; see Undefined.
  void demandDefined(Operation *op, int64_t a, int64_t b) {
    unsigned width = widthOf(op->getOperand(0).getType());
    if (llvm::isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op) && bitsOf(b, width) >= width)
      throw Undefined();
    if (llvm::isa<arith::DivSIOp, arith::RemSIOp, arith::DivUIOp, arith::RemUIOp,
                  arith::FloorDivSIOp>(op) &&
        (b == 0 || (b == -1 && a == llvm::minIntN(width))))
      throw Undefined();
    if (!axes || !axes->get(op->getResult(0)).nonNegative)
      return;
    if (llvm::isa<arith::AddIOp, arith::MulIOp, arith::ShLIOp>(op)) {
      __int128 exact = llvm::isa<arith::AddIOp>(op)   ? __int128(a) + b
                       : llvm::isa<arith::MulIOp>(op) ? __int128(a) * b
                                                      : __int128(a) << std::min<int64_t>(b, 63);
      if (exact >> (width - 1) != 0)
        throw Undefined();
    }
    // AxisInfo.h: divisors that are no constants count as positive.
    if (llvm::isa<arith::DivSIOp, arith::FloorDivSIOp>(op) && b < 0)
      throw Undefined();
  }

  static uint64_t bitsOf(int64_t value, unsigned width) {
    return uint64_t(value) & (width == 64 ? ~uint64_t(0) : (uint64_t(1) << width) - 1);
  }

  static int64_t movedPointer(ir::AddPtrOp add, int64_t pointer, int64_t offset) {
    unsigned offsetWidth = widthOf(add.getOffset().getType());
    uint64_t distance = add.getIsUnsigned() ? bitsOf(offset, offsetWidth) : uint64_t(offset);
    return int64_t(uint64_t(pointer) + distance * pointeeBytes(add.getType()));
  }

  int64_t element(Operation *op, size_t index) {
    auto at = [&](unsigned operand) {
      const Elements &elements = get(op->getOperand(operand));
      return elements[elements.size() == 1 ? 0 : index];
    };
    unsigned width = widthOf(op->getOperand(0).getType());
    auto bits = [&](int64_t value) { return bitsOf(value, width); };
    int64_t a = op->getNumOperands() > 0 ? at(0) : 0, b = op->getNumOperands() > 1 ? at(1) : 0;
    demandDefined(op, a, b);
    return llvm::TypeSwitch<Operation *, int64_t>(op)
        .Case([&](arith::AddIOp) { return int64_t(uint64_t(a) + uint64_t(b)); })
        .Case([&](arith::SubIOp) { return int64_t(uint64_t(a) - uint64_t(b)); })
        .Case([&](arith::MulIOp) { return int64_t(uint64_t(a) * uint64_t(b)); })
        .Case([&](arith::DivSIOp) { return a / b; })
        .Case([&](arith::RemSIOp) { return a % b; })
        .Case([&](arith::DivUIOp) { return int64_t(bits(a) / bits(b)); })
        .Case([&](arith::RemUIOp) { return int64_t(bits(a) % bits(b)); })
        .Case([&](arith::FloorDivSIOp) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); })
        .Case([&](arith::AndIOp) { return a & b; })
        .Case([&](arith::OrIOp) { return a | b; })
        .Case([&](arith::XOrIOp) { return a ^ b; })
        .Case([&](arith::ShLIOp) { return int64_t(uint64_t(a) << bits(b)); })
        .Case([&](arith::ShRSIOp) { return a >> bits(b); })
        .Case([&](arith::ShRUIOp) { return int64_t(bits(a) >> bits(b)); })
        .Case([&](arith::MinSIOp) { return std::min(a, b); })
        .Case([&](arith::MaxSIOp) { return std::max(a, b); })
        .Case([&](arith::MinUIOp) { return bits(a) < bits(b) ? a : b; })
        .Case([&](arith::MaxUIOp) { return bits(a) < bits(b) ? b : a; })
        .Case([&](arith::SelectOp) { return at(0) ? at(1) : at(2); })
        .Case<arith::ExtSIOp, arith::TruncIOp, ir::PtrToIntOp>([&](auto) { return a; })
        .Case([&](arith::ExtUIOp) { return int64_t(bits(a)); })
        .Case([&](ir::BitcastOp) { return a; })
        .Case([&](ir::AddPtrOp add) { return movedPointer(add, a, b); })
        .Case([&](arith::CmpIOp compare) -> int64_t {
          return -arith::applyCmpPredicate(compare.getPredicate(), APInt(width, bits(a)),
                                           APInt(width, bits(b)));
        })
        .Default([&](Operation *op) -> int64_t {
          ADD_FAILURE() << "evaluator lacks " << op->getName().getStringRef().str();
          return 0;
        });
  }
};

} // namespace tilewright::testing

#endif // TILEWRIGHT_TESTS_UNIT_TILEEVALUATOR_H
