//===- BuildIdentity.cpp - Which build of the compiler this is ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How: the linker's build id, read from the notes of this very library, tells two builds
// apart whatever their versions say. It is part of the keys of compiled kernels.
//
//===----------------------------------------------------------------------===//

#include "python/bindings/Bindings.h"

#include <cstring>
#include <link.h>
#include <string>

/// Where the linker has put the start of this library. The name is the linker's.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

namespace tilewright {

/// The linker's GNU build-id in a segment of notes, or nothing.
static std::string findBuildId(const char *at, const char *end) {
  while (at + sizeof(ElfW(Nhdr)) <= end) {
    const auto *note = reinterpret_cast<const ElfW(Nhdr) *>(at);
    const char *name = at + sizeof(*note);
    const char *bytes = name + (note->n_namesz + 3) / 4 * 4;
    std::string id;
    if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0)
      for (size_t k = 0; k < note->n_descsz; ++k)
        for (int shift : {4, 0})
          id += "0123456789abcdef"[static_cast<unsigned char>(bytes[k]) >> shift & 15];
    if (!id.empty())
      return id;
    at = bytes + (note->n_descsz + 3) / 4 * 4;
  }
  return "";
}

std::string buildId() {
  static const std::string id = [] {
    // The linker says where this library starts; to ask the loader would mean to
    // walk through all the libraries of a framework.
    const char *start = reinterpret_cast<const char *>(&__ehdr_start);
    const auto *segments = reinterpret_cast<const ElfW(Phdr) *>(start + __ehdr_start.e_phoff);
    std::string found;
    for (int i = 0; i < __ehdr_start.e_phnum && found.empty(); ++i)
      if (segments[i].p_type == PT_NOTE)
        found = findBuildId(start + segments[i].p_vaddr,
                            start + segments[i].p_vaddr + segments[i].p_memsz);
    return found.empty() ? std::string("unknown") : found;
  }();
  return id;
}

} // namespace tilewright
