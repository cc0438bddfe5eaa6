//===- TileTree.cpp - Tile IR as plain Python objects ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How: one walk in program order. Values get consecutive numbers; attributes
// that have no plain Python form are their text.
//
//===----------------------------------------------------------------------===//

#include "python/bindings/compile/TileTree.h"
#include "ir/dialect/ParameterAttr.h"
#include "ir/dialect/TileDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>

namespace py = pybind11;
using namespace mlir;

namespace tilewright {

namespace {

template <typename T> std::string printed(const T &object) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  object.print(stream);
  return text;
}

/// A tuple of what `make` says of each element of `range`.
template <typename Range, typename Make> py::tuple tupleOf(Range &&range, Make make) {
  py::list items;
  for (auto &&item : range)
    items.append(make(item));
  return py::tuple(items);
}

class TreeBuilder {
public:
  py::dict function(func::FuncOp function) {
    py::dict result;
    auto names = function->getAttrOfType<ArrayAttr>(ir::parametersAttr);
    result["parameters"] = names ? attribute(names) : py::tuple();
    result["arguments"] = values(function.getArguments());
    result["body"] = block(function.getBody().front());
    return result;
  }

private:
  py::object type(Type of) {
    if (auto integer = dyn_cast<IntegerType>(of))
      return py::make_tuple("int", integer.getWidth());
    if (isa<IndexType>(of))
      return py::make_tuple("index");
    if (auto floating = dyn_cast<FloatType>(of))
      return py::make_tuple("float", printed(of), floating.getWidth());
    if (auto pointer = dyn_cast<ir::PointerType>(of))
      return py::make_tuple("pointer", type(pointer.getPointee()));
    if (auto tile = dyn_cast<RankedTensorType>(of))
      return py::make_tuple("tile",
                            tupleOf(tile.getShape(), [](int64_t size) { return py::int_(size); }),
                            type(tile.getElementType()));
    return py::make_tuple("other", printed(of));
  }

  py::tuple value(Value of) { return py::make_tuple(number(of), type(of.getType())); }

  template <typename Range> py::tuple values(Range &&range) {
    return tupleOf(range, [&](Value of) { return value(of); });
  }

  size_t number(Value of) { return numbers.try_emplace(of, numbers.size()).first->second; }

  py::object attribute(Attribute of) {
    if (auto boolean = dyn_cast<BoolAttr>(of))
      return py::bool_(boolean.getValue());
    if (auto integer = dyn_cast<IntegerAttr>(of))
      return py::int_(integer.getValue().getSExtValue());
    if (auto floating = dyn_cast<FloatAttr>(of))
      return py::float_(floating.getValueAsDouble());
    if (auto string = dyn_cast<StringAttr>(of))
      return py::str(string.getValue().str());
    if (isa<UnitAttr>(of))
      return py::bool_(true);
    auto integers = [](auto list) { return tupleOf(list, [](auto n) { return py::int_(n); }); };
    if (auto list = dyn_cast<DenseI32ArrayAttr>(of))
      return integers(list.asArrayRef());
    if (auto list = dyn_cast<DenseI64ArrayAttr>(of))
      return integers(list.asArrayRef());
    if (auto list = dyn_cast<ArrayAttr>(of))
      return tupleOf(list, [&](Attribute item) { return attribute(item); });
    if (auto splat = dyn_cast<SplatElementsAttr>(of))
      return attribute(splat.getSplatValue<Attribute>());
    return py::str(printed(of));
  }

  /// The places of an op, innermost first: the calls that led to it follow.
  py::tuple frames(Location location) {
    py::list result;
    addFrames(location, result);
    return py::tuple(result);
  }

  void addFrames(Location location, py::list &result) {
    if (auto call = dyn_cast<CallSiteLoc>(location)) {
      addFrames(call.getCallee(), result);
      addFrames(call.getCaller(), result);
    } else if (auto named = dyn_cast<NameLoc>(location)) {
      if (auto place = dyn_cast<FileLineColLoc>(named.getChildLoc()))
        result.append(py::make_tuple(place.getFilename().str(), named.getName().str(),
                                     place.getLine(), place.getColumn()));
    } else if (auto place = dyn_cast<FileLineColLoc>(location)) {
      result.append(
          py::make_tuple(place.getFilename().str(), "", place.getLine(), place.getColumn()));
    }
  }

  py::tuple block(Block &of) {
    return tupleOf(of, [&](Operation &op) { return operation(op); });
  }

  py::tuple operation(Operation &op) {
    py::dict attributes;
    // With the sizes of operand segments: optional operands are told apart by them.
    for (NamedAttribute named : op.getAttrDictionary())
      attributes[py::str(named.getName().str())] = attribute(named.getValue());
    py::tuple operands = tupleOf(op.getOperands(), [&](Value of) { return py::int_(number(of)); });
    py::tuple results = values(op.getResults());
    py::tuple regions = tupleOf(op.getRegions(), [&](Region &region) -> py::tuple {
      if (region.empty())
        return py::make_tuple(py::tuple(), py::tuple());
      py::tuple arguments = values(region.front().getArguments());
      return py::make_tuple(arguments, block(region.front()));
    });
    return py::make_tuple(op.getName().getStringRef().str(), operands, results, attributes, regions,
                          frames(op.getLoc()));
  }

  llvm::DenseMap<Value, size_t> numbers;
};

} // namespace

py::dict tileTree(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isPrivate() && !function.isExternal())
      return TreeBuilder().function(function);
  return py::dict();
}

} // namespace tilewright
