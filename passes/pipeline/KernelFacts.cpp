//===- KernelFacts.cpp - What was decided, by line of the source ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/KernelFacts.h"

#include "ir/dialect/SourcePlace.h"
#include "ir/dialect/TileDialect.h"
#include "passes/Passes.h"
#include "passes/analysis/BufferInfo.h"
#include "passes/analysis/Resources.h"
#include "passes/analysis/ScratchSize.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
namespace json = llvm::json;

namespace tilewright::passes {

static std::string asText(const json::Value &value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

static json::Array columnsOf(const LinearLayout &layout, InDim dim) {
  json::Array columns;
  for (uint32_t column : layout.columns(dim)) {
    json::Array coordinates;
    for (uint32_t coordinate : layout.coordinates(column))
      coordinates.push_back(int64_t(coordinate));
    columns.push_back(std::move(coordinates));
  }
  return columns;
}

static json::Object describeTile(Operation *op, RankedTensorType type) {
  const LinearLayout layout = ir::getLinearLayout(type);
  std::string element;
  llvm::raw_string_ostream(element) << type.getElementType();
  json::Array shape(type.getShape());
  return json::Object{{"op", op->getName().getStringRef()},
                      {"place", ir::renderLocation(op->getLoc())},
                      {"shape", std::move(shape)},
                      {"type", element},
                      {"register", columnsOf(layout, InDim::Register)},
                      {"lane", columnsOf(layout, InDim::Lane)},
                      {"warp", columnsOf(layout, InDim::Warp)},
                      {"block", columnsOf(layout, InDim::Block)}};
}

/// The tile that an op is about: its first result, or what it stores; null where that is none.
static RankedTensorType tileOf(Operation *op) {
  Type type;
  if (op->getNumResults() > 0)
    type = op->getResult(0).getType();
  else if (auto store = llvm::dyn_cast<ir::StoreOp>(op))
    type = store.getValue().getType();
  auto tile = type ? llvm::dyn_cast<RankedTensorType>(type) : RankedTensorType();
  bool isShown = tile && tile.getEncoding() && !llvm::isa<ir::PointerType>(tile.getElementType()) &&
                 !tile.getElementType().isInteger(1);
  return isShown ? tile : RankedTensorType();
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

namespace {

class SharedPieces {
public:
  explicit SharedPieces(ModuleOp module) : buffers(module) {
    module.walk<WalkOrder::PreOrder>([&](Operation *op) {
      positions[op] = count++;
      order.push_back(op);
    });
  }

  json::Array describe() const {
    json::Array pieces;
    for (Operation *op : order) {
      auto offset = op->getAttrOfType<IntegerAttr>(ir::scratchOffsetAttr);
      if (!offset)
        continue;
      int64_t bytes = bufferBytes(op);
      auto alloc = llvm::dyn_cast<ir::AllocSharedOp>(op);
      std::string what = alloc   ? describeBuffer(alloc.getType())
                         : bytes ? std::string("barriers of copies")
                                 : describeScratch(op);
      auto [first, last] = bytes ? usesOf(op) : std::pair(positions.lookup(op), endOf(op));
      pieces.push_back(json::Object{{"what", what},
                                    {"offset", offset.getInt()},
                                    {"bytes", bytes ? bytes : scratchBytes(op)},
                                    {"place", ir::renderLocation(op->getLoc())},
                                    {"first", first},
                                    {"last", last}});
    }
    return pieces;
  }

  int64_t numPositions() const { return count; }

private:
  /// The position of the last op inside `op`.
  int64_t endOf(Operation *op) const {
    int64_t end = positions.lookup(op);
    op->walk([&](Operation *inner) { end = std::max(end, positions.lookup(inner)); });
    return end;
  }

  /// From the allocation to the last use; a use in a loop that it is outside of lasts for the
  /// whole loop.
  std::pair<int64_t, int64_t> usesOf(Operation *allocation) const {
    int64_t first = positions.lookup(allocation), last = first;
    for (Value value : buffers.valuesOf(allocation))
      for (Operation *user : value.getUsers()) {
        Operation *inBlock = allocation->getBlock()->findAncestorOpInBlock(*user);
        last = std::max(last, endOf(inBlock ? inBlock : user));
      }
    return {first, last};
  }

  BufferAnalysis buffers;
  llvm::DenseMap<Operation *, int64_t> positions;
  std::vector<Operation *> order;
  int64_t count = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

/// The kernel's registers, as they are forecast.
static json::Object describeRegisters(ModuleOp module, const TargetInfo &target) {
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() && function.isPublic()) {
      RegisterAnalysis analysis(function);
      RegisterUse peak = analysis.peak();
      Operation *op = analysis.peakOp();
      return json::Object{{"forecast", forecastRegisters(analysis, module, target)},
                          {"data", peak.data},
                          {"addresses", peak.addresses},
                          {"scalars", peak.scalars},
                          {"place", op ? ir::renderLocation(op->getLoc()) : ""}};
    }
  return {};
}

int64_t forecastModuleRegisters(ModuleOp module) {
  int64_t most = 0;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal())
      most = std::max(most, forecastRegisters(RegisterAnalysis(function).peak()));
  return most;
}

std::string describeKernel(ModuleOp module, const TargetInfo &target) {
  json::Array tiles;
  llvm::StringSet<> seen; // ops of one place that are alike, as pipelining makes them
  module.walk([&](Operation *op) {
    RankedTensorType type = tileOf(op);
    if (!type)
      return;
    json::Object tile = describeTile(op, type);
    if (seen.insert(asText(json::Object(tile))).second)
      tiles.push_back(std::move(tile));
  });
  SharedPieces pieces(module);
  return asText(json::Object{{"tiles", std::move(tiles)},
                             {"shared", pieces.describe()},
                             {"registers", describeRegisters(module, target)},
                             {"positions", pieces.numPositions()}});
}

std::string describeRemarks(const RemarkCollector &remarks) {
  json::Array rows;
  for (const Remark &remark : remarks.remarks()) {
    json::Object numbers;
    for (const auto &[name, value] : remark.numbers)
      numbers[name] = value;
    rows.push_back(json::Object{{"kind", remark.kind},
                                {"applied", remark.applied},
                                {"place", remark.location},
                                {"numbers", std::move(numbers)},
                                {"reason", remark.reason},
                                {"parameter", remark.parameter}});
  }
  return asText(std::move(rows));
}

} // namespace tilewright::passes
