//===- TileGenerator.h - Random kernels -------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: for tests of passes, kernels of random integer, boolean and pointer tiles,
// which TileEvaluator.h evaluates.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_UNIT_TILEGENERATOR_H
#define TILEWRIGHT_TESTS_UNIT_TILEGENERATOR_H

#include "tests/unit/TileEvaluator.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <random>

namespace tilewright::testing {

using namespace mlir;

struct GeneratorOptions {
  /// Loads, stores, reductions and scans; no divisor or shift that may be out of
  /// range, so that a kernel has one result.
  bool withMemory = false;
  int64_t maxElements = 1 << 13;
};

class Generator {
public:
  Generator(MLIRContext *context, unsigned seed, GeneratorOptions options = {})
      : random(seed), builder(context), options(options) {}

  OwningOpRef<ModuleOp> make() {
    OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToEnd(module->getBody());
    Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
    Type pointer = ir::PointerType::get(builder.getF16Type());
    llvm::SmallVector<Type> arguments = {i32, i32, i64, pointer, pointer};
    for (unsigned width : {8, 32, 64})
      arguments.push_back(ir::PointerType::get(builder.getIntegerType(width)));
    auto function = builder.create<func::FuncOp>(loc, "f", builder.getFunctionType(arguments, {}));
    for (unsigned index = 0; index < function.getNumArguments(); ++index)
      if (pick(2))
        function.setArgAttr(index, ir::divisibilityAttr,
                            builder.getI64IntegerAttr(int64_t(1) << pick(6)));
    builder.setInsertionPointToStart(function.addEntryBlock());
    for (Value argument : function.getArguments().take_front(5))
      pool.push_back(argument);
    for (Value argument : function.getArguments().drop_front(5))
      buffers.push_back(argument);
    pool.push_back(builder.create<ir::ProgramIdOp>(loc, i32, 0));
    for (int start = 0; start < 2; ++start)
      pool.push_back(makeRange());
    int count = 8 + pick(60);
    for (int step = 0; step < count; ++step)
      addRandom(/*mayNest=*/true);
    if (options.withMemory)
      for (int store = 0; store < 3; ++store)
        makeStore();
    builder.create<func::ReturnOp>(loc);
    return module;
  }

  int pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random); }

private:
  std::mt19937 random;
  OpBuilder builder;
  GeneratorOptions options;
  /// Pointers to i8, i32 and i64 that are stored through.
  std::vector<Value> buffers;
  int stores = 0;
  std::vector<Value> pool;
  Location loc = builder.getUnknownLoc();

  static bool isInteger(Value value) { return getElementTypeOrSelf(value).isSignlessInteger(); }

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
    case 0:
      return 0;
    case 1:
      return 1;
    case 2:
      return int64_t(1) << pick(12);
    case 3:
      return -(int64_t(1) << pick(6));
    default:
      return pick(200) - 60;
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
    if (options.withMemory && pick(4) == 0)
      switch (pick(4)) {
      case 0:
        return makeStore();
      case 1:
      case 2:
        return (void)pool.push_back(makeLoad());
      default:
        made = makeCombine();
      }
    else
      switch (pick(mayNest ? 15 : 13)) {
      case 0:
        made = makeRange();
        break;
      case 1:
        made = makeSplat();
        break;
      case 2:
      case 3:
      case 4:
      case 5:
        made = makeBinary();
        break;
      case 6:
        made = makeShape();
        break;
      case 7:
        made = makeCast();
        break;
      case 8:
        made = makeCompare();
        break;
      case 9:
        made = makeSelect();
        break;
      case 10:
      case 11:
        made = makeAddPtr();
        break;
      case 12:
        made = makeJoin();
        break;
      case 13:
        return makeLoop();
      default:
        return makeBranch();
      }
    if (made)
      pool.push_back(made);
  }

  bool isLarge(llvm::ArrayRef<int64_t> shape) {
    int64_t total = 1;
    for (int64_t extent : shape)
      total *= extent;
    return total > options.maxElements;
  }

  /// Pointers to distinct elements of a buffer, one per element of a tile: in
  /// row-major order or, as often, in column-major order.
  Value elementPointers(Value buffer, llvm::ArrayRef<int64_t> shape, int64_t first) {
    int64_t total = 1;
    for (int64_t extent : shape)
      total *= extent;
    llvm::SmallVector<int64_t> reversed(llvm::reverse(shape));
    llvm::SmallVector<int32_t> order;
    for (size_t dim = shape.size(); dim-- > 0;)
      order.push_back(dim);
    auto tile = [&](llvm::ArrayRef<int64_t> shape) {
      return RankedTensorType::get(shape, builder.getI32Type());
    };
    Value index = builder.create<ir::RangeOp>(loc, tile({total}), first, first + total);
    if (pick(2))
      index = builder.create<ir::ReshapeOp>(loc, tile(shape), index, false);
    else
      index = builder.create<ir::PermuteOp>(
          loc, tile(shape), builder.create<ir::ReshapeOp>(loc, tile(reversed), index, false),
          order);
    auto type = RankedTensorType::get(shape, buffer.getType());
    return builder.create<ir::AddPtrOp>(loc, type, builder.create<ir::SplatOp>(loc, type, buffer),
                                        index, UnitAttr());
  }

  Value maskLike(Value tile) {
    if (pick(2))
      return {};
    return choose([&](Value value) {
      return tileOf(value) && getElementTypeOrSelf(value).isInteger(1) &&
             tileOf(value).getShape() == tileOf(tile).getShape();
    });
  }

  void makeStore() {
    Value value = choose([&](Value value) {
      return tileOf(value) && isInteger(value) && widthOf(value.getType()) > 1;
    });
    unsigned width = widthOf(value.getType());
    Value buffer = buffers[width == 8 ? 0 : width == 32 ? 1 : 2];
    // Mostly apart from each other, sometimes over what was stored before.
    Value pointers = elementPointers(buffer, tileOf(value).getShape(),
                                     options.maxElements * (stores += pick(4) != 0));
    builder.create<ir::StoreOp>(loc, pointers, value, maskLike(value));
  }

  Value makeLoad() {
    Value like = choose([&](Value value) { return bool(tileOf(value)); });
    Value buffer = buffers[pick(3)];
    Value pointers =
        elementPointers(buffer, tileOf(like).getShape(), options.maxElements * pick(stores + 1));
    Value mask = maskLike(like);
    Type type = tileOf(like).clone(llvm::cast<ir::PointerType>(buffer.getType()).getPointee());
    Value other =
        mask && pick(2) ? choose([&](Value value) { return value.getType() == type; }) : Value();
    Value loaded = builder.create<ir::LoadOp>(loc, type, pointers, mask, other);
    // where(mask, load(...), y), of this mask or another.
    Value otherwise =
        mask && pick(2) ? choose([&](Value value) { return value.getType() == type; }) : Value();
    Value choice = pick(2) ? mask : maskLike(like);
    if (!otherwise || !choice)
      return loaded;
    return builder.create<arith::SelectOp>(loc, choice, loaded, otherwise);
  }

  Value makeCombine() {
    Value source = choose([&](Value value) {
      return tileOf(value) && isInteger(value) && widthOf(value.getType()) > 1;
    });
    RankedTensorType type = tileOf(source);
    int axis = pick(type.getRank());
    bool isScan = pick(3) == 0;
    llvm::SmallVector<int64_t> shape(type.getShape());
    shape.erase(shape.begin() + axis);
    Type result = isScan          ? Type(type)
                  : shape.empty() ? type.getElementType()
                                  : Type(RankedTensorType::get(shape, type.getElementType()));
    Operation *op = isScan
                        ? builder
                              .create<ir::ScanOp>(loc, TypeRange{result}, ValueRange{source},
                                                  builder.getI32IntegerAttr(axis),
                                                  pick(2) ? builder.getUnitAttr() : UnitAttr())
                              .getOperation()
                        : builder.create<ir::ReduceOp>(loc, TypeRange{result}, ValueRange{source},
                                                       builder.getI32IntegerAttr(axis));
    OpBuilder::InsertionGuard guard(builder);
    Type element = type.getElementType();
    Block *block = builder.createBlock(&op->getRegion(0), {}, {element, element}, {loc, loc});
    Value lhs = block->getArgument(0), rhs = block->getArgument(1);
    Value joined = pick(2) ? Value(builder.create<arith::AddIOp>(loc, lhs, rhs))
                           : Value(builder.create<arith::MaxSIOp>(loc, lhs, rhs));
    builder.create<ir::YieldOp>(loc, joined);
    return op->getResult(0);
  }

  Value makeRange() {
    int start = pick(3) ? 0 : pick(70), extent = 1 << (1 + pick(options.withMemory ? 9 : 4));
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
    if (divides && options.withMemory && widthOf(lhs.getType()) == 1)
      return {};
    if (divides && (options.withMemory || pick(2)))
      rhs = constantLike(lhs, kind < 10 || kind == 16 ? int64_t(1) << pick(5) : pick(5));
    else if (pick(4) == 0)
      std::swap(lhs, rhs);
    switch (kind) {
    case 0:
    case 1:
    case 2:
      return builder.create<arith::AddIOp>(loc, lhs, rhs);
    case 3:
      return builder.create<arith::SubIOp>(loc, lhs, rhs);
    case 4:
    case 5:
      return builder.create<arith::MulIOp>(loc, lhs, rhs);
    case 6:
      return builder.create<arith::DivSIOp>(loc, lhs, rhs);
    case 7:
      return builder.create<arith::DivUIOp>(loc, lhs, rhs);
    case 8:
      return builder.create<arith::RemSIOp>(loc, lhs, rhs);
    case 9:
      return builder.create<arith::RemUIOp>(loc, lhs, rhs);
    case 10:
      return builder.create<arith::AndIOp>(loc, lhs, rhs);
    case 11:
      return builder.create<arith::OrIOp>(loc, lhs, rhs);
    case 12:
      return builder.create<arith::XOrIOp>(loc, lhs, rhs);
    case 13:
      return builder.create<arith::ShLIOp>(loc, lhs, rhs);
    case 14:
      return builder.create<arith::ShRSIOp>(loc, lhs, rhs);
    case 15:
      return builder.create<arith::ShRUIOp>(loc, lhs, rhs);
    case 16:
      return builder.create<arith::FloorDivSIOp>(loc, lhs, rhs);
    default:
      return pick(2) ? Value(builder.create<arith::MinSIOp>(loc, lhs, rhs))
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
      return builder.create<ir::ExpandDimsOp>(
          loc, RankedTensorType::get(shape, type.getElementType()), tile, axis);
    }
    if (kind == 1) {
      for (int64_t &extent : shape)
        if (extent == 1)
          extent = 1 << pick(4);
      if (isLarge(shape))
        return {};
      return builder.create<ir::BroadcastOp>(
          loc, RankedTensorType::get(shape, type.getElementType()), tile);
    }
    if (kind == 2) {
      int64_t total = type.getNumElements(), first = int64_t(1) << pick(llvm::Log2_64(total) + 1);
      llvm::SmallVector<int64_t> newShape = {first, total / first};
      if (pick(3) == 0)
        newShape = {total};
      return builder.create<ir::ReshapeOp>(
          loc, RankedTensorType::get(newShape, type.getElementType()), tile, false);
    }
    llvm::SmallVector<int32_t> order;
    llvm::SmallVector<int64_t> permuted;
    for (size_t dim = shape.size(); dim-- > 0;) {
      order.push_back(dim);
      permuted.push_back(shape[dim]);
    }
    return builder.create<ir::PermuteOp>(
        loc, RankedTensorType::get(permuted, type.getElementType()), tile, order);
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
      return builder.create<arith::TruncIOp>(
          loc, like(value, builder.getIntegerType(width == 64 ? 32 : 8)), value);
    if (width >= 64)
      return {};
    Type wider = like(value, builder.getIntegerType(width < 32 ? 32 : 64));
    if (pick(2))
      return builder.create<arith::ExtSIOp>(loc, wider, value);
    return builder.create<arith::ExtUIOp>(loc, wider, value);
  }
  Value makeCompare() {
    Value lhs =
        choose([](Value value) { return isInteger(value) && widthOf(value.getType()) > 1; });
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
      return !tileOf(condition) ||
             (tileOf(value) && tileOf(value).getShape() == tileOf(condition).getShape());
    });
    return builder.create<arith::SelectOp>(loc, condition, lhs, partner(lhs));
  }
  Value makeAddPtr() {
    Value pointer = choose([](Value value) { return isPointer(value); });
    Value offset = choose([&](Value value) {
      if (!isInteger(value) || widthOf(value.getType()) < 32 ||
          bool(tileOf(value)) != bool(tileOf(pointer)))
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
    if (isLarge(shape) || 2 * tileOf(lhs).getNumElements() > options.maxElements)
      return {};
    if (pick(2)) {
      shape.push_back(2);
      return builder.create<ir::JoinOp>(
          loc, RankedTensorType::get(shape, getElementTypeOrSelf(lhs)), lhs, rhs);
    }
    shape[0] *= 2;
    return builder.create<ir::ConcatOp>(
        loc, RankedTensorType::get(shape, getElementTypeOrSelf(lhs)), lhs, rhs);
  }
  void makeLoop() {
    Value init = pool[pick(pool.size())];
    auto constant = [&](int value) {
      return builder.create<arith::ConstantOp>(loc, builder.getI32IntegerAttr(value)).getResult();
    };
    int lower = pick(4) * 8, step = 1 << pick(5);
    auto loop = builder.create<scf::ForOp>(loc, constant(lower), constant(lower + step * pick(4)),
                                           constant(step), ValueRange{init});
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
    auto branch =
        builder.create<scf::IfOp>(loc, TypeRange{model.getType()}, condition, /*withElse=*/true);
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

} // namespace tilewright::testing

#endif // TILEWRIGHT_TESTS_UNIT_TILEGENERATOR_H
