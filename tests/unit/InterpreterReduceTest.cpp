//===- InterpreterReduceTest.cpp - Reductions and scans -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How: the combine function composes affine maps x -> m * x + b over wrapping
// integers. It is associative but not commutative, so a wrong order shows.
//
//===----------------------------------------------------------------------===//

#include "tests/unit/InterpreterTestSupport.h"

using namespace tilewright;
using namespace tilewright::interpreter;

namespace {

using Maps = std::vector<std::pair<int32_t, int32_t>>;

class InterpreterReduce : public interpreter::testing::InterpreterTest {
protected:
  int calls = 0;

  CombineFunction compose() {
    return [this](const std::vector<Value> &first, const std::vector<Value> &second) {
      ++calls;
      Value slope = builder.binary(BinaryOp::Mul, first[0], second[0]);
      Value offset = builder.binary(BinaryOp::Add,
                                    builder.binary(BinaryOp::Mul, first[1], second[0]), second[1]);
      return std::vector<Value>{slope, offset};
    };
  }

  static std::pair<int32_t, int32_t> composeOnce(std::pair<int32_t, int32_t> first,
                                                 std::pair<int32_t, int32_t> second) {
    return {first.first * second.first, first.second * second.first + second.second};
  }

  /// Small odd slopes, so that nothing overflows an int in the reference.
  static std::vector<int32_t> slopes(int64_t count) {
    std::vector<int32_t> result(count);
    for (int64_t i = 0; i < count; ++i)
      result[i] = i % 5 == 0 ? -1 : 1;
    return result;
  }
  static std::vector<int32_t> offsets(int64_t count) {
    std::vector<int32_t> result(count);
    for (int64_t i = 0; i < count; ++i)
      result[i] = static_cast<int32_t>(i * i % 13);
    return result;
  }

  /// Position of element `i` of row (outer, inner) of a [2, 8, 4] tile.
  static int64_t position(int axis, int64_t row, int64_t i) {
    static const int64_t strides[] = {32, 4, 1}, extents[] = {2, 8, 4};
    int first = axis == 0 ? 1 : 0, second = axis == 2 ? 1 : 2;
    return i * strides[axis] + row / extents[second] * strides[first] +
           row % extents[second] * strides[second];
  }
};

TEST_F(InterpreterReduce, KeepsOrderOnEveryAxis) {
  std::vector<int32_t> slope = slopes(64), offset = offsets(64);
  std::vector<int64_t> shape{2, 8, 4};
  for (int axis = 0; axis < 3; ++axis) {
    std::vector<Value> results =
        builder.reduce({i32(slope, shape), i32(offset, shape)}, axis, compose());
    EXPECT_EQ(results[0].type.rank(), 2);
    std::vector<int32_t> actual = elements<int32_t>(results[1]);
    for (int64_t row = 0; row < 64 / shape[axis]; ++row) {
      std::pair<int32_t, int32_t> expected{1, 0};
      for (int64_t i = 0; i < shape[axis]; ++i)
        expected =
            composeOnce(expected, {slope[position(axis, row, i)], offset[position(axis, row, i)]});
      EXPECT_EQ(actual[row], expected.second) << "axis " << axis << " row " << row;
    }
  }
}

TEST_F(InterpreterReduce, CallsAPureFunctionOnce) {
  Value result = builder.reduce({i32(slopes(1024)), i32(offsets(1024))}, 0, compose())[0];
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(result.type.isTile());
}

TEST_F(InterpreterReduce, CallsAFunctionThatReadsValuesOnEveryLevel) {
  CombineFunction pure = compose();
  CombineFunction reading = [&](const std::vector<Value> &first, const std::vector<Value> &second) {
    builder.valueWasRead();
    return pure(first, second);
  };
  std::vector<int32_t> slope = slopes(1024), offset = offsets(1024);
  Value read = builder.reduce({i32(slope), i32(offset)}, 0, reading)[1];
  EXPECT_EQ(calls, 10);
  Value replayed = builder.reduce({i32(slope), i32(offset)}, 0, pure)[1];
  EXPECT_EQ(elements<int32_t>(read), elements<int32_t>(replayed));
}

TEST_F(InterpreterReduce, CallsAFunctionThatBranchesPerElement) {
  // max by a branch: fails on tiles, as a Python `if` does.
  CombineFunction branching = [&](const std::vector<Value> &first,
                                  const std::vector<Value> &second) {
    if (countOf(first[0]) != 1) {
      builder.branchedOnTile = true;
      throw makeError(ErrorCode::E0116, fmt::arg("message", ""), fmt::arg("help", ""));
    }
    bool larger = *elementsOf<int32_t>(first[0]) > *elementsOf<int32_t>(second[0]);
    return std::vector<Value>{larger ? first[0] : second[0]};
  };
  Value largest = builder.reduce({i32({3, 9, -4, 7, 1, 2, 8, 5})}, 0, branching)[0];
  EXPECT_EQ(elements<int32_t>(largest), std::vector<int32_t>{9});
}

TEST_F(InterpreterReduce, ReplaysConstantsCastsAndSelections) {
  // (a > b ? a : b) with a detour over f32 and a constant: the largest element.
  CombineFunction combine = [&](const std::vector<Value> &first, const std::vector<Value> &second) {
    ++calls;
    Value one = builder.splat(builder.constantInt(ScalarKind::Int32, 1), first[0].type.shape);
    Value a = builder.binary(BinaryOp::Add, first[0], one);
    Value b = builder.binary(BinaryOp::Add, second[0], one);
    auto toFloat = [&](const Value &value) {
      return builder.cast(CastOp::SignedToFloat, value, ScalarKind::Float32, Rounding::NearestEven);
    };
    Value larger = builder.compare(ComparePredicate::FloatGreater, toFloat(a), toFloat(b));
    return std::vector<Value>{builder.binary(BinaryOp::Sub, builder.select(larger, a, b), one)};
  };
  Value result = builder.reduce({i32({3, 9, -4, 7, 1, 2, 80, 5})}, 0, combine)[0];
  EXPECT_EQ(elements<int32_t>(result), std::vector<int32_t>{80});
  EXPECT_EQ(calls, 1);
}

TEST_F(InterpreterReduce, ExtentOneNeedsNoCall) {
  std::vector<Value> results = builder.reduce({i32({4}), i32({5})}, 0, compose());
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(elements<int32_t>(results[1]), std::vector<int32_t>{5});
}

TEST_F(InterpreterReduce, FoldsAndScansByOneOperation) {
  // Subtraction is no reduction; it shows that the order of operands is kept.
  CombineFunction concatenate = [&](const std::vector<Value> &first,
                                    const std::vector<Value> &second) {
    ++calls;
    return std::vector<Value>{builder.binary(BinaryOp::Sub, first[0], second[0])};
  };
  CombineFunction add = [&](const std::vector<Value> &first, const std::vector<Value> &second) {
    ++calls;
    return std::vector<Value>{builder.binary(BinaryOp::Add, first[0], second[0])};
  };
  std::vector<int32_t> offset = offsets(64);
  std::vector<int64_t> shape{2, 8, 4};
  for (int axis = 0; axis < 3; ++axis) {
    calls = 0;
    std::vector<int32_t> sums =
        elements<int32_t>(builder.reduce({i32(offset, shape)}, axis, add)[0]);
    std::vector<int32_t> scanned =
        elements<int32_t>(builder.scan({i32(offset, shape)}, axis, false, add)[0]);
    EXPECT_EQ(calls, 2);
    for (int64_t row = 0; row < 64 / shape[axis]; ++row) {
      int32_t running = 0;
      for (int64_t i = 0; i < shape[axis]; ++i) {
        running += offset[position(axis, row, i)];
        EXPECT_EQ(scanned[position(axis, row, i)], running);
      }
      EXPECT_EQ(sums[row], running);
    }
  }
  // ((a - b) - (c - d)) for four elements, folded from the second level on.
  Value tree = builder.reduce({i32({100, 7, 20, 5})}, 0, concatenate)[0];
  EXPECT_EQ(elements<int32_t>(tree), std::vector<int32_t>{(100 - 7) - (20 - 5)});
}

TEST_F(InterpreterReduce, ScansInOrderBothWays) {
  std::vector<int32_t> slope = slopes(64), offset = offsets(64);
  std::vector<int64_t> shape{2, 8, 4};
  for (bool reverse : {false, true})
    for (int axis = 0; axis < 3; ++axis) {
      std::vector<Value> results =
          builder.scan({i32(slope, shape), i32(offset, shape)}, axis, reverse, compose());
      std::vector<int32_t> actual = elements<int32_t>(results[1]);
      for (int64_t row = 0; row < 64 / shape[axis]; ++row) {
        std::pair<int32_t, int32_t> expected{1, 0};
        for (int64_t step = 0; step < shape[axis]; ++step) {
          int64_t i = reverse ? shape[axis] - 1 - step : step;
          expected = composeOnce(expected,
                                 {slope[position(axis, row, i)], offset[position(axis, row, i)]});
          ASSERT_EQ(actual[position(axis, row, i)], expected.second)
              << "axis " << axis << " row " << row << " step " << step << " reverse " << reverse;
        }
      }
    }
}

} // namespace
