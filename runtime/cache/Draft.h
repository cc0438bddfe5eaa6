//===- Draft.h - Files on their way to their names --------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a file that is written under a temporary name and then renamed, so that it
// appears whole or not at all, on local and on network disks. Its writer holds a lock
// on it, which tells those who clean up that the writer lives.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_CACHE_DRAFT_H
#define TILEWRIGHT_RUNTIME_CACHE_DRAFT_H

#include "runtime/cache/PrivateDirectory.h"

namespace tilewright::cache {

struct Draft {
  FileHandle file;
  std::string name;
};

/// "tmp-{host}-": the host's files are told from those of others, whose locks a network disk may
/// not show. All processes and containers of a host have the same until it starts anew.
const std::string &temporaryPrefix();

/// Whether this is the name of a draft, of any host.
bool isDraftName(const std::string &name);

/// Makes a file of the size that it will have; 0 or an errno.
int makeDraft(const FileHandle &directory, uint64_t bytes, Draft &draft);

/// Fills a draft and renames it; 0 or an errno. Leaves nothing on errors.
int finishDraft(const FileHandle &directory, Draft &draft, const std::string &name,
                const std::string &bytes);

/// Whether the writer of this draft is gone.
bool isAbandoned(const FileHandle &directory, const std::string &name, const struct stat &status);

} // namespace tilewright::cache

#endif // TILEWRIGHT_RUNTIME_CACHE_DRAFT_H
