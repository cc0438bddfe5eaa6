//===- EntryFormat.cpp - One cache entry as bytes -------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cache/EntryFormat.h"

#include <cstring>
#include <stdexcept>

namespace tilewright::cache {

static constexpr std::string_view magic("TWCACHE\n", 8);
static constexpr std::string_view endMagic("TWEND\r\n\0", 8);
static constexpr size_t fixedBytes = 64, recordBytes = 24, nameBytes = 16;
static constexpr size_t trailerBytes = 32 + 8;

template <typename T> static void appendNumber(std::string &to, T value) {
  for (size_t i = 0; i < sizeof(T); ++i)
    to += static_cast<char>(value >> (8 * i));
}

template <typename T> static T readNumber(std::string_view from, size_t offset) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    value |= T(static_cast<uint8_t>(from[offset + i])) << (8 * i);
  return value;
}

static void checkSections(const Entry &entry) {
  if (entry.sections.size() > maxSections)
    throw std::invalid_argument("too many sections");
  for (size_t i = 0; i < entry.sections.size(); ++i) {
    const std::string &name = entry.sections[i].name;
    if (name.empty() || name.size() > maxSectionName || name.find('\0') != std::string::npos)
      throw std::invalid_argument("a section's name has 1 to 15 bytes");
    for (size_t k = 0; k < i; ++k)
      if (entry.sections[k].name == name)
        throw std::invalid_argument("two sections of one name");
  }
}

std::string encodeEntry(const Digest &key, const Entry &entry) {
  checkSections(entry);
  uint64_t total = fixedBytes + entry.header.size() + trailerBytes;
  for (const Section &section : entry.sections)
    total += recordBytes + section.bytes.size();
  if (total > maxEntryBytes)
    throw std::invalid_argument("the entry is too large");

  std::string file;
  file.reserve(total);
  file += magic;
  appendNumber<uint32_t>(file, entryFormat);
  appendNumber<uint32_t>(file, static_cast<uint32_t>(entry.sections.size()));
  appendNumber<uint64_t>(file, total);
  file.append(reinterpret_cast<const char *>(key.data()), key.size());
  appendNumber<uint32_t>(file, static_cast<uint32_t>(entry.header.size()));
  appendNumber<uint32_t>(file, 0);
  file += entry.header;
  for (const Section &section : entry.sections) {
    std::string name = section.name;
    name.resize(nameBytes, '\0');
    file += name;
    appendNumber<uint64_t>(file, section.bytes.size());
  }
  for (const Section &section : entry.sections)
    file += section.bytes;
  Digest digest = sha256(file);
  file.append(reinterpret_cast<const char *>(digest.data()), digest.size());
  file += endMagic;
  return file;
}

/// Reads the sections after the header; every length is checked first.
static std::string decodeSections(std::string_view file, size_t offset, uint32_t count,
                                  Entry &entry) {
  size_t end = file.size() - trailerBytes;
  if (count > maxSections || size_t(count) * recordBytes > end - offset)
    return "a wrong number of sections";
  size_t data = offset + size_t(count) * recordBytes;
  for (uint32_t i = 0; i < count; ++i, offset += recordBytes) {
    const char *name = file.data() + offset;
    size_t nameLength = strnlen(name, nameBytes);
    if (nameLength == 0 || nameLength > maxSectionName)
      return "a section without a name";
    uint64_t length = readNumber<uint64_t>(file, offset + nameBytes);
    if (length > end - data)
      return "a section longer than the file";
    Section section{std::string(name, nameLength), std::string(file.substr(data, length))};
    for (const Section &other : entry.sections)
      if (other.name == section.name)
        return "two sections of one name";
    entry.sections.push_back(std::move(section));
    data += length;
  }
  return data == end ? "" : "bytes that belong to no section";
}

std::string decodeEntry(std::string_view file, const Digest &key, Entry &entry) {
  entry = {};
  if (file.size() < fixedBytes + trailerBytes)
    return "too short";
  if (file.substr(0, magic.size()) != magic)
    return "not a cache entry";
  if (readNumber<uint32_t>(file, 8) != entryFormat)
    return "another format";
  if (readNumber<uint64_t>(file, 16) != file.size())
    return "a wrong length";
  if (file.substr(file.size() - endMagic.size()) != endMagic)
    return "its end is missing";
  std::string_view body = file.substr(0, file.size() - trailerBytes);
  Digest digest = sha256(body);
  if (std::memcmp(digest.data(), file.data() + body.size(), digest.size()) != 0)
    return "a wrong digest";
  if (std::memcmp(key.data(), file.data() + 24, key.size()) != 0)
    return "the entry of another key";
  uint32_t headerLength = readNumber<uint32_t>(file, 56);
  if (headerLength > body.size() - fixedBytes)
    return "a header longer than the file";
  entry.header = std::string(file.substr(fixedBytes, headerLength));
  std::string problem =
      decodeSections(file, fixedBytes + headerLength, readNumber<uint32_t>(file, 12), entry);
  if (!problem.empty())
    entry = {};
  return problem;
}

} // namespace tilewright::cache
