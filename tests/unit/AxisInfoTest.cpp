//===- AxisInfoTest.cpp - Every claim of the axis analysis ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: random kernels of integer, boolean and pointer tiles are analysed,
// evaluated element by element for several arguments, and every claim of
// AxisInfo.h is checked on every value. Directed cases check that the analysis
// claims enough to be of use.
//
// How: a small evaluator of its own, on vectors of int64; it shares no code with
// the analysis. Loops are evaluated by running them: a value has one entry per
// time it was computed, and a claim must hold of all.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/AxisInfo.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <gtest/gtest.h>

#include <random>

using namespace mlir;
using namespace tilewright;
using tilewright::passes::AxisAnalysis;
using tilewright::passes::AxisInfo;

namespace {

//===----------------------------------------------------------------------===//
// Evaluator
//===----------------------------------------------------------------------===//

/// The elements of a tile in row-major order, or the one of a scalar. Integers
/// are sign-extended, pointers are addresses.
using Elements = std::vector<int64_t>;

llvm::SmallVector<int64_t> shapeOf(Type type) {
  auto tile = llvm::dyn_cast<RankedTensorType>(type);
  return tile ? llvm::SmallVector<int64_t>(tile.getShape()) : llvm::SmallVector<int64_t>{1};
}

unsigned widthOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  return llvm::isa<ir::PointerType>(element) ? 64 : element.getIntOrFloatBitWidth();
}

int64_t pointeeBytes(Type type) {
  return ir::elementBits(llvm::cast<ir::PointerType>(getElementTypeOrSelf(type)).getPointee()) / 8;
}

/// An operation whose result the language leaves open (division by zero), or that
/// breaks the assumption of AxisInfo.h: a sum, product or shift of non-negative
/// values that does not fit. Nothing is claimed of what depends on it.
struct Undefined {};

class Evaluator {
public:
  /// Asked only where it assumes that nothing overflows.
  explicit Evaluator(const AxisAnalysis &axes) : axes(axes) {}

  llvm::DenseMap<Value, Elements> values;
  /// All that each value ever was.
  llvm::DenseMap<Value, std::vector<Elements>> history;
  int64_t programId = 0;
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
  const AxisAnalysis &axes;
  llvm::DenseSet<Value> poisoned;

  const Elements &get(Value value) { return values[value]; }

  void poison(Value value) {
    int64_t size = 1;
    for (int64_t extent : shapeOf(value.getType()))
      size *= extent;
    values[value].assign(size, 0);
    poisoned.insert(value);
  }

  void run(Operation *op) {
    if (auto loop = llvm::dyn_cast<scf::ForOp>(op))
      return runFor(loop);
    if (auto branch = llvm::dyn_cast<scf::IfOp>(op))
      return runIf(branch);
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
    for (int64_t i = get(loop.getLowerBound())[0], end = get(loop.getUpperBound())[0]; i < end; i += step) {
      set(loop.getInductionVar(), {i});
      run(*loop.getBody());
      // One variable: no yield reads another's new value.
      copy(loop.getBody()->getTerminator()->getOperand(0), loop.getRegionIterArg(0));
    }
    copy(loop.getRegionIterArg(0), loop.getResult(0));
  }

  void runIf(scf::IfOp branch) {
    Block &taken = get(branch.getCondition())[0] ? *branch.thenBlock() : *branch.elseBlock();
    run(taken);
    copy(taken.getTerminator()->getOperand(0), branch.getResult(0));
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
    if (llvm::isa<ir::ExpandDimsOp, ir::ReshapeOp>(op)) {
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

  int64_t element(Operation *op, size_t index) {
    auto at = [&](unsigned operand) {
      const Elements &elements = get(op->getOperand(operand));
      return elements[elements.size() == 1 ? 0 : index];
    };
    unsigned width = widthOf(op->getOperand(0).getType());
    uint64_t mask = width == 64 ? ~uint64_t(0) : (uint64_t(1) << width) - 1;
    auto bits = [&](int64_t value) { return uint64_t(value) & mask; };
    int64_t a = op->getNumOperands() > 0 ? at(0) : 0, b = op->getNumOperands() > 1 ? at(1) : 0;
    auto shiftFits = [&] {
      if (bits(b) >= width)
        throw Undefined();
      return bits(b);
    };
    auto divides = [&] {
      if (b == 0 || (b == -1 && a == llvm::minIntN(width)))
        throw Undefined();
    };
    if (axes.get(op->getResult(0)).nonNegative && llvm::isa<arith::AddIOp, arith::MulIOp, arith::ShLIOp>(op)) {
      __int128 exact = llvm::isa<arith::AddIOp>(op)   ? __int128(a) + b
                       : llvm::isa<arith::MulIOp>(op) ? __int128(a) * b
                                                      : __int128(a) << std::min<int64_t>(b, 63);
      if (exact >> (width - 1) != 0)
        throw Undefined();
    }
    return llvm::TypeSwitch<Operation *, int64_t>(op)
        .Case([&](arith::AddIOp) { return int64_t(uint64_t(a) + uint64_t(b)); })
        .Case([&](arith::SubIOp) { return int64_t(uint64_t(a) - uint64_t(b)); })
        .Case([&](arith::MulIOp) { return int64_t(uint64_t(a) * uint64_t(b)); })
        .Case([&](arith::DivSIOp) { return divides(), a / b; })
        .Case([&](arith::RemSIOp) { return divides(), a % b; })
        .Case([&](arith::DivUIOp) { return divides(), int64_t(bits(a) / bits(b)); })
        .Case([&](arith::RemUIOp) { return divides(), int64_t(bits(a) % bits(b)); })
        .Case([&](arith::FloorDivSIOp) {
          divides();
          return a / b - (a % b != 0 && (a < 0) != (b < 0));
        })
        .Case([&](arith::AndIOp) { return a & b; })
        .Case([&](arith::OrIOp) { return a | b; })
        .Case([&](arith::XOrIOp) { return a ^ b; })
        .Case([&](arith::ShLIOp) { return int64_t(uint64_t(a) << shiftFits()); })
        .Case([&](arith::ShRSIOp) { return a >> shiftFits(); })
        .Case([&](arith::ShRUIOp) { return int64_t(bits(a) >> shiftFits()); })
        .Case([&](arith::MinSIOp) { return std::min(a, b); })
        .Case([&](arith::MaxSIOp) { return std::max(a, b); })
        .Case([&](arith::MinUIOp) { return bits(a) < bits(b) ? a : b; })
        .Case([&](arith::MaxUIOp) { return bits(a) < bits(b) ? b : a; })
        .Case([&](arith::SelectOp) { return at(0) ? at(1) : at(2); })
        .Case<arith::ExtSIOp, arith::TruncIOp, ir::PtrToIntOp>([&](auto) { return a; })
        .Case([&](arith::ExtUIOp) { return int64_t(bits(a)); })
        .Case([&](ir::BitcastOp) { return a; })
        .Case([&](ir::AddPtrOp add) {
          unsigned offsetWidth = widthOf(add.getOffset().getType());
          uint64_t offset = b;
          if (add.getIsUnsigned() && offsetWidth < 64)
            offset &= (uint64_t(1) << offsetWidth) - 1;
          return int64_t(uint64_t(a) + offset * pointeeBytes(add.getType()));
        })
        .Case([&](arith::CmpIOp compare) -> int64_t { return -arith::applyCmpPredicate(
              compare.getPredicate(), APInt(width, bits(a)), APInt(width, bits(b))); })
        .Default([&](Operation *op) -> int64_t {
          ADD_FAILURE() << "evaluator lacks " << op->getName().getStringRef().str();
          return 0;
        });
  }
};

//===----------------------------------------------------------------------===//
// Checker
//===----------------------------------------------------------------------===//

/// The first claim of `info` that `elements` break; empty where none.
std::string brokenClaim(const AxisInfo &info, Type type, const Elements &elements) {
  llvm::SmallVector<int64_t> shape = shapeOf(type);
  bool isPointer = llvm::isa<ir::PointerType>(getElementTypeOrSelf(type));
  int64_t unit = isPointer ? pointeeBytes(type) : 1;
  unsigned width = widthOf(type);
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    int64_t stride = 1;
    for (size_t inner = dim + 1; inner < shape.size(); ++inner)
      stride *= shape[inner];
    for (size_t index = 0; index < elements.size(); ++index) {
      int64_t position = int64_t(index) / stride % shape[dim];
      int64_t inRun = position % info.contiguity[dim], inGroup = position % info.constancy[dim];
      int64_t first = elements[index - inRun * stride];
      std::string where = " along " + std::to_string(dim) + " at " + std::to_string(index);
      if (llvm::SignExtend64(uint64_t(first) + uint64_t(inRun * unit), width) != elements[index])
        return "contiguity" + where;
      if (uint64_t(first) % uint64_t(info.divisibility[dim]))
        return "divisibility" + where;
      if (elements[index - inGroup * stride] != elements[index])
        return "constancy" + where;
    }
  }
  for (int64_t element : elements) {
    if (info.constant && *info.constant != element)
      return "constant";
    if (info.nonNegative && element < 0)
      return "sign";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Generator
//===----------------------------------------------------------------------===//

class Generator {
public:
  Generator(MLIRContext *context, unsigned seed) : random(seed), builder(context) {}

  OwningOpRef<ModuleOp> make() {
    OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToEnd(module->getBody());
    Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
    Type pointer = ir::PointerType::get(builder.getF16Type());
    auto function = builder.create<func::FuncOp>(
        loc, "f", builder.getFunctionType({i32, i32, i64, pointer, pointer}, {}));
    for (unsigned index = 0; index < function.getNumArguments(); ++index)
      if (pick(2))
        function.setArgAttr(index, ir::divisibilityAttr, builder.getI64IntegerAttr(int64_t(1) << pick(6)));
    builder.setInsertionPointToStart(function.addEntryBlock());
    for (Value argument : function.getArguments())
      pool.push_back(argument);
    pool.push_back(builder.create<ir::ProgramIdOp>(loc, i32, 0));
    for (int start = 0; start < 2; ++start)
      pool.push_back(makeRange());
    int count = 8 + pick(60);
    for (int step = 0; step < count; ++step)
      addRandom(/*mayNest=*/true);
    builder.create<func::ReturnOp>(loc);
    return module;
  }

  int pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random); }

private:
  std::mt19937 random;
  OpBuilder builder;
  std::vector<Value> pool;
  Location loc = builder.getUnknownLoc();

  static bool isInteger(Value value) { return getElementTypeOrSelf(value).isSignlessInteger(); }
  static bool isPointer(Value value) { return llvm::isa<ir::PointerType>(getElementTypeOrSelf(value)); }
  static RankedTensorType tileOf(Value value) { return llvm::dyn_cast<RankedTensorType>(value.getType()); }

  Value choose(llvm::function_ref<bool(Value)> accepts) {
    std::vector<Value> fitting;
    for (Value value : pool)
      if (accepts(value))
        fitting.push_back(value);
    return fitting.empty() ? Value() : fitting[pick(fitting.size())];
  }
  Value partner(Value value) {
    return choose([&](Value other) { return other.getType() == value.getType(); });
  }
  Type like(Value value, Type element) {
    RankedTensorType tile = tileOf(value);
    return tile ? Type(tile.clone(element)) : element;
  }

  int64_t interesting() {
    switch (pick(5)) {
    case 0: return 0;
    case 1: return 1;
    case 2: return int64_t(1) << pick(12);
    case 3: return -(int64_t(1) << pick(6));
    default: return pick(200) - 60;
    }
  }
  Value constantLike(Value value) { return constantLike(value, interesting()); }
  Value constantLike(Value value, int64_t number) {
    Type element = getElementTypeOrSelf(value);
    auto attr = builder.getIntegerAttr(element, element.isInteger(1) ? number & 1 : number);
    if (RankedTensorType tile = tileOf(value))
      return builder.create<arith::ConstantOp>(loc, DenseElementsAttr::get(tile, attr.getValue()));
    return builder.create<arith::ConstantOp>(loc, attr);
  }

  void addRandom(bool mayNest) {
    Value made;
    switch (pick(mayNest ? 15 : 13)) {
    case 0: made = makeRange(); break;
    case 1: made = makeSplat(); break;
    case 2: case 3: case 4: case 5: made = makeBinary(); break;
    case 6: made = makeShape(); break;
    case 7: made = makeCast(); break;
    case 8: made = makeCompare(); break;
    case 9: made = makeSelect(); break;
    case 10: case 11: made = makeAddPtr(); break;
    case 12: made = makeJoin(); break;
    case 13: return makeLoop();
    case 14: return makeBranch();
    }
    if (made)
      pool.push_back(made);
  }

  Value makeRange() {
    int start = pick(3) ? 0 : pick(70), extent = 1 << (1 + pick(4));
    auto type = RankedTensorType::get({extent}, builder.getI32Type());
    return builder.create<ir::RangeOp>(loc, type, start, start + extent);
  }
  Value makeSplat() {
    Value scalar = choose([](Value value) { return !tileOf(value); });
    llvm::SmallVector<int64_t> shape;
    if (Value tile = choose([](Value value) { return bool(tileOf(value)); }))
      shape.assign(tileOf(tile).getShape().begin(), tileOf(tile).getShape().end());
    else
      shape = {8};
    return builder.create<ir::SplatOp>(loc, RankedTensorType::get(shape, scalar.getType()), scalar);
  }
  Value makeBinary() {
    Value lhs = choose([](Value value) { return isInteger(value); });
    if (!lhs)
      return {};
    int kind = pick(18);
    // Powers of two as divisors and shifts as amounts: else little is claimed.
    bool divides = (kind >= 6 && kind <= 9) || (kind >= 13 && kind <= 16);
    Value rhs = pick(divides ? 5 : 3) ? partner(lhs) : constantLike(lhs);
    if (divides && pick(2))
      rhs = constantLike(lhs, kind < 10 || kind == 16 ? int64_t(1) << pick(5) : pick(5));
    else if (pick(4) == 0)
      std::swap(lhs, rhs);
    switch (kind) {
    case 0: case 1: case 2: return builder.create<arith::AddIOp>(loc, lhs, rhs);
    case 3: return builder.create<arith::SubIOp>(loc, lhs, rhs);
    case 4: case 5: return builder.create<arith::MulIOp>(loc, lhs, rhs);
    case 6: return builder.create<arith::DivSIOp>(loc, lhs, rhs);
    case 7: return builder.create<arith::DivUIOp>(loc, lhs, rhs);
    case 8: return builder.create<arith::RemSIOp>(loc, lhs, rhs);
    case 9: return builder.create<arith::RemUIOp>(loc, lhs, rhs);
    case 10: return builder.create<arith::AndIOp>(loc, lhs, rhs);
    case 11: return builder.create<arith::OrIOp>(loc, lhs, rhs);
    case 12: return builder.create<arith::XOrIOp>(loc, lhs, rhs);
    case 13: return builder.create<arith::ShLIOp>(loc, lhs, rhs);
    case 14: return builder.create<arith::ShRSIOp>(loc, lhs, rhs);
    case 15: return builder.create<arith::ShRUIOp>(loc, lhs, rhs);
    case 16: return builder.create<arith::FloorDivSIOp>(loc, lhs, rhs);
    default: return pick(2) ? Value(builder.create<arith::MinSIOp>(loc, lhs, rhs))
                            : Value(builder.create<arith::MaxUIOp>(loc, lhs, rhs));
    }
  }
  Value makeShape() {
    Value tile = choose([](Value value) { return bool(tileOf(value)); });
    if (!tile)
      return {};
    RankedTensorType type = tileOf(tile);
    llvm::SmallVector<int64_t> shape(type.getShape());
    int kind = pick(4);
    if (kind == 0 && shape.size() < 3) {
      int axis = pick(shape.size() + 1);
      shape.insert(shape.begin() + axis, 1);
      return builder.create<ir::ExpandDimsOp>(loc, RankedTensorType::get(shape, type.getElementType()), tile, axis);
    }
    if (kind == 1) {
      for (int64_t &extent : shape)
        if (extent == 1)
          extent = 1 << pick(4);
      return builder.create<ir::BroadcastOp>(loc, RankedTensorType::get(shape, type.getElementType()), tile);
    }
    if (kind == 2) {
      int64_t total = type.getNumElements(), first = int64_t(1) << pick(llvm::Log2_64(total) + 1);
      llvm::SmallVector<int64_t> newShape = {first, total / first};
      if (pick(3) == 0)
        newShape = {total};
      return builder.create<ir::ReshapeOp>(loc, RankedTensorType::get(newShape, type.getElementType()), tile, false);
    }
    llvm::SmallVector<int32_t> order;
    llvm::SmallVector<int64_t> permuted;
    for (size_t dim = shape.size(); dim-- > 0;) {
      order.push_back(dim);
      permuted.push_back(shape[dim]);
    }
    return builder.create<ir::PermuteOp>(loc, RankedTensorType::get(permuted, type.getElementType()), tile, order);
  }
  Value makeCast() {
    Value value = choose([](Value value) { return isInteger(value); });
    if (!value)
      return {};
    unsigned width = widthOf(value.getType());
    if (pick(3) == 0 && width > 8 && tileOf(value)) {
      // A run in the middle of a byte's range, widened again at once.
      Value narrow = builder.create<arith::TruncIOp>(loc, like(value, builder.getI8Type()), value);
      pool.push_back(narrow);
      Value moved = builder.create<arith::AddIOp>(loc, narrow, constantLike(narrow, pick(128)));
      return builder.create<arith::ExtSIOp>(loc, like(value, builder.getI32Type()), moved);
    }
    if (pick(3) == 0 && width > 8)
      return builder.create<arith::TruncIOp>(loc, like(value, builder.getIntegerType(width == 64 ? 32 : 8)), value);
    if (width >= 64)
      return {};
    Type wider = like(value, builder.getIntegerType(width < 32 ? 32 : 64));
    if (pick(2))
      return builder.create<arith::ExtSIOp>(loc, wider, value);
    return builder.create<arith::ExtUIOp>(loc, wider, value);
  }
  Value makeCompare() {
    Value lhs = choose([](Value value) { return isInteger(value) && widthOf(value.getType()) > 1; });
    if (pick(2))
      pool.push_back(lhs = makeRange());
    // Mostly a bound that the values reach.
    Value rhs = pick(3) == 0 ? partner(lhs) : constantLike(lhs, pick(12) << pick(5));
    if (pick(2))
      std::swap(lhs, rhs);
    return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate(pick(10)), lhs, rhs);
  }
  Value makeSelect() {
    Value condition = choose([](Value value) { return getElementTypeOrSelf(value).isInteger(1); });
    if (!condition)
      return {};
    Value lhs = choose([&](Value value) {
      return !tileOf(condition) || (tileOf(value) && tileOf(value).getShape() == tileOf(condition).getShape());
    });
    return builder.create<arith::SelectOp>(loc, condition, lhs, partner(lhs));
  }
  Value makeAddPtr() {
    Value pointer = choose([](Value value) { return isPointer(value); });
    Value offset = choose([&](Value value) {
      if (!isInteger(value) || widthOf(value.getType()) < 32 || bool(tileOf(value)) != bool(tileOf(pointer)))
        return false;
      return !tileOf(value) || tileOf(value).getShape() == tileOf(pointer).getShape();
    });
    if (!offset)
      return {};
    bool isUnsigned = pick(4) == 0;
    return builder.create<ir::AddPtrOp>(loc, pointer.getType(), pointer, offset,
                                        isUnsigned ? builder.getUnitAttr() : UnitAttr());
  }
  Value makeJoin() {
    Value lhs = choose([](Value value) { return tileOf(value) && tileOf(value).getRank() < 3; });
    if (!lhs)
      return {};
    Value rhs = partner(lhs);
    llvm::SmallVector<int64_t> shape(tileOf(lhs).getShape());
    if (pick(2)) {
      shape.push_back(2);
      return builder.create<ir::JoinOp>(loc, RankedTensorType::get(shape, getElementTypeOrSelf(lhs)), lhs, rhs);
    }
    shape[0] *= 2;
    return builder.create<ir::ConcatOp>(loc, RankedTensorType::get(shape, getElementTypeOrSelf(lhs)), lhs, rhs);
  }
  void makeLoop() {
    Value init = pool[pick(pool.size())];
    auto constant = [&](int value) {
      return builder.create<arith::ConstantOp>(loc, builder.getI32IntegerAttr(value)).getResult();
    };
    int lower = pick(4) * 8, step = 1 << pick(5);
    auto loop = builder.create<scf::ForOp>(loc, constant(lower), constant(lower + step * pick(4)), constant(step),
                                           ValueRange{init});
    size_t outside = pool.size();
    pool.push_back(loop.getInductionVar());
    pool.push_back(loop.getRegionIterArg(0));
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      for (int step = 0, count = 2 + pick(6); step < count; ++step)
        addRandom(/*mayNest=*/false);
      builder.create<scf::YieldOp>(loc, partner(init));
    }
    pool.resize(outside);
    pool.push_back(loop.getResult(0));
  }
  void makeBranch() {
    Value condition = choose([](Value value) { return value.getType().isInteger(1); });
    if (!condition)
      return;
    Value model = pool[pick(pool.size())];
    auto branch = builder.create<scf::IfOp>(loc, TypeRange{model.getType()}, condition, /*withElse=*/true);
    size_t outside = pool.size();
    for (Block *block : {branch.thenBlock(), branch.elseBlock()}) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(block);
      for (int step = 0, count = 1 + pick(4); step < count; ++step)
        addRandom(/*mayNest=*/false);
      builder.create<scf::YieldOp>(loc, partner(model));
      pool.resize(outside);
    }
    pool.push_back(branch.getResult(0));
  }
};

//===----------------------------------------------------------------------===//
// Fuzzer
//===----------------------------------------------------------------------===//

class AxisInfoTest : public ::testing::Test {
protected:
  AxisInfoTest() {
    context.loadDialect<ir::TWDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect, func::FuncDialect>();
  }
  MLIRContext context;

  /// The facts of the operand of the first tw.print or of the pointer of the
  /// first tw.store.
  AxisInfo factsOf(const std::string &body, const char *opName) {
    module = parseSourceString<ModuleOp>(body, &context);
    EXPECT_TRUE(module);
    func::FuncOp function = *module->getOps<func::FuncOp>().begin();
    AxisAnalysis axes(function);
    AxisInfo info;
    function.walk([&](Operation *op) {
      if (op->getName().getStringRef() == opName)
        info = axes.get(op->getOperand(0));
    });
    return info;
  }
  OwningOpRef<ModuleOp> module;
};

/// A value of the type of an argument that its tw.divisibility admits.
int64_t randomArgument(func::FuncOp function, unsigned index, std::mt19937 &random) {
  int64_t divisor = 1;
  if (auto attr = function.getArgAttrOfType<IntegerAttr>(index, ir::divisibilityAttr))
    divisor = attr.getInt();
  bool isPointer = llvm::isa<ir::PointerType>(function.getArgument(index).getType());
  int64_t value = std::uniform_int_distribution<int64_t>(isPointer ? 0 : -40, 40)(random);
  int64_t origin = isPointer ? 1 << 20 : 0;
  // Near the end of the range, where runs wrap around.
  if (!isPointer && std::uniform_int_distribution<int>(0, 3)(random) == 0)
    origin = int64_t(1) << 31;
  return origin + value * divisor;
}

TEST_F(AxisInfoTest, EveryClaimHoldsOnRandomKernels) {
  int checkedValues = 0, usefulClaims = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    Generator generator(&context, seed);
    OwningOpRef<ModuleOp> module = generator.make();
    ASSERT_TRUE(succeeded(verify(*module))) << seed;
    func::FuncOp function = *module->getOps<func::FuncOp>().begin();
    AxisAnalysis axes(function);
    std::mt19937 random(seed);
    for (int trial = 0; trial < 4; ++trial) {
      Evaluator evaluator(axes);
      evaluator.programId = trial * 3;
      for (BlockArgument argument : function.getArguments())
        evaluator.set(argument, {randomArgument(function, argument.getArgNumber(), random)});
      evaluator.run(function.getBody().front());
      for (const auto &[value, runs] : evaluator.history) {
        AxisInfo info = axes.get(value);
        for (int dim = 0; dim < info.rank(); ++dim)
          usefulClaims += info.contiguity[dim] > 1 || info.constancy[dim] > 1 || info.divisibility[dim] > 1;
        ++checkedValues;
        for (const Elements &elements : runs) {
          std::string broken = brokenClaim(info, value.getType(), elements);
          if (!broken.empty()) {
            module->dump();
            value.dump();
            FAIL() << "seed " << seed << ": " << broken << "; claimed " << info.toString();
          }
        }
      }
    }
  }
  // The fuzzer must have looked at something.
  EXPECT_GT(checkedValues, 100000);
  EXPECT_GT(usefulClaims, 50000);
}

//===----------------------------------------------------------------------===//
// Directed cases: the analysis must claim enough
//===----------------------------------------------------------------------===//

using Numbers = llvm::SmallVector<int64_t, 2>;

TEST_F(AxisInfoTest, BlockOfVectorAdd) {
  AxisInfo info = factsOf(R"(
    func.func @f(%x: !tw.ptr<f16> {tw.divisibility = 16 : i64}) {
      %size = arith.constant 1024 : i32
      %pid = tw.program_id 0 : i32
      %start = arith.muli %pid, %size : i32
      %tile = tw.splat %start : i32 -> tensor<1024xi32>
      %range = tw.range 0 to 1024 : tensor<1024xi32>
      %offsets = arith.addi %tile, %range : tensor<1024xi32>
      %base = tw.splat %x : !tw.ptr<f16> -> tensor<1024x!tw.ptr<f16>>
      %p = tw.addptr %base, %offsets : tensor<1024x!tw.ptr<f16>>, tensor<1024xi32>
      %v = arith.constant dense<0.0> : tensor<1024xf16>
      tw.store %p, %v : tensor<1024x!tw.ptr<f16>>, tensor<1024xf16>
      return
    })", "tw.store");
  EXPECT_EQ(info.contiguity, Numbers({1024}));
  EXPECT_EQ(info.divisibility, Numbers({16}));
}

TEST_F(AxisInfoTest, RowsOfAMatrixWithADivisibleStride) {
  AxisInfo info = factsOf(R"(
    func.func @f(%x: !tw.ptr<f32> {tw.divisibility = 16 : i64}, %stride: i32 {tw.divisibility = 16 : i64}) {
      %range = tw.range 0 to 32 : tensor<32xi32>
      %rows = tw.expand_dims %range, 1 : tensor<32xi32> -> tensor<32x1xi32>
      %cols = tw.expand_dims %range, 0 : tensor<32xi32> -> tensor<1x32xi32>
      %strides = tw.splat %stride : i32 -> tensor<32x1xi32>
      %offset = arith.muli %rows, %strides : tensor<32x1xi32>
      %wide = tw.broadcast %offset : tensor<32x1xi32> -> tensor<32x32xi32>
      %tall = tw.broadcast %cols : tensor<1x32xi32> -> tensor<32x32xi32>
      %sum = arith.addi %wide, %tall : tensor<32x32xi32>
      %base = tw.splat %x : !tw.ptr<f32> -> tensor<32x32x!tw.ptr<f32>>
      %p = tw.addptr %base, %sum : tensor<32x32x!tw.ptr<f32>>, tensor<32x32xi32>
      %v = arith.constant dense<0.0> : tensor<32x32xf32>
      tw.store %p, %v : tensor<32x32x!tw.ptr<f32>>, tensor<32x32xf32>
      return
    })", "tw.store");
  EXPECT_EQ(info.contiguity[1], 16);
  EXPECT_GE(info.divisibility[1], 16);
  EXPECT_EQ(info.run[1], 32);
  EXPECT_EQ(info.contiguity[0], 1);
}

TEST_F(AxisInfoTest, PointerOfALoop) {
  AxisInfo info = factsOf(R"(
    func.func @f(%x: !tw.ptr<f32> {tw.divisibility = 16 : i64}, %n: i32) {
      %zero = arith.constant 0 : i32
      %size = arith.constant 128 : i32
      %range = tw.range 0 to 128 : tensor<128xi32>
      %base = tw.splat %x : !tw.ptr<f32> -> tensor<128x!tw.ptr<f32>>
      %first = tw.addptr %base, %range : tensor<128x!tw.ptr<f32>>, tensor<128xi32>
      %step = arith.constant dense<128> : tensor<128xi32>
      %v = arith.constant dense<0.0> : tensor<128xf32>
      %last = scf.for %i = %zero to %n step %size iter_args(%p = %first) -> (tensor<128x!tw.ptr<f32>>) : i32 {
        tw.store %p, %v : tensor<128x!tw.ptr<f32>>, tensor<128xf32>
        %next = tw.addptr %p, %step : tensor<128x!tw.ptr<f32>>, tensor<128xi32>
        scf.yield %next : tensor<128x!tw.ptr<f32>>
      }
      return
    })", "tw.store");
  EXPECT_EQ(info.contiguity, Numbers({128}));
  EXPECT_EQ(info.divisibility, Numbers({16}));
}

TEST_F(AxisInfoTest, MaskOfATailIsConstantUpToTheDivisorOfTheBound) {
  AxisInfo info = factsOf(R"(
    func.func @f(%n: i32 {tw.divisibility = 16 : i64}) {
      %range = tw.range 0 to 64 : tensor<64xi32>
      %bound = tw.splat %n : i32 -> tensor<64xi32>
      %m = arith.cmpi slt, %range, %bound : tensor<64xi32>
      tw.assert %m, "" : tensor<64xi1>
      return
    })", "tw.assert");
  EXPECT_EQ(info.constancy, Numbers({16}));
}

TEST_F(AxisInfoTest, QuotientAndRemainderOfAFlatIndex) {
  const char *text = R"(
    func.func @f() {
      %size = arith.constant 256 : i32
      %pid = tw.program_id 0 : i32
      %start = arith.muli %pid, %size : i32
      %tile = tw.splat %start : i32 -> tensor<256xi32>
      %range = tw.range 0 to 256 : tensor<256xi32>
      %index = arith.addi %tile, %range : tensor<256xi32>
      %width = arith.constant dense<48> : tensor<256xi32>
      %q = arith.divsi %index, %width : tensor<256xi32>
      %r = arith.remsi %index, %width : tensor<256xi32>
      tw.print "q" %q : tensor<256xi32> {isSigned = array<i1: true>}
      tw.extract_scalar %one : tensor<1xi32> -> i32
      return
    })";
  std::string quotient = text;
  quotient.replace(quotient.find("      tw.extract_scalar"), quotient.find("      return") - quotient.find("      tw.extract_scalar"), "");
  EXPECT_EQ(factsOf(quotient, "tw.print").constancy, Numbers({16}));
  std::string remainder = quotient;
  remainder.replace(remainder.find("\"q\" %q"), 6, "\"r\" %r");
  EXPECT_EQ(factsOf(remainder, "tw.print").contiguity, Numbers({16}));
}

TEST_F(AxisInfoTest, HintsRaiseWhatIsKnown) {
  AxisInfo info = factsOf(R"(
    func.func @f(%x: tensor<64xi32>) {
      %h = tw.hint %x divisibility [8] contiguity [8] : tensor<64xi32>
      tw.print "h" %h : tensor<64xi32> {isSigned = array<i1: true>}
      return
    })", "tw.print");
  EXPECT_EQ(info.contiguity, Numbers({8}));
  EXPECT_EQ(info.divisibility, Numbers({8}));
}

} // namespace
