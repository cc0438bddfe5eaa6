//===- Sha256.cpp - The digest of keys and entries ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cache/Sha256.h"

// See the header; the functions are marked as old in favour of EVP.
#define OPENSSL_SUPPRESS_DEPRECATED 1
#include <openssl/sha.h>

namespace tilewright::cache {

Digest sha256(std::string_view bytes) {
  Digest digest;
  SHA256_CTX context;
  SHA256_Init(&context);
  SHA256_Update(&context, bytes.data(), bytes.size());
  SHA256_Final(digest.data(), &context);
  return digest;
}

std::string toHex(const Digest &digest) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(64);
  for (uint8_t byte : digest) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

bool fromHex(std::string_view text, Digest &digest) {
  if (text.size() != 64)
    return false;
  auto valueOf = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  for (size_t i = 0; i < 32; ++i) {
    int high = valueOf(text[2 * i]), low = valueOf(text[2 * i + 1]);
    if (high < 0 || low < 0)
      return false;
    digest[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return true;
}

} // namespace tilewright::cache
