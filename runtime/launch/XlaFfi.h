//===- XlaFfi.h - XLA's interface for foreign functions ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: own declarations of the few types by which XLA calls a handler, and of the two
// functions that a handler calls back. No header of XLA is needed to build and no
// library is linked: XLA hands its functions over with each call.
//
// The layout is version 0 of XLA's C interface (xla/ffi/api/c_api.h), within which fields are
// only appended. What comes after the fields that are read here is left out.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_LAUNCH_XLAFFI_H
#define TILEWRIGHT_RUNTIME_LAUNCH_XLAFFI_H

#include <cstddef>
#include <cstdint>

namespace tilewright::xla {

struct Error; // XLA's own

enum : int32_t { internalError = 13 };    // XLA_FFI_Error_Code
enum : int32_t { metadataExtension = 1 }; // XLA_FFI_Extension_Type
enum : int32_t { stringAttribute = 4 };   // XLA_FFI_AttrType
enum : int32_t { executeStage = 3 };      // XLA_FFI_ExecutionStage
enum : int32_t { majorVersion = 0 };

struct Extension {
  size_t structSize;
  int32_t type;
  Extension *next;
};

struct Version {
  size_t structSize;
  Extension *extensions;
  int32_t major, minor;
};

/// What XLA asks for when a handler is registered.
struct Metadata {
  size_t structSize;
  Version version;
  uint32_t traits;
};

struct MetadataExtension {
  Extension base;
  Metadata *metadata;
};

struct ErrorCreateArguments {
  size_t structSize;
  Extension *extensions;
  const char *message;
  int32_t code;
};

struct ErrorDestroyArguments {
  size_t structSize;
  Extension *extensions;
  Error *error;
};

struct StreamGetArguments {
  size_t structSize;
  Extension *extensions;
  void *context;
  void *stream; // out
};

struct Api {
  size_t structSize;
  Extension *extensions;
  Version version;
  const void *internal;
  Error *(*createError)(ErrorCreateArguments *);
  void *getErrorMessage;
  void (*destroyError)(ErrorDestroyArguments *);
  void *registerHandler;
  Error *(*getStream)(StreamGetArguments *);
};

/// Only `data` is read: shapes and types are those that Python has declared.
struct Buffer {
  size_t structSize;
  Extension *extensions;
  int32_t type;
  void *data;
};

struct ByteSpan {
  const char *data;
  size_t size;
};

/// Arguments and results alike.
struct Buffers {
  size_t structSize;
  Extension *extensions;
  int64_t size;
  const int32_t *types;
  Buffer *const *buffers;
};

struct Attributes {
  size_t structSize;
  Extension *extensions;
  int64_t size;
  const int32_t *types;
  ByteSpan *const *names;
  void *const *values;
};

struct CallFrame {
  size_t structSize;
  Extension *extensions;
  const Api *api;
  void *context;
  int32_t stage;
  Buffers arguments;
  Buffers results;
  Attributes attributes;
};

} // namespace tilewright::xla

#endif // TILEWRIGHT_RUNTIME_LAUNCH_XLAFFI_H
