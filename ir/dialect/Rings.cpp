//===- Rings.cpp - How the slots of a ring are filled and freed -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/Rings.h"

using namespace mlir;

namespace tilewright::ir {

static constexpr llvm::StringLiteral fillKey = "fill", releaseKey = "release";

static constexpr RingFill allFills[] = {RingFill::Tma, RingFill::CpAsync, RingFill::Own};
static constexpr SlotRelease allReleases[] = {SlotRelease::Barrier, SlotRelease::Arrivals,
                                              SlotRelease::None};

llvm::StringRef nameOf(RingFill fill) {
  switch (fill) {
  case RingFill::Tma:
    return "tma";
  case RingFill::CpAsync:
    return "cp.async";
  case RingFill::Own:
    return "own cp.async";
  }
  llvm_unreachable("all fills have a name");
}

llvm::StringRef nameOf(SlotRelease release) {
  switch (release) {
  case SlotRelease::Barrier:
    return "barrier";
  case SlotRelease::Arrivals:
    return "arrivals";
  case SlotRelease::None:
    return "none";
  }
  llvm_unreachable("all releases have a name");
}

/// The one of `all` that has the name under `key`.
template <typename Kind, size_t size>
static std::optional<Kind> lookUp(DictionaryAttr attributes, llvm::StringRef key,
                                  const Kind (&all)[size]) {
  auto name = attributes.getAs<StringAttr>(key);
  for (Kind kind : all)
    if (name && name.getValue() == nameOf(kind))
      return kind;
  return std::nullopt;
}

void setRing(AllocSharedOp alloc, Ring ring) {
  Builder builder(alloc.getContext());
  alloc->setAttr(
      ringAttr,
      builder.getDictionaryAttr(
          {builder.getNamedAttr(fillKey, builder.getStringAttr(nameOf(ring.fill))),
           builder.getNamedAttr(releaseKey, builder.getStringAttr(nameOf(ring.release)))}));
}

std::optional<Ring> ringOf(Operation *op) {
  auto alloc = llvm::dyn_cast_or_null<AllocSharedOp>(op);
  auto attributes = alloc ? alloc->getAttrOfType<DictionaryAttr>(ringAttr) : DictionaryAttr();
  if (!attributes)
    return std::nullopt;
  std::optional<RingFill> fill = lookUp(attributes, fillKey, allFills);
  std::optional<SlotRelease> release = lookUp(attributes, releaseKey, allReleases);
  if (!fill || !release)
    return std::nullopt;
  return Ring{*fill, *release};
}

} // namespace tilewright::ir
