//===- Sha256.h - The digest of keys and entries ----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: SHA-256 (FIPS 180-4), so that an entry on disk says whether it is whole.
//
// How: OpenSSL's implementation, linked statically. Its low-level functions are
// five objects of 30 KB in all. EVP, which is meant for new code, would bring the
// whole library with its providers and the reading of its configuration into the
// process. The assembly in these objects matters: a launch from the cache waits
// for the digest of the entry.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_CACHE_SHA256_H
#define TILEWRIGHT_RUNTIME_CACHE_SHA256_H

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright::cache {

using Digest = std::array<uint8_t, 32>;

Digest sha256(std::string_view bytes);

/// 64 lower-case hexadecimal digits.
std::string toHex(const Digest &digest);

/// The digest that `text` spells; false unless it is exactly 64 lower-case digits.
bool fromHex(std::string_view text, Digest &digest);

} // namespace tilewright::cache

#endif // TILEWRIGHT_RUNTIME_CACHE_SHA256_H
