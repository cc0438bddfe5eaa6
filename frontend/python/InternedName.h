//===- InternedName.h - Names for look-ups in Python objects ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: constants that are Python objects, made at their first use by whichever thread
// comes first.
//
// Why not function-local statics: a thread that makes one holds the static's guard.
// Making it may call Python, and Python may stop that thread there, to give the
// interpreter lock to another thread or, without such a lock, to collect garbage.
// Threads that wait for the guard cannot be stopped, so both sides would wait for
// ever. Here two threads may make the object, and one of the two objects is used.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_FRONTEND_PYTHON_INTERNEDNAME_H
#define TILEWRIGHT_FRONTEND_PYTHON_INTERNEDNAME_H

#include <pybind11/pybind11.h>

#include <atomic>

namespace tilewright {

/// An interned string; declare it as a static or global constant.
class InternedName {
public:
  constexpr explicit InternedName(const char *text) : text(text) {}
  InternedName(const InternedName &) = delete;

  operator PyObject *() const {
    PyObject *known = object.load(std::memory_order_acquire);
    return known ? known : intern();
  }

private:
  PyObject *intern() const {
    // Equal texts are one object, so it does not matter who stores it.
    PyObject *made = PyUnicode_InternFromString(text);
    object.store(made, std::memory_order_release);
    return made;
  }

  const char *text;
  mutable std::atomic<PyObject *> object{nullptr};
};

/// What `place` holds, or what `make` returns, which is then kept there for good; null
/// results are not kept. Two threads may make it: `drop` gets the one that is not used.
template <typename T, typename Make, typename Drop>
T *madeOnce(std::atomic<T *> &place, Make make, Drop drop) {
  T *known = place.load(std::memory_order_acquire);
  if (known)
    return known;
  T *made = make();
  if (made && !place.compare_exchange_strong(known, made, std::memory_order_acq_rel)) {
    drop(made);
    return known;
  }
  return made;
}

} // namespace tilewright

#endif // TILEWRIGHT_FRONTEND_PYTHON_INTERNEDNAME_H
