//===- FunctionWalker.h - One instance of a function ------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: visits the body of one jit function for one set of arguments. Values are
// Python objects: tensors (run time) or anything else (compile time).
//
// How it is split: ExpressionVisitor.cpp, Operators.cpp, CallVisitor.cpp and
// Builtins.cpp give values; StatementVisitor.cpp assigns them;
// ControlFlow.cpp (if), Loops.cpp (while) and RangeLoops.cpp (for) make regions;
// Names.cpp finds names; Location.cpp knows the place.
//
// How a return in one branch of a run-time `if` works: the statements after the
// `if`, to the end of the function, are visited inside each branch that falls
// through. So after such an `if` the function is over, every path ends in one
// value, and no flags are needed. The rest is a linked list of statement lists.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_FRONTEND_AST_FUNCTIONWALKER_H
#define TILEWRIGHT_FRONTEND_AST_FUNCTIONWALKER_H

#include "frontend/ast/Scope.h"
#include "frontend/ast/Walker.h"
#include "frontend/python/AstNodes.h"
#include "frontend/python/ValueTree.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <map>
#include <set>

namespace tilewright {

class FunctionWalker {
public:
  FunctionWalker(Walker &walker, pybind11::handle function, const pybind11::dict &arguments);

  /// Visits the body; the value of the function. Errors leave with this
  /// function's frame added.
  pybind11::object run();

  mlir::Location location();
  const std::string &functionName() const { return name; }
  pybind11::handle functionObject() const { return function; }
  const pybind11::dict &boundArguments() const { return arguments; }

private:
  using Object = pybind11::object;
  using Handle = pybind11::handle;

  enum class Flow { Next, Returned };
  struct UnrolledLoop {
    Object counter, body;
    pybind11::list indices;
  };
  /// What is left of the enclosing lists when a branch falls through: statements from
  /// `index` on, or iterations of an unrolled loop.
  struct Rest {
    Handle statements;
    size_t index;
    const Rest *next;
    const UnrolledLoop *loop = nullptr;
  };
  /// Thrown by a `return` inside a run-time `if` that was first visited as if it
  /// had none; the `if` is then visited again.
  struct ReturnReached {};

  //===--- StatementVisitor.cpp -------------------------------------------===//
  Flow visitStatements(Handle statements, size_t index, const Rest *rest);
  Flow visitStatement(Handle statement, const Rest &rest);
  Flow visitReturn(Handle statement);
  void visitAssign(Handle statement);
  void visitAnnAssign(Handle statement);
  void visitAugAssign(Handle statement);
  void visitAssert(Handle statement);
  void visitImport(Handle statement);
  void assignTarget(Handle target, Handle value);
  void assignName(Handle id, Handle value);
  Object keepConstant(Handle id, Handle value, Handle valueNode);
  Object toAssigned(Handle target, Handle value, Handle valueNode);
  /// A number as a run-time scalar, also inside tuples.
  Object toRunTime(Handle value);

  //===--- ControlFlow.cpp ------------------------------------------------===//
  Flow visitIf(Handle statement, const Rest &rest);
  void visitMergingIf(Handle statement, const semantic::Value &condition);
  void visitReturningIf(Handle statement, const semantic::Value &condition, const Rest &rest);
  void finishRest(const Rest *rest);
  Object visitIfExp(Handle node);
  /// The truth of a compile-time condition, or nothing and `condition` set.
  std::optional<bool> staticCondition(Handle value, const char *construct,
                                      semantic::Value &condition);
  semantic::Value scalarCondition(const semantic::Value &value, const char *construct);

  struct Merge {
    Object name;
    ValueTree tree;
  };
  struct Branch {
    mlir::Block *block;
    Scope scope;
    Object value; // of a returning branch or a conditional expression
    std::vector<semantic::Operand> leaves;
  };
  mlir::scf::IfOp startIf(const semantic::Value &condition);
  /// Ends both branches with their leaves; the results, in order.
  std::vector<semantic::Value> finishIf(mlir::scf::IfOp op, Branch &first, Branch &second);
  std::vector<Merge> mergeNames(Handle statement, const Scope &before, Branch &first,
                                Branch &second);
  bool mergeName(Merge &merge, Handle left, Handle right, Branch &first, Branch &second);
  Object mergeReturned(mlir::scf::IfOp op, Branch &first, Branch &second);
  Object mergeValue(mlir::scf::IfOp op, Branch &first, Branch &second, const std::string &problem);
  /// What a branch gives that runs to the end of the function without a return.
  static Object nothingReturned();

  //===--- Loops.cpp ------------------------------------------------------===//
  void visitWhile(Handle statement);
  semantic::Value visitWhileTest(Handle test);
  /// A name that a loop carries: its value before the loop, also taken apart.
  struct Carried {
    Object name;
    ValueTree tree;
    Object before;
  };
  /// Numbers that a loop body turned out to change, by name.
  using Promotions = std::map<std::string, std::set<size_t>>;
  /// What a loop under construction knows of the names that its body assigns.
  struct LoopNames {
    std::vector<Object> assigned;
    Scope before;
    Object counter; // of a `for`, else null; its loop sets it anew each time
    Promotions promotions = {};
    // Made by each attempt at the loop.
    std::vector<Carried> carried = {};
    std::vector<semantic::Value> initial = {}; // the leaves of `carried` before the loop
  };
  void startAttempt(LoopNames &names);
  bool mustRepeat(LoopNames &names, mlir::Operation *loop);
  void finishLoop(const LoopNames &names, mlir::Operation *loop);
  std::vector<Carried> carriedNames(LoopNames &names);
  static llvm::SmallVector<mlir::Value> unwrapAll(llvm::ArrayRef<semantic::Value> values);
  void bindCarried(const LoopNames &names, mlir::ValueRange leaves);
  llvm::SmallVector<mlir::Value> collectCarried(const std::vector<Carried> &carried);
  bool promoteChanged(LoopNames &names);
  bool hideLostNames(Scope &before);
  void leaveLoop(const Scope &inner);

  //===--- RangeLoops.cpp -------------------------------------------------===//
  Flow visitFor(Handle statement, const Rest &rest);
  struct RangeLoop;
  struct Bounds;
  RangeLoop readRange(Handle call, const pybind11::tuple &args, const pybind11::dict &kwargs,
                      bool isLanguageRange);
  semantic::Operand readBound(Handle object);
  void readStep(RangeLoop &range);
  void readHints(RangeLoop &range, const std::vector<Object> &bound, Handle call);
  void runRangeLoop(Handle statement, RangeLoop &range);
  Bounds makeBounds(RangeLoop &range);
  mlir::scf::ForOp startFor(const RangeLoop &range, const Bounds &bounds,
                            const std::vector<semantic::Value> &initial);
  semantic::Value counterInside(const Bounds &bounds, mlir::Value index);
  std::optional<semantic::Value> counterBefore(Handle name, const Bounds &bounds,
                                               std::string &reason);
  semantic::Value counterAfter(const Bounds &bounds, const semantic::Value &old);
  bool isReadOutsideItsLoops(Handle id);

  //===--- Unrolling.cpp --------------------------------------------------===//
  Flow unrollRange(Handle statement, const pybind11::tuple &args, const pybind11::dict &kwargs,
                   const Rest &rest);
  Flow visitIterations(const UnrolledLoop &loop, size_t first, const Rest *rest);

  //===--- ExpressionVisitor.cpp ------------------------------------------===//
  Object visitExpression(Handle node);
  Object visitRaw(Handle node, NodeKind kind);
  Object visitBoolOp(Handle node);
  Object visitSubscript(Handle node);
  Object visitAttribute(Handle node, bool keepWrapper);
  Object visitJoinedStr(Handle node);
  Object visitSlice(Handle node);
  Object visitListComp(Handle node);
  pybind11::list visitElements(Handle elements);
  /// As visitExpression, but `constexpr(f)` stays wrapped.
  Object visitCallee(Handle node);

  //===--- Operators.cpp --------------------------------------------------===//
  Object visitBinOp(Handle node);
  Object binaryOperator(NodeKind op, Handle lhs, Handle rhs);
  Object visitUnaryOp(Handle node);
  Object visitCompare(Handle node);

  //===--- CallVisitor.cpp, Builtins.cpp ----------------------------------===//
  Object visitCall(Handle node);
  void visitCallStatement(Handle node);
  Object call(Handle callee, const pybind11::tuple &args, const pybind11::dict &kwargs,
              Handle node);
  Object callPython(Handle callee, const pybind11::tuple &args, const pybind11::dict &kwargs);
  Object callStatic(Handle callee, const pybind11::tuple &args, const pybind11::dict &kwargs,
                    Handle node);
  bool isReachedThroughModule(Handle calleeNode);
  pybind11::tuple visitArguments(Handle node, pybind11::dict &kwargs);
  std::optional<Object> look(Handle callee, Handle node);
  Object callBuiltin(Handle callee, const pybind11::tuple &args, const pybind11::dict &kwargs,
                     Handle node);
  Object addElements(const pybind11::tuple &args);
  Object foldExtremum(bool isMinimum, const pybind11::tuple &args);
  void devicePrint(const pybind11::tuple &args);
  bool isInstance(Handle object, Handle classes);

  //===--- Names.cpp ------------------------------------------------------===//
  Object lookup(Handle id);
  Object lookupGlobal(Handle id);
  bool isAllowedGlobal(Handle id, Handle value);
  [[noreturn]] void reportUndefined(Handle id);

  //===--- Location.cpp ---------------------------------------------------===//
  SourceFrame sourceFrame() const;
  void addFrameTo(Error &error) const;
  /// Raises E0102 with the texts of tilewright.frontend_rules.
  [[noreturn]] void refuse(const std::string &key);
  [[noreturn]] void refuseNode(Handle node);
  /// Raises E0112 with the text of the expression where a value is run time.
  void requireStatic(Handle value, Handle node);

  semantic::Semantic &semantic() { return walker.semantic(); }
  mlir::OpBuilder &opBuilder() { return walker.opBuilder(); }

  Walker &walker;
  const AstNodes &nodes;
  const NodeFields &f;
  Object function;
  pybind11::dict arguments;
  std::string name, file;
  Scope scope;
  /// The innermost node under visit; after a throw, the one that raised.
  Handle currentNode;
  Object returnValue;
  int loopDepth = 0;
  /// Above zero inside a run-time `if` that is visited as if it had no return.
  int mergingDepth = 0;
  /// How often the rest at a place was made (finishRest): list, index, and iterations
  /// of the unrolled loops around it.
  std::map<std::vector<size_t>, int> repetitions;
  /// Run-time ifs, one in another, that the rest of the function was put into.
  int restDepth = 0;
  /// Counters of loops by whether they are read where no loop counts with them.
  std::map<std::string, bool> countersRead;

  // Location.cpp: attributes made once, the location of the last node.
  mlir::StringAttr fileAttribute, nameAttribute;
  std::optional<mlir::Location> callerLocation;
  std::optional<mlir::Location> cachedLocation;
  Handle cachedNode;
};

} // namespace tilewright

#endif // TILEWRIGHT_FRONTEND_AST_FUNCTIONWALKER_H
