//===- CpuTileBuilder.h - Computes tiles at once on the CPU -----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the second evaluator under Semantic. Where the MLIR builder makes an
// operation, this builder performs it: every method returns the finished
// elements. Results follow the GPU bit for bit where the language defines bits:
// f32 NaN results are 0x7fffffff, 8- and 16-bit arithmetic rounds once, shifts
// by too much give 0 or the sign, float to int saturates.
//
// Where it is: CpuShape.cpp (constants, ranges, shape), CpuElementwise.cpp, CpuCast.cpp,
// CpuDot.cpp, CpuMemory.cpp, CpuAtomics.cpp, CpuReduce.cpp, CpuElements.cpp, CpuExtern.cpp,
// CpuPrint.cpp, CpuHints.cpp, CpuBlocks.cpp. Each picks a typed loop once per operation, never per
// element.
//
// Not handled here: Python. What a tile's user sees of the host (standard
// output, source places) comes in through InterpreterHost.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_INTERPRETER_CPUTILEBUILDER_H
#define TILEWRIGHT_RUNTIME_INTERPRETER_CPUTILEBUILDER_H

#include "frontend/semantic/TileBuilder.h"
#include "ir/support/Error.h"
#include "runtime/interpreter/CombineTape.h"
#include "runtime/interpreter/Marks.h"
#include "runtime/interpreter/Memory.h"
#include "runtime/interpreter/ProgramChecks.h"
#include "runtime/interpreter/RaceCheck.h"
#include "runtime/interpreter/WaitWatch.h"

namespace tilewright::interpreter {

using semantic::AtomicOp;
using semantic::BinaryOp;
using semantic::CastOp;
using semantic::CombineFunction;
using semantic::ComparePredicate;
using semantic::HintKind;
using semantic::LoadOptions;
using semantic::MemoryScope;
using semantic::MemorySemantic;
using semantic::Rounding;
using semantic::StoreOptions;
using semantic::UnaryOp;

/// What the builder needs of whoever runs the kernel.
class InterpreterHost : public Places {
public:
  /// Writes a line of kernel output.
  virtual void writeLine(const std::string &line) = 0;
  /// The place in the kernel that is running, for assertion messages.
  virtual SourceFrame currentFrame() = 0;
  /// The running program waits for others: runs those. False where nothing has changed
  /// what it asks for, and nothing will unless it does.
  virtual bool waitForOthers() { return false; }
  /// Another program may run first; before each access to memory.
  virtual void mayInterrupt(bool /*isAtomic*/) {}
};

class CpuTileBuilder : public semantic::TileBuilder {
public:
  explicit CpuTileBuilder(InterpreterHost &host) : host(host) {}

  InterpreterHost &host;
  Checks checks;
  Memory memory{checks};
  RaceCheck races{checks, memory, host};
  ThreadCheck threads{checks, memory, host};
  ProgramPosition program;
  /// What the running program waits for.
  WaitWatch watch;
  /// Grows with every write to memory.
  uint64_t changes = 0;
  /// The program has waited, and nothing has changed.
  bool waitedInVain = false;
  /// Whether programs are interrupted between accesses.
  bool interrupts = false;
  Marker marker{checks, host, program};
  /// Records primitives while a combine function is called, else null.
  CombineTape *tape = nullptr;
  /// Set when a condition was asked of a tile with several elements.
  bool branchedOnTile = false;
  /// To be called when a value becomes known to the host: what the kernel does
  /// next may depend on it.
  void valueWasRead() {
    if (tape)
      tape->invalidate();
  }

  /// Runs `position` from now on.
  void switchTo(const ProgramPosition &position);

  Value constantInt(DType type, uint64_t bits) override;
  Value constantFloat(DType type, double value) override;
  Value constantNull(DType type) override;
  Value programId(int axis) override;
  Value numPrograms(int axis) override;
  Value range(int32_t start, int32_t end) override;
  /// A scalar pointer to element [0, ..., 0] of a registered array.
  Value pointerTo(AllocationId id, DType type);

  Value splat(const Value &scalar, const std::vector<int64_t> &shape) override;
  Value broadcast(const Value &tile, const std::vector<int64_t> &shape) override;
  Value expandDims(const Value &tile, int axis) override;
  Value reshape(const Value &tile, const std::vector<int64_t> &shape, bool mayReorder) override;
  Value permute(const Value &tile, const std::vector<int> &order) override;
  std::optional<Value> gather(const Value &source, const Value &index, int axis) override;
  Value join(const Value &lhs, const Value &rhs) override;
  std::pair<Value, Value> split(const Value &tile) override;
  Value concatenate(const Value &lhs, const Value &rhs) override;
  Value extractScalar(const Value &tile) override;

  Value unary(UnaryOp op, const Value &operand) override;
  Value binary(BinaryOp op, const Value &lhs, const Value &rhs) override;
  Value compare(ComparePredicate predicate, const Value &lhs, const Value &rhs) override;
  Value select(const Value &condition, const Value &ifTrue, const Value &ifFalse) override;
  Value externCall(const std::string &symbol, const std::vector<Value> &operands,
                   const DType &result) override;
  Value fma(const Value &x, const Value &y, const Value &z) override;
  Value cast(CastOp op, const Value &operand, const DType &to, Rounding rounding) override;
  Value addPointer(const Value &pointer, const Value &offset) override;

  Value dot(const Value &a, const Value &b, const Value &acc, semantic::DotPrecision precision,
            int32_t maxImprecise) override;

  Value load(const Value &pointer, const std::optional<Value> &mask,
             const std::optional<Value> &other, const LoadOptions &options) override;
  void store(const Value &pointer, const Value &value, const std::optional<Value> &mask,
             const StoreOptions &options) override;
  Value atomicRmw(AtomicOp op, const Value &pointer, const Value &value,
                  const std::optional<Value> &mask, MemorySemantic semantic,
                  MemoryScope scope) override;
  Value atomicPoll(const Value &pointer, const Value &expected, const std::optional<Value> &timeout,
                   MemorySemantic semantic, MemoryScope scope) override;
  Value atomicCas(const Value &pointer, const Value &compare, const Value &value,
                  MemorySemantic semantic, MemoryScope scope) override;

  std::vector<Value> reduce(const std::vector<Value> &inputs, int axis,
                            const CombineFunction &function) override;
  std::vector<Value> scan(const std::vector<Value> &inputs, int axis, bool reverse,
                          const CombineFunction &function) override;

  std::vector<Value> mapElements(const std::vector<Value> &inputs, int pack,
                                 const semantic::MapFunction &function) override;
  std::vector<Value> inlineAsm(const semantic::InlineAsm &code, const std::vector<Value> &inputs,
                               const std::vector<DType> &results,
                               const std::vector<int64_t> &shape) override;

  Value hint(HintKind kind, const Value &value, const std::vector<int64_t> &numbers) override;
  void assume(const Value &condition) override;
  void barrier() override;
  void print(const std::string &prefix, const std::vector<Value> &values, bool hex) override;
  void deviceAssert(const Value &condition, const std::string &message,
                    const std::optional<Value> &mask) override;

  /// Checks the array of a descriptor; there are no tensor maps here.
  std::optional<Value> makeDescriptor(const Value &base, const std::vector<Value> &shape,
                                      const std::vector<Value> &strides,
                                      const std::vector<int64_t> &block, bool padsWithNan) override;
  /// A block of a descriptor, `access` being "load", "store" or an atomic's name.
  void checkCoordinates(const std::string &access, int itemSize,
                        const std::vector<int64_t> &offsets);
  /// A block of a block pointer whose `checkedDims` are masked.
  void checkBlock(const std::string &access, const std::vector<int64_t> &offsets,
                  const std::vector<int64_t> &extents, const std::vector<int64_t> &block,
                  const std::vector<int64_t> &checkedDims);

private:
  void beforeAccess(bool isAtomic) {
    if (interrupts && !tape)
      host.mayInterrupt(isAtomic);
  }
  /// An access found what memory holds, and changed nothing: the program may wait.
  void asked(const Access &access, bool isPlain);
  void noteAtomic(const Access &access, bool wrote, MemorySemantic semantic, MemoryScope scope);
  void reportBlock(const std::string &message, const char *help);
  void failAssertion(const std::string &message, const Value &condition, int64_t lane);
  /// `result`, after a recording tape has heard of it.
  template <typename Op>
  Value noted(CombineTape::Primitive primitive, Op op,
              std::initializer_list<const Value *> operands, Value result,
              Rounding rounding = Rounding::NearestEven) {
    if (tape)
      tape->note(primitive, static_cast<int>(op), operands, result, rounding);
    return result;
  }
};

/// result[i] = lhs[i] op rhs[i] on elements of `kind`; `op` must fit the kind.
void computeBinary(BinaryOp op, ScalarKind kind, const void *lhs, const void *rhs, void *result,
                   int64_t count);

/// The elements as text, as print shows them: "3", "[1.5, 2.0]", with the
/// middle of long axes left out.
std::string formatTile(const Value &value, bool hex);

} // namespace tilewright::interpreter

#endif // TILEWRIGHT_RUNTIME_INTERPRETER_CPUTILEBUILDER_H
