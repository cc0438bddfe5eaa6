//===- WorkCount.cpp - Bytes and operations of a launch -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/WorkCount.h"

#include "codegen/emit/ArgumentAccess.h"
#include "ir/dialect/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <tuple>

using namespace mlir;
namespace json = llvm::json;

namespace tilewright::codegen {

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

/// Bounds of loops are a few operations; longer expressions are given up. A value that is used
/// twice is written twice: a chain of sums of the two values before grows exponentially. A guess.
constexpr int maxExpressionNodes = 512;

static llvm::StringRef comparisonName(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return "eq";
  case P::ne:
    return "ne";
  case P::slt:
  case P::ult:
    return "lt";
  case P::sle:
  case P::ule:
    return "le";
  case P::sgt:
  case P::ugt:
    return "gt";
  case P::sge:
  case P::uge:
    return "ge";
  }
  return "";
}

/// The name under which the profiler computes an op; empty for what it cannot.
static llvm::StringRef operationName(Operation *op) {
  return llvm::TypeSwitch<Operation *, llvm::StringRef>(op)
      .Case<arith::AddIOp>([](auto) { return "add"; })
      .Case<arith::SubIOp>([](auto) { return "sub"; })
      .Case<arith::MulIOp>([](auto) { return "mul"; })
      .Case<arith::DivSIOp, arith::DivUIOp>([](auto) { return "div"; })
      .Case<arith::RemSIOp, arith::RemUIOp>([](auto) { return "rem"; })
      .Case<arith::MinSIOp, arith::MinUIOp>([](auto) { return "min"; })
      .Case<arith::MaxSIOp, arith::MaxUIOp>([](auto) { return "max"; })
      .Case<arith::AndIOp>([](arith::AndIOp op) { return op.getType().isInteger(1) ? "min" : ""; })
      .Case<arith::OrIOp>([](arith::OrIOp op) { return op.getType().isInteger(1) ? "max" : ""; })
      .Case<arith::CmpIOp>([](arith::CmpIOp op) { return comparisonName(op.getPredicate()); })
      .Case<arith::SelectOp>([](auto) { return "select"; })
      .Default([](Operation *) { return ""; });
}

/// An integer scalar as an expression; null where it is none of parameters and places, or has
/// more than `nodesLeft` nodes.
static json::Value expressionOf(Value value, int &nodesLeft) {
  APInt constant;
  if (!value.getType().isIntOrIndex() || --nodesLeft < 0)
    return nullptr;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return value.getType().isInteger(1) ? int64_t(constant.getZExtValue())
                                        : constant.getSExtValue();
  if (auto argument = llvm::dyn_cast<BlockArgument>(value)) {
    if (!llvm::isa<func::FuncOp>(argument.getOwner()->getParentOp()))
      return nullptr;
    return json::Array{"parameter", parameterName(argument)};
  }
  Operation *op = value.getDefiningOp();
  if (auto place = llvm::dyn_cast<ir::ProgramIdOp>(op))
    return json::Array{"program", int64_t(place.getAxis())};
  if (auto count = llvm::dyn_cast<ir::NumProgramsOp>(op))
    return json::Array{"programs", int64_t(count.getAxis())};
  // What only changes the width, or tells a fact.
  if (llvm::isa<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::IndexCastOp, ir::HintOp>(
          op))
    return expressionOf(op->getOperand(0), nodesLeft);
  llvm::StringRef name = operationName(op);
  if (name.empty())
    return nullptr;
  json::Array result{name};
  for (Value operand : op->getOperands()) {
    json::Value inner = expressionOf(operand, nodesLeft);
    if (inner.kind() == json::Value::Null)
      return nullptr;
    result.push_back(std::move(inner));
  }
  return result;
}

static json::Value expressionOf(Value value) {
  int nodesLeft = maxExpressionNodes;
  return expressionOf(value, nodesLeft);
}

//===----------------------------------------------------------------------===//
// Counting
//===----------------------------------------------------------------------===//

namespace {

/// Elements of a tile; a scalar has one.
int64_t elementsOf(Type type) {
  auto tile = llvm::dyn_cast<RankedTensorType>(type);
  return tile ? tile.getNumElements() : 1;
}

int64_t bytesOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  return elementsOf(type) * ((ir::elementBits(element) + 7) / 8);
}

std::string typeName(Type type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << getElementTypeOrSelf(type);
  return text;
}

class WorkCounter {
public:
  void countFunction(func::FuncOp function) { countRegion(function.getBody(), 1); }

  std::string asText() const {
    json::Array rows;
    for (const auto &[key, amount] : amounts) {
      const auto &[what, parameter, type, times] = key;
      json::Object row{{"what", what}, {"amount", amount}};
      if (!parameter.empty())
        row["parameter"] = parameter;
      if (!type.empty())
        row["type"] = type;
      row["times"] = llvm::cantFail(json::parse(times));
      rows.push_back(std::move(row));
    }
    std::string text;
    llvm::raw_string_ostream(text) << json::Value(std::move(rows));
    return text;
  }

private:
  /// `repeats`: how often the region's scalars run at once, as the elements of a tile do.
  void countRegion(Region &region, int64_t repeats) {
    for (Block &block : region)
      for (Operation &op : block)
        count(&op, repeats);
  }

  void count(Operation *op, int64_t repeats) {
    if (auto loop = llvm::dyn_cast<scf::ForOp>(op)) {
      auto bound = [](Value value) { return expressionOf(value); };
      json::Array trips{"trips", bound(loop.getLowerBound()), bound(loop.getUpperBound()),
                        bound(loop.getStep())};
      bool isKnown = llvm::none_of(
          trips, [](const json::Value &part) { return part.kind() == json::Value::Null; });
      countTimes(loop.getRegion(), isKnown ? json::Value(std::move(trips)) : json::Value(nullptr),
                 repeats);
    } else if (auto branch = llvm::dyn_cast<scf::IfOp>(op)) {
      json::Value condition = expressionOf(branch.getCondition());
      bool isKnown = condition.kind() != json::Value::Null;
      json::Value otherwise = isKnown ? json::Value(json::Array{"eq", condition, 0}) : nullptr;
      countTimes(branch.getThenRegion(), std::move(condition), repeats);
      countTimes(branch.getElseRegion(), std::move(otherwise), repeats);
    } else if (llvm::isa<ir::ReduceOp, ir::ScanOp, ir::MapOp>(op)) {
      int64_t elements = op->getNumOperands() ? elementsOf(op->getOperand(0).getType()) : 1;
      for (Region &region : op->getRegions())
        countRegion(region, repeats * elements);
    } else if (op->getNumRegions() != 0) {
      for (Region &region : op->getRegions()) // a while loop, say
        countTimes(region, nullptr, repeats);
    } else {
      countMemory(op, repeats);
      countArithmetic(op, repeats);
    }
  }

  void countTimes(Region &region, json::Value factor, int64_t repeats) {
    factors.push_back(std::move(factor));
    countRegion(region, repeats);
    factors.pop_back();
  }

  void countMemory(Operation *op, int64_t repeats) {
    auto read = [&](Value address, Type type) {
      add("read", baseParameter(address), "", bytesOf(type) * repeats);
    };
    auto write = [&](Value address, Type type) {
      add("write", baseParameter(address), "", bytesOf(type) * repeats);
    };
    llvm::TypeSwitch<Operation *>(op)
        .Case<ir::LoadOp>([&](ir::LoadOp load) { read(load.getPointer(), load.getType()); })
        .Case<ir::DescriptorLoadOp>(
            [&](ir::DescriptorLoadOp load) { read(load.getDescriptor(), load.getType()); })
        .Case<ir::StoreOp>(
            [&](ir::StoreOp store) { write(store.getPointer(), store.getValue().getType()); })
        .Case<ir::DescriptorStoreOp>([&](ir::DescriptorStoreOp store) {
          write(store.getDescriptor(), store.getValue().getType());
          if (store.getReduction())
            read(store.getDescriptor(), store.getValue().getType());
        })
        .Case<ir::AtomicRmwOp, ir::AtomicCasOp>([&](auto atomic) {
          read(atomic.getPointer(), atomic.getType());
          write(atomic.getPointer(), atomic.getType());
        })
        .Case<func::CallOp>([&](func::CallOp) {
          // The work of the called function is not counted.
          for (const char *what : {"read", "write", "elements"}) {
            factors.push_back(nullptr);
            add(what, "", what == llvm::StringRef("elements") ? "f32" : "", 1);
            factors.pop_back();
          }
        });
  }

  void countArithmetic(Operation *op, int64_t repeats) {
    if (auto dot = llvm::dyn_cast<ir::DotOp>(op)) {
      auto a = llvm::cast<RankedTensorType>(dot.getA().getType());
      bool isTf32 = a.getElementType().isF32() && dot.getPrecision() != ir::DotPrecision::ieee;
      int64_t depth = a.getShape().back();
      add("products", "", isTf32 ? "tf32" : typeName(a),
          2 * elementsOf(dot.getType()) * depth * repeats);
      return;
    }
    if (op->getNumResults() != 1 ||
        !llvm::isa<FloatType>(getElementTypeOrSelf(op->getResult(0).getType())))
      return;
    // The sum of a product and an accumulator is the product's own.
    if (llvm::isa<arith::AddFOp>(op) && llvm::any_of(op->getOperands(), [](Value operand) {
          return operand.getDefiningOp<ir::DotOp>() != nullptr;
        }))
      return;
    bool isArithmetic =
        llvm::isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::RemFOp,
                  arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp,
                  ir::PreciseSqrtOp, ir::PreciseDivOp, ir::ExternCallOp>(op) ||
        llvm::isa<math::MathDialect>(op->getDialect());
    if (isArithmetic)
      add("elements", "", typeName(op->getResult(0).getType()),
          elementsOf(op->getResult(0).getType()) * (llvm::isa<math::FmaOp>(op) ? 2 : 1) * repeats);
  }

  void add(llvm::StringRef what, const std::string &parameter, const std::string &type,
           int64_t amount) {
    json::Array times;
    for (const json::Value &factor : factors)
      times.push_back(factor);
    std::string text;
    llvm::raw_string_ostream(text) << json::Value(std::move(times));
    amounts[{what.str(), parameter, type, text}] += amount;
  }

  std::vector<json::Value> factors; // of the loops and branches around
  /// By kind, parameter, type and factors.
  std::map<std::tuple<std::string, std::string, std::string, std::string>, int64_t> amounts;
};

} // namespace

std::string countWork(ModuleOp module) {
  WorkCounter counter;
  llvm::StringSet<> called; // functions of the kernel, whose calls are counted as unknown
  module.walk([&](func::CallOp call) { called.insert(call.getCallee()); });
  for (auto function : module.getOps<func::FuncOp>())
    if (!called.contains(function.getName()))
      counter.countFunction(function);
  return counter.asText();
}

} // namespace tilewright::codegen
