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
// How: TileGenerator.h makes the kernels, which are evaluated. A claim must hold of
// every entry of a value.
//
//===----------------------------------------------------------------------===//

#include "tests/unit/TileGenerator.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace tilewright;
using tilewright::passes::AxisInfo;
using namespace tilewright::testing;

namespace {

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
// Fuzzer
//===----------------------------------------------------------------------===//

class AxisInfoTest : public ::testing::Test {
protected:
  AxisInfoTest() {
    context.loadDialect<ir::TWDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect,
                        func::FuncDialect>();
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
      Evaluator evaluator(&axes);
      evaluator.programId = trial * 3;
      for (BlockArgument argument : function.getArguments())
        evaluator.set(argument, {randomArgument(function, argument.getArgNumber(), random)});
      evaluator.run(function.getBody().front());
      for (const auto &[value, runs] : evaluator.history) {
        AxisInfo info = axes.get(value);
        for (int dim = 0; dim < info.rank(); ++dim)
          usefulClaims +=
              info.contiguity[dim] > 1 || info.constancy[dim] > 1 || info.divisibility[dim] > 1;
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
    })",
                          "tw.store");
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
    })",
                          "tw.store");
  EXPECT_EQ(info.contiguity[1], 16);
  EXPECT_GE(info.divisibility[1], 16);
  EXPECT_EQ(info.run[1], 32);
  EXPECT_EQ(info.contiguity[0], 1);
}

TEST_F(AxisInfoTest, HalfOfADivisibleStride) {
  // As of two 4-bit numbers per byte; the sign of the stride does not matter.
  AxisInfo info = factsOf(R"(
    func.func @f(%x: !tw.ptr<i8> {tw.divisibility = 16 : i64}, %stride: i32 {tw.divisibility = 16 : i64}) {
      %two = arith.constant 2 : i32
      %half = arith.divsi %stride, %two : i32
      %pid = tw.program_id 0 : i32
      %start = arith.muli %pid, %half : i32
      %tile = tw.splat %start : i32 -> tensor<256xi32>
      %range = tw.range 0 to 256 : tensor<256xi32>
      %offsets = arith.addi %tile, %range : tensor<256xi32>
      %base = tw.splat %x : !tw.ptr<i8> -> tensor<256x!tw.ptr<i8>>
      %p = tw.addptr %base, %offsets : tensor<256x!tw.ptr<i8>>, tensor<256xi32>
      %v = arith.constant dense<0> : tensor<256xi8>
      tw.store %p, %v : tensor<256x!tw.ptr<i8>>, tensor<256xi8>
      return
    })",
                          "tw.store");
  EXPECT_EQ(info.divisibility, Numbers({8}));
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
    })",
                          "tw.store");
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
    })",
                          "tw.assert");
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
  quotient.replace(quotient.find("      tw.extract_scalar"),
                   quotient.find("      return") - quotient.find("      tw.extract_scalar"), "");
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
    })",
                          "tw.print");
  EXPECT_EQ(info.contiguity, Numbers({8}));
  EXPECT_EQ(info.divisibility, Numbers({8}));
}

} // namespace
