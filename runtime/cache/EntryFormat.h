//===- EntryFormat.h - One cache entry as bytes -----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the file format of compiled kernels and of tuning tables. An entry is one
// key, one header (JSON, which this layer does not read) and named sections of
// bytes. All numbers are little-endian:
//
//   offset  bytes  what
//        0      8  "TWCACHE\n"
//        8      4  format
//       12      4  number of sections
//       16      8  length of the file
//       24     32  key
//       56      4  length of the header
//       60      4  zero
//       64      h  header
//   64 + h   24 n  per section: name padded with zeros (16), length (8)
//      ...         the sections, one after the other
//   -40         32  SHA-256 of all before it
//    -8          8  "TWEND\r\n\0"
//
// How a reader trusts it: the length and both marks find torn files, the digest
// finds every other damage, the key finds an entry under another entry's name.
// Every length is checked against the file before it is used, so even bytes made
// to match the digest cannot lead outside of it.
//
// Not handled: authenticity. Anyone who can write the file can make a valid one;
// for that reason the store accepts only private directories.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_CACHE_ENTRYFORMAT_H
#define TILEWRIGHT_RUNTIME_CACHE_ENTRYFORMAT_H

#include "runtime/cache/Sha256.h"

#include <vector>

namespace tilewright::cache {

constexpr uint32_t entryFormat = 1;
/// Larger files are no entries of ours.
constexpr uint64_t maxEntryBytes = uint64_t(256) << 20;
constexpr uint32_t maxSections = 64;
constexpr size_t maxSectionName = 15;

struct Section {
  std::string name;
  std::string bytes;
};

struct Entry {
  std::string header;
  std::vector<Section> sections;
};

/// The bytes of a file. Raises std::invalid_argument for what does not fit the
/// format: names that are empty, too long or repeated, too much of anything.
std::string encodeEntry(const Digest &key, const Entry &entry);

/// Reads a file. Empty on success, else what is wrong with it, in a few words.
std::string decodeEntry(std::string_view file, const Digest &key, Entry &entry);

} // namespace tilewright::cache

#endif // TILEWRIGHT_RUNTIME_CACHE_ENTRYFORMAT_H
