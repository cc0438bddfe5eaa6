//===- PromoteShared.cpp - Operands of products in shared memory ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: makes tw.wgmma of every tw.dot with that unit, and tw.shared_dot of the
// larger ones by fma, their operands being tiles in shared memory, and gives the
// operands in registers that come from memory a place there instead of a layout
// conversion: those of mma, and left ones that wgmma takes so.
//
// Why here: layouts are final, so that an operand is known to be in the product's
// registers already or not; PipelineLoops then makes rings of the buffers whose
// contents a loop loads.
//
// A tile that TMA brings in a loop of products stays in shared memory, too, where registers
// need it, as does one that could be copied there for a product: it is there anyway.
//
// A row that threads take from each other in such a loop, as factors of columns, is read from a
// buffer as well: a copy brings it with the operands, whose barrier serves it. linghe's
// fp8_gemm_tt_kernel with two such rows took 595 us, and 455 so (H200, November 2026).
//
// How: an operand is stored where it is defined, once, in the order in which it
// was loaded: the fastest dimension of its layout is the row of the swizzled
// tile. A transpose in between is a permuted view of the same bytes. wgmma takes
// 16-bit operands in either order; others are stored with K fastest, and so are bytes that
// mma takes in a loop (SpreadCopies.h, TransposedBytes.h).
//
//===----------------------------------------------------------------------===//

#include "ir/layout/ConversionPlan.h"
#include "ir/layout/LayoutConstructors.h"
#include "ir/layout/LayoutTransforms.h"
#include "ir/support/Hardware.h"
#include "passes/Passes.h"
#include "passes/analysis/BufferInfo.h"
#include "passes/analysis/LayoutRules.h"
#include "passes/analysis/MemoryAccess.h"
#include "passes/analysis/Resources.h"
#include "passes/layout/RetypeLoad.h"
#include "passes/layout/SpreadCopies.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_PROMOTESHARED
#include "passes/Passes.h.inc"

namespace {

/// Bytes of a row that a ring may hold beside the operands of products: slots take multiples of a
/// swizzled pattern. A guess.
constexpr int64_t maxRowBytes = 2 * hardware::swizzlePatternBytes;

/// Row-major with dimensions `fast` and the last exchanged in rank.
std::vector<int> orderWithFastest(int rank, int fast) {
  std::vector<int> order = {fast};
  for (int dim : rowMajorOrder(rank))
    if (dim != fast)
      order.push_back(dim);
  return order;
}

class Promotion {
public:
  int numBuffers = 0;

  /// Whether wgmma takes `tile` with either dimension fastest.
  static bool takesBothOrders(Value tile) {
    return ir::elementBits(tileType(tile).getElementType()) == 16;
  }

  void promoteWgmma(ir::DotOp dot) {
    Value a = dot.getA();
    if (ir::getLinearLayout(tileType(a)) != dotOperandLayout(dot, 0))
      a = operandBuffer(a, /*dimK=*/1, takesBothOrders(a));
    Value b = operandBuffer(dot.getB(), /*dimK=*/0, takesBothOrders(dot.getB()));
    OpBuilder builder(dot);
    auto [acc, useAcc] = accumulator(dot, builder);
    auto wgmma =
        builder.create<ir::WgmmaOp>(dot.getLoc(), dot.getType(), a, b, acc, useAcc,
                                    /*isAsync=*/false, dot.getMaxImprecise(), *dot.getWarps());
    dot.getResult().replaceAllUsesWith(wgmma);
    dot.erase();
  }

  void promoteFma(ir::DotOp dot) {
    int rank = tileType(dot.getResult()).getRank();
    Value a = operandBuffer(dot.getA(), rank - 1, /*takesBothOrders=*/true);
    Value b = operandBuffer(dot.getB(), rank - 2, /*takesBothOrders=*/true);
    OpBuilder builder(dot);
    dot.getResult().replaceAllUsesWith(builder
                                           .create<ir::SharedDotOp>(dot.getLoc(), dot.getType(), a,
                                                                    b, dot.getAcc(),
                                                                    *dot.getWarps())
                                           .getResult());
    dot.erase();
  }

  /// An accumulator that starts again on a condition, select(c, 0, acc), is a flag
  /// of the instruction. fp8 products that are promoted in parts need it selected.
  static std::pair<Value, Value> accumulator(ir::DotOp dot, OpBuilder &builder) {
    auto select = dot.getAcc().getDefiningOp<arith::SelectOp>();
    if (!select || isTile(select.getCondition()) || dot.getMaxImprecise() != 0)
      return {dot.getAcc(), Value()};
    if (ir::isZeroBits(select.getFalseValue()))
      return {select.getTrueValue(), select.getCondition()};
    if (!ir::isZeroBits(select.getTrueValue()))
      return {dot.getAcc(), Value()};
    Value one = builder.create<arith::ConstantIntOp>(dot.getLoc(), 1, 1);
    return {select.getFalseValue(),
            builder.create<arith::XOrIOp>(dot.getLoc(), select.getCondition(), one)};
  }

  /// The conversion of a loaded tile to an operand in registers: a store and a load
  /// whose first half can happen iterations earlier.
  void promoteMma(ir::ConvertLayoutOp convert) {
    Value source = convert.getSource();
    auto permute = source.getDefiningOp<ir::PermuteOp>();
    Value stored = permute ? permute.getSource() : source;
    Value buffer = bufferOf(stored, fastestInBuffer(stored, convert, permute));
    if (permute)
      buffer = permuted(buffer, permute.getOrder(), source);
    OpBuilder builder(convert);
    auto load = builder.create<ir::SharedLoadOp>(convert.getLoc(), convert.getType(), buffer);
    convert.getResult().replaceAllUsesWith(load);
    convert.erase();
  }

private:
  llvm::DenseMap<std::pair<Value, int>, Value> buffers;

  /// That of memory. Words of bytes that the product takes along the other dimension would be read byte
  /// by byte; in a loop they can be transposed on their way between two buffers (TransposedBytes.h).
  static int fastestInBuffer(Value stored, ir::ConvertLayoutOp convert, ir::PermuteOp permute) {
    int fast = fastestDimension(ir::getLinearLayout(tileType(stored)));
    int wanted = fastestDimension(ir::getLinearLayout(tileType(convert.getResult())));
    if (permute)
      wanted = permute.getOrder()[wanted];
    auto load = stored.getDefiningOp<ir::LoadOp>(); // TMA brings tiles as they are in memory
    auto loop = load ? llvm::dyn_cast<scf::ForOp>(load->getParentOp()) : nullptr;
    bool isAlone = stored.hasOneUse() && (!permute || permute->hasOneUse());
    // Not those that are widened for the product, whose words hold fewer of them.
    bool areBytes = ir::elementBits(tileType(stored).getElementType()) == 8 &&
                    llvm::all_of(convert->getUsers(), llvm::IsaPred<ir::DotOp>);
    return areBytes && isAlone && loop && ir::stagesOf(loop) > 1 ? wanted : fast;
  }

  /// The tile in shared memory with dimension `fast` fastest, stored right after
  /// its definition.
  Value bufferOf(Value tile, int fast) {
    Value &buffer = buffers[{tile, fast}];
    if (buffer)
      return buffer;
    RankedTensorType type = tileType(tile);
    LinearLayout layout =
        makeSwizzledShared(ir::log2Shape(type.getShape()), ir::elementBits(type.getElementType()),
                           hardware::maxSwizzleBytes, orderWithFastest(type.getRank(), fast));
    OpBuilder builder(tile.getContext());
    builder.setInsertionPointAfterValue(tile);
    buffer = builder.create<ir::AllocSharedOp>(tile.getLoc(), bufferFor(type, layout), tile);
    ++numBuffers;
    return buffer;
  }

  /// What `tile` is a permutation of, looking through conversions of layout: they
  /// are paid when the bytes are stored.
  static Value withoutConversions(Value tile) {
    while (auto convert = tile.getDefiningOp<ir::ConvertLayoutOp>())
      tile = convert.getSource();
    return tile;
  }

  Value operandBuffer(Value tile, int dimK, bool takesBothOrders) {
    tile = withoutConversions(tile);
    if (auto permute = tile.getDefiningOp<ir::PermuteOp>()) {
      Value source = withoutConversions(permute.getSource());
      int fast = fastestDimension(ir::getLinearLayout(tileType(source)));
      if (takesBothOrders || permute.getOrder()[dimK] == fast)
        return permuted(bufferOf(source, fast), permute.getOrder(), tile);
    }
    int fast = fastestDimension(ir::getLinearLayout(tileType(tile)));
    return bufferOf(tile, takesBothOrders ? fast : dimK);
  }

  Value permuted(Value buffer, llvm::ArrayRef<int32_t> order, Value at) {
    auto type = llvm::cast<ir::BufferType>(buffer.getType());
    std::vector<int> dims(order.begin(), order.end());
    llvm::SmallVector<int64_t> shape;
    for (int dim : dims)
      shape.push_back(type.getShape()[dim]);
    auto layout =
        ir::SharedLayoutAttr::fromLinear(at.getContext(), permuteDims(type.toLinear(), dims));
    OpBuilder builder(at.getContext());
    builder.setInsertionPointAfterValue(at);
    return builder.create<ir::BufferPermuteOp>(
        at.getLoc(),
        ir::BufferType::get(at.getContext(), shape, type.getElementType(), layout, /*slots=*/1),
        buffer, builder.getDenseI32ArrayAttr(order));
  }
};

/// Whether `convert` brings a loaded tile, as it is or transposed, across threads to a product
/// that takes it from registers.
/// Shuffles serve as well where nothing is copied ahead.
bool goesThroughShared(ir::ConvertLayoutOp convert, Operation *source, const AxisAnalysis &axes,
                       const TargetInfo &target) {
  if (!feedsMma(convert.getResult()))
    return false;
  RankedTensorType type = tileType(convert.getSource());
  ConversionKind kind =
      planConversion(ir::getLinearLayout(type), ir::getLinearLayout(tileType(convert)),
                     ir::elementBits(type.getElementType()))
          .kind;
  auto load = llvm::dyn_cast<ir::LoadOp>(source);
  return kind == ConversionKind::SharedMemory ||
         (kind == ConversionKind::Shuffle && load && canBeCopiedAhead(load, axes, target));
}

/// Whether wgmma reads the tile from shared memory at `use`, in the order in which it was loaded.
bool isReadFromShared(OpOperand &use) {
  auto dot = llvm::dyn_cast<ir::DotOp>(use.getOwner());
  Value tile = use.get();
  return dot && dot.getUnit() == ir::MatrixUnit::wgmma && tile != dot.getAcc() &&
         Promotion::takesBothOrders(tile) &&
         (tile != dot.getA() || ir::getLinearLayout(tileType(tile)) != dotOperandLayout(dot, 0));
}

/// The conversions of what `source` loads, if all else that uses it reads the same buffer:
/// the backward pass of attention, for one, multiplies a tile from both sides.
llvm::SmallVector<ir::ConvertLayoutOp>
conversionsFromMemory(Operation *source, const AxisAnalysis &axes, const TargetInfo &target) {
  llvm::SmallVector<ir::ConvertLayoutOp> converts;
  llvm::SmallVector<OpOperand *> uses;
  auto addUsesOf = [&](Operation *op) {
    for (OpOperand &use : op->getUses())
      uses.push_back(&use);
  };
  addUsesOf(source);
  while (!uses.empty()) {
    OpOperand *use = uses.pop_back_val();
    Operation *user = use->getOwner();
    auto convert = llvm::dyn_cast<ir::ConvertLayoutOp>(user);
    bool isTransposed = llvm::isa<ir::PermuteOp>(user) && use->get().getDefiningOp() == source;
    if (isTransposed)
      addUsesOf(user);
    else if (convert && goesThroughShared(convert, source, axes, target))
      converts.push_back(convert);
    else if (!isReadFromShared(*use))
      return {};
  }
  return converts;
}

/// Whether `load` belongs to a loop that may be pipelined, with products.
bool isInLoopOfProducts(Operation *load) {
  auto loop = llvm::dyn_cast<scf::ForOp>(load->getParentOp());
  if (!loop || ir::stagesOf(loop) < 2 || ir::numBlocks(load->getParentOfType<ModuleOp>()) != 1)
    return false;
  return llvm::any_of(loop.getBody()->getOperations(),
                      [](Operation &op) { return isProduct(&op); });
}

/// Whether `load` brings a row, such as factors of columns, that threads take from each other through
/// shared memory. From a ring they read it without the barriers of a conversion. Beside rings that
/// TMA fills it would bring a barrier where there may be none.
bool isRowForOthers(ir::LoadOp load) {
  RankedTensorType type = tileType(load.getResult());
  if (!isRow(type) || tileBytes(type) > maxRowBytes || load->use_empty() ||
      !load->getBlock()->getOps<ir::DescriptorLoadOp>().empty())
    return false;
  return llvm::all_of(load->getUsers(), [&](Operation *user) {
    auto convert = llvm::dyn_cast<ir::ConvertLayoutOp>(user);
    return convert && planConversion(ir::getLinearLayout(type),
                                     ir::getLinearLayout(tileType(convert.getResult())),
                                     ir::elementBits(type.getElementType()))
                              .kind == ConversionKind::SharedMemory;
  });
}

/// Whether copies are to bring operands of products to the loop of `load`, which wait for a barrier
/// in each iteration.
bool isBesideCopies(ir::LoadOp load, const AxisAnalysis &axes, const TargetInfo &target) {
  return llvm::any_of(load->getBlock()->getOps<ir::LoadOp>(), [&](ir::LoadOp other) {
    return llvm::any_of(other->getUsers(), llvm::IsaPred<ir::AllocSharedOp>) &&
           !isRowForOthers(other) && canBeCopiedAhead(other, axes, target);
  });
}

/// The buffer that a copy ahead of the loop's use would fill: TMA's, or for a plain load the one
/// that products read; null where there is none, or another one is wanted as well.
ir::BufferType bufferOfCopy(Operation *load, const AxisAnalysis &axes, const TargetInfo &target) {
  ir::BufferType buffer;
  if (llvm::isa<ir::DescriptorLoadOp>(load))
    buffer = ir::tmaBuffer(tileType(load->getResult(0)));
  else if (!canBeCopiedAhead(llvm::cast<ir::LoadOp>(load), axes, target))
    return {};
  for (Operation *user : load->getUsers())
    if (auto alloc = llvm::dyn_cast<ir::AllocSharedOp>(user)) {
      if (buffer && alloc.getType() != buffer)
        return {};
      buffer = alloc.getType();
    }
  return buffer;
}

/// A row in which each thread that copies has as many neighbours as it can access at once, as cp.async
/// brings no less than 4 bytes. Single elements are loaded (goesThroughRegisters): each warp has its
/// part of them, as lanes that load the same cost nothing.
LinearLayout layoutToCopy(const MemoryAccess &row, int log2Warps, const TargetInfo &target) {
  if (row.maxVectorElements == 1) {
    int log2Elements = llvm::Log2_64(row.type.getNumElements());
    int log2Lanes = std::clamp(log2Elements - log2Warps, 0, target.log2WarpSize);
    LinearLayout layout = makeCoalesced(ir::log2Shape(row.type.getShape()), row.order,
                                        /*vectorElements=*/1, log2Lanes, log2Warps);
    layout.columns(InDim::Lane).resize(target.log2WarpSize);
    return layout;
  }
  int dim = row.order.front();
  llvm::SmallVector<int64_t> runs(row.type.getShape());
  int64_t run = std::min<int64_t>(row.maxVectorElements, runs[dim]);
  runs[dim] /= run;
  LinearLayout ofRuns =
      makeCoalesced(ir::log2Shape(runs), row.order, /*vectorElements=*/1, target.log2WarpSize,
                    log2Warps, /*log2Blocks=*/0, /*log2Repeats=*/{}, /*hasShortRuns=*/false);
  return withRunsInThread(ofRuns, dim, llvm::Log2_64(run));
}

/// The buffer of a row, whose load is given a layout that cp.async can copy; null where it cannot.
ir::BufferType bufferOfRow(ir::LoadOp load, const AxisAnalysis &axes, const TargetInfo &target,
                           TileMaterializer &materializer) {
  // Where accumulators fill the registers, reading rows ahead of their use would spill.
  auto loop = llvm::cast<scf::ForOp>(load->getParentOp());
  if (!isRowForOthers(load) || !target.hasCpAsync || load.mayChangeMeanwhile() ||
      leavesFewRegisters(carriedWords(loop), productWords(loop)))
    return {};
  MemoryAccess access = *analyzeAccess(load, axes, target);
  bool areSingle = access.maxVectorElements == 1;
  if (areSingle ? !isBesideCopies(load, axes, target) : !fillsWithZeros(load))
    return {};
  if (areSingle || bytesAtOnce(load) < hardware::minCopyBytes) {
    int log2Warps = llvm::Log2_32(ir::numWarps(load->getParentOfType<ModuleOp>()));
    LinearLayout layout = layoutToCopy(access, log2Warps, target);
    int bytes = vectorElements(access, layout) * access.elementBytes;
    auto attr = ir::LayoutAttr::fromLinear(load.getContext(), layout);
    bool isMovable = hasMovableOperands(load, attr, materializer);
    if (!areSingle && (bytes < hardware::minCopyBytes || !isMovable))
      return {};
    if (isMovable)
      retypeLoad(load, attr, access, materializer);
  }
  RankedTensorType type = tileType(load.getResult());
  return bufferFor(type, makeSwizzledShared(ir::log2Shape(type.getShape()), access.elementBytes * 8,
                                            /*swizzleBytes=*/0));
}

/// What stands behind the products between `convert` and its first user, which need nothing of it
/// and start before it is read; else the conversion itself.
Operation *placeToRead(ir::ConvertLayoutOp convert) {
  Operation *place = convert;
  for (Operation *op = convert; (op = op->getNextNode());) {
    bool isUser =
        llvm::any_of(convert->getUsers(), [&](Operation *user) { return op->isAncestor(user); });
    if (isUser)
      break;
    if (isProduct(op))
      place = op->getNextNode();
  }
  return place;
}

/// Gives a loaded tile that is used in registers the buffer of its copy, from which each
/// user reads it in its own layout: as a buffer it can come iterations ahead.
void readFromBuffer(Operation *load, ir::BufferType type) {
  Value tile = load->getResult(0);
  OpBuilder builder(load->getContext());
  builder.setInsertionPointAfter(load);
  llvm::SmallVector<Operation *> users(load->getUsers());
  auto buffer = builder.create<ir::AllocSharedOp>(load->getLoc(), type, tile);
  Operation *first = nullptr;
  for (Operation *user : users) {
    Operation *inBody = load->getBlock()->findAncestorOpInBlock(*user);
    if (llvm::isa<ir::AllocSharedOp>(user)) {
      user->replaceAllUsesWith(ValueRange(buffer));
      user->erase();
    } else if (auto convert = llvm::dyn_cast<ir::ConvertLayoutOp>(user)) {
      builder.setInsertionPoint(placeToRead(convert));
      convert.getResult().replaceAllUsesWith(
          builder.create<ir::SharedLoadOp>(load->getLoc(), convert.getType(), buffer));
      convert.erase();
    } else if (!first || inBody->isBeforeInBlock(first)) {
      first = inBody;
    }
  }
  if (!first)
    return;
  builder.setInsertionPoint(first);
  auto read = builder.create<ir::SharedLoadOp>(load->getLoc(), tile.getType(), buffer);
  tile.replaceAllUsesExcept(read, buffer);
}

/// Lets what is used in registers of loops with products be read from where a copy puts it.
int readFromBuffers(func::FuncOp function, const TargetInfo &target) {
  llvm::SmallVector<Operation *> loads;
  function.walk([&](Operation *op) {
    bool isLoad = llvm::isa<ir::LoadOp, ir::DescriptorLoadOp>(op) && isTile(op->getResult(0));
    if (isLoad && isInLoopOfProducts(op) &&
        !llvm::all_of(op->getUsers(), llvm::IsaPred<ir::AllocSharedOp>))
      loads.push_back(op);
  });
  if (loads.empty())
    return 0;
  AxisAnalysis axes(function);
  TileMaterializer materializer;
  int numBuffers = 0;
  for (Operation *op : loads) {
    ir::BufferType buffer = bufferOfCopy(op, axes, target);
    if (auto row = llvm::dyn_cast<ir::LoadOp>(op); row && !buffer)
      buffer = bufferOfRow(row, axes, target, materializer);
    if (!buffer)
      continue;
    readFromBuffer(op, buffer);
    ++numBuffers;
  }
  return numBuffers;
}

class PromoteSharedPass : public impl::PromoteSharedBase<PromoteSharedPass> {
public:
  explicit PromoteSharedPass(PassContext context) : context(std::move(context)) {}

  void runOnOperation() override {
    Promotion promotion;
    llvm::SmallVector<ir::DotOp> dots;
    llvm::SmallVector<ir::ConvertLayoutOp> converts;
    getOperation().walk([&](func::FuncOp function) {
      std::optional<AxisAnalysis> axes;
      function.walk([&](Operation *op) {
        if (!llvm::isa<ir::LoadOp, ir::DescriptorLoadOp>(op) || !isTile(op->getResult(0)))
          return;
        if (!axes)
          axes.emplace(function);
        llvm::append_range(converts, conversionsFromMemory(op, *axes, context.target));
      });
    });
    getOperation().walk([&](ir::DotOp dot) {
      if (dot.getUnit() && readsOperandsFromShared(dot))
        dots.push_back(dot);
    });
    for (ir::ConvertLayoutOp convert : converts)
      promotion.promoteMma(convert);
    for (ir::DotOp dot : dots)
      dot.getUnit() == ir::MatrixUnit::wgmma ? promotion.promoteWgmma(dot)
                                             : promotion.promoteFma(dot);
    eraseDead(getOperation());
    numBuffers += promotion.numBuffers;
    getOperation().walk([&](func::FuncOp function) {
      numBuffers += readFromBuffers(function, context.target);
      spreadCopies(function, context.target);
    });
  }

private:
  PassContext context;
};

} // namespace

std::unique_ptr<Pass> createPromoteShared(PassContext context) {
  return std::make_unique<PromoteSharedPass>(std::move(context));
}

} // namespace tilewright::passes
