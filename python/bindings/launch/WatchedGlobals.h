//===- WatchedGlobals.h - Globals that compiled code has frozen -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: for each global, or closure cell, whose value is part of a kernel's machine code,
// the object that was there. A launch compares by identity and asks Python only where
// another object is found.
//
// How threads share it: the list only grows at its head, so launches walk it without a
// lock. Entries that a launch may still look at live until reclaim().
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_WATCHEDGLOBALS_H
#define TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_WATCHEDGLOBALS_H

#include <pybind11/pybind11.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace tilewright {

class WatchedGlobals {
public:
  WatchedGlobals() = default;
  WatchedGlobals(const WatchedGlobals &) = delete;
  ~WatchedGlobals() { reclaim(); }

  /// `owner` is the dict of a module, or a closure cell.
  void add(PyObject *owner, PyObject *name, PyObject *value);
  /// Calls `kernel._global_changed(name, before, now)`, which may raise, for each that
  /// holds another object now.
  void check(PyObject *kernel) {
    for (Node *node = head.load(std::memory_order_acquire); node; node = node->next)
      if (!isSame(*node))
        reportChange(*node, kernel);
  }
  /// Nothing is watched any more.
  void clear();
  /// Clears, and frees what it ever held; only where no thread can be looking.
  void reclaim();
  int traverse(visitproc visit, void *arg) const;

private:
  struct Node {
    PyObject *owner, *name;
    std::atomic<PyObject *> value;
    Node *next;
  };
  static bool isSame(const Node &node);
  void reportChange(Node &node, PyObject *kernel);

  /// Objects that equal what they replace are watched in its place, which makes the next
  /// comparison cheap; so many, as the replaced ones stay.
  static constexpr size_t maxReplaced = 256;

  std::atomic<Node *> head{nullptr};
  mutable std::mutex mutex; // for what follows, and for changes of `head`
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<PyObject *> replaced;
};

} // namespace tilewright

#endif // TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_WATCHEDGLOBALS_H
