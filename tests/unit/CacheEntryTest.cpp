//===- CacheEntryTest.cpp - Digests and the file format of entries --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cache/EntryFormat.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <stdexcept>

using namespace tilewright::cache;

namespace {

Digest keyOf(const std::string &text) { return sha256(text); }

Entry makeEntry() {
  return {"{\"kernel\": \"k\"}",
          {{"cubin", std::string("\x7f"
                                 "ELF\0\1\2",
                                 7)},
           {"ptx", "// text"}}};
}

/// The file with its digest made to match again: damage that only the checks of
/// the lengths can find.
std::string resealed(std::string file) {
  Digest digest = sha256(std::string_view(file).substr(0, file.size() - 40));
  std::memcpy(&file[file.size() - 40], digest.data(), digest.size());
  return file;
}

void writeNumber(std::string &file, size_t offset, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i)
    file[offset + i] = static_cast<char>(value >> (8 * i));
}

TEST(Sha256, VectorsOfTheStandard) {
  EXPECT_EQ(toHex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(toHex(sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(toHex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(toHex(sha256(std::string(1000000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, LengthsAroundTheBlock) {
  // Digests of n zero bytes differ for every n, also where the padding moves on.
  std::vector<std::string> seen;
  for (size_t n = 50; n < 140; ++n)
    seen.push_back(toHex(sha256(std::string(n, '\0'))));
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
}

TEST(Sha256, HexadecimalText) {
  Digest digest = sha256("x"), back;
  EXPECT_TRUE(fromHex(toHex(digest), back));
  EXPECT_EQ(digest, back);
  EXPECT_FALSE(fromHex("", back));
  EXPECT_FALSE(fromHex(std::string(64, 'A'), back)) << "one spelling per key";
  EXPECT_FALSE(fromHex(std::string(63, 'a') + "/", back));
}

TEST(CacheEntry, RoundTrip) {
  Entry back;
  EXPECT_EQ(decodeEntry(encodeEntry(keyOf("k"), makeEntry()), keyOf("k"), back), "");
  EXPECT_EQ(back.header, makeEntry().header);
  ASSERT_EQ(back.sections.size(), 2u);
  EXPECT_EQ(back.sections[0].bytes, makeEntry().sections[0].bytes);
  EXPECT_EQ(back.sections[1].name, "ptx");
}

TEST(CacheEntry, EmptyParts) {
  Entry back;
  EXPECT_EQ(decodeEntry(encodeEntry(keyOf("k"), {}), keyOf("k"), back), "");
  EXPECT_EQ(decodeEntry(encodeEntry(keyOf("k"), {"", {{"a", ""}}}), keyOf("k"), back), "");
  ASSERT_EQ(back.sections.size(), 1u);
}

TEST(CacheEntry, EveryTruncationIsFound) {
  std::string file = encodeEntry(keyOf("k"), makeEntry());
  Entry back;
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_NE(decodeEntry(file.substr(0, size), keyOf("k"), back), "") << size;
  EXPECT_NE(decodeEntry(file + "x", keyOf("k"), back), "");
}

TEST(CacheEntry, EveryFlippedBitIsFound) {
  std::string file = encodeEntry(keyOf("k"), makeEntry());
  Entry back;
  for (size_t bit = 0; bit < file.size() * 8; ++bit) {
    std::string damaged = file;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE(decodeEntry(damaged, keyOf("k"), back), "") << bit;
  }
}

TEST(CacheEntry, AnotherKeyAndFormat) {
  std::string file = encodeEntry(keyOf("k"), makeEntry());
  Entry back;
  EXPECT_EQ(decodeEntry(file, keyOf("other"), back), "the entry of another key");
  writeNumber(file, 8, 2, 4);
  EXPECT_EQ(decodeEntry(resealed(file), keyOf("k"), back), "another format");
}

TEST(CacheEntry, LengthsThatLeadOutside) {
  std::string file = encodeEntry(keyOf("k"), makeEntry());
  size_t record = 64 + makeEntry().header.size();
  Entry back;
  for (uint64_t length : {uint64_t(0), uint64_t(6), uint64_t(8), uint64_t(1) << 31,
                          uint64_t(1) << 63, ~uint64_t(0)}) {
    std::string damaged = file;
    writeNumber(damaged, record + 16, length, 8);
    EXPECT_NE(decodeEntry(resealed(damaged), keyOf("k"), back), "") << length;
    damaged = file;
    writeNumber(damaged, 56, length, 4); // of the header
    EXPECT_NE(decodeEntry(resealed(damaged), keyOf("k"), back), "") << length;
    damaged = file;
    writeNumber(damaged, 12, length, 4); // of the table
    EXPECT_NE(decodeEntry(resealed(damaged), keyOf("k"), back), "") << length;
  }
}

TEST(CacheEntry, NamesOfSections) {
  EXPECT_THROW(encodeEntry(keyOf("k"), {"", {{"", "x"}}}), std::invalid_argument);
  EXPECT_THROW(encodeEntry(keyOf("k"), {"", {{std::string(16, 'n'), "x"}}}), std::invalid_argument);
  EXPECT_THROW(encodeEntry(keyOf("k"), {"", {{"a", "x"}, {"a", "y"}}}), std::invalid_argument);
  // Two records of one name in a file whose digest is right.
  std::string file = encodeEntry(keyOf("k"), {"", {{"a", "x"}, {"b", "y"}}});
  file[64 + 24] = 'a';
  Entry back;
  EXPECT_EQ(decodeEntry(resealed(file), keyOf("k"), back), "two sections of one name");
}

TEST(CacheEntry, RandomBytesNeverDecode) {
  std::mt19937_64 random(7);
  Entry back;
  for (int round = 0; round < 2000; ++round) {
    std::string file(random() % 300, '\0');
    for (char &byte : file)
      byte = static_cast<char>(random());
    if (file.size() > 8 && round % 2)
      std::memcpy(&file[0], "TWCACHE\n", 8);
    EXPECT_NE(decodeEntry(file, keyOf("k"), back), "");
  }
}

} // namespace
