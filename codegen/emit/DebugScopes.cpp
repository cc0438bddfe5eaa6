//===- DebugScopes.cpp - Line information for the debugger ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: LLVM knows a location only inside a scope: each location must lie in a
// subprogram. The kernel gets one. Each source function that was inlined into
// it gets one of its own, named by its NameLoc where it has one.
//
// How: each distinct location is rebuilt once (they are uniqued, so a table
// from location to location suffices) as FusedLoc<scope> around the file
// position, call sites outside in.
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/DebugScopes.h"

#include "ir/dialect/SourcePlace.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace tilewright::codegen {

namespace {

class ScopeBuilder {
public:
  explicit ScopeBuilder(MLIRContext *context) : context(context) {}

  /// A subprogram for `function` of the file of `place`.
  LLVM::DISubprogramAttr makeSubprogram(llvm::StringRef function, FileLineColLoc place);
  /// The location with scopes, `outer` where it names no file.
  Location rebuild(Location location, LLVM::DISubprogramAttr outer);

private:
  Location rebuildUncached(Location location, llvm::StringRef function,
                           LLVM::DISubprogramAttr outer);

  MLIRContext *context;
  LLVM::DICompileUnitAttr unit;
  llvm::DenseMap<Attribute, LLVM::DIFileAttr> files;
  llvm::DenseMap<std::pair<Attribute, Attribute>, LLVM::DISubprogramAttr> subprograms;
  llvm::DenseMap<std::pair<Attribute, Attribute>, Attribute> rebuilt;
};

} // namespace

LLVM::DISubprogramAttr ScopeBuilder::makeSubprogram(llvm::StringRef function,
                                                    FileLineColLoc place) {
  auto name = StringAttr::get(context, function);
  LLVM::DIFileAttr &file = files[place.getFilename()];
  if (!file)
    file = LLVM::DIFileAttr::get(context, llvm::sys::path::filename(place.getFilename()),
                                 llvm::sys::path::parent_path(place.getFilename()));
  if (!unit)
    unit = LLVM::DICompileUnitAttr::get(
        DistinctAttr::create(UnitAttr::get(context)), llvm::dwarf::DW_LANG_C, file,
        StringAttr::get(context, "tilewright"),
        /*isOptimized=*/true, LLVM::DIEmissionKind::DebugDirectivesOnly);
  LLVM::DISubprogramAttr &subprogram = subprograms[{place.getFilename(), name}];
  if (!subprogram) {
    auto type = LLVM::DISubroutineTypeAttr::get(context, llvm::dwarf::DW_CC_normal, {});
    subprogram = LLVM::DISubprogramAttr::get(
        context, DistinctAttr::create(UnitAttr::get(context)), unit, file, name, name, file,
        place.getLine(), place.getLine(),
        LLVM::DISubprogramFlags::Definition | LLVM::DISubprogramFlags::Optimized, type);
  }
  return subprogram;
}

Location ScopeBuilder::rebuild(Location location, LLVM::DISubprogramAttr outer) {
  Attribute &slot = rebuilt[{location, outer}];
  if (slot)
    return llvm::cast<LocationAttr>(slot);
  Location result = rebuildUncached(location, "", outer);
  rebuilt[{location, outer}] = result;
  return result;
}

/// `function` is the name that an enclosing NameLoc gave.
Location ScopeBuilder::rebuildUncached(Location location, llvm::StringRef function,
                                       LLVM::DISubprogramAttr outer) {
  if (auto site = llvm::dyn_cast<CallSiteLoc>(location)) {
    Location caller = rebuild(site.getCaller(), outer);
    FileLineColLoc place = ir::innermostPlace(site.getCallee());
    if (!place)
      return caller;
    llvm::StringRef name = "inlined";
    if (auto named = llvm::dyn_cast<NameLoc>(site.getCallee()))
      name = named.getName().strref();
    return CallSiteLoc::get(rebuild(site.getCallee(), makeSubprogram(name, place)), caller);
  }
  if (auto place = llvm::dyn_cast<FileLineColLoc>(location))
    return FusedLoc::get(context, {place}, outer);
  if (auto name = llvm::dyn_cast<NameLoc>(location))
    return rebuildUncached(name.getChildLoc(), name.getName().strref(), outer);
  if (auto fused = llvm::dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (ir::innermostPlace(part))
        return rebuildUncached(part, function, outer);
  // Unknown: the line of the kernel, since a call inlined later needs one.
  return location;
}

void attachDebugScopes(ModuleOp module) {
  ScopeBuilder scopes(module.getContext());
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    FileLineColLoc place = ir::innermostPlace(function.getLoc());
    if (function.isExternal() || !place)
      continue;
    LLVM::DISubprogramAttr subprogram = scopes.makeSubprogram(function.getName(), place);
    function->setLoc(FusedLoc::get(module.getContext(), {place}, subprogram));
    Location start = function.getLoc();
    function.getBody().walk([&](Operation *op) {
      op->setLoc(ir::innermostPlace(op->getLoc()) ? scopes.rebuild(op->getLoc(), subprogram)
                                                  : start);
    });
  }
}

} // namespace tilewright::codegen
