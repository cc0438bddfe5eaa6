//===- KeyTable.h - Specialisation keys and their table ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a key is a short run of words that says all that a kernel was compiled
// for; the table maps it to the entry that launches. A warm launch builds the key
// on the stack and probes once: no allocation, no string, no Python object.
//
// How: word 0 is the header (device, flags), then one code byte per parameter,
// then the words of constexpr values and options in parameter order. Two calls
// with equal words run the same machine code.
//
// Not handled: removal of single entries; a kernel's specialisations are kept
// until its table is cleared. The caller serialises access (it holds the GIL).
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_LAUNCH_KEYTABLE_H
#define TILEWRIGHT_RUNTIME_LAUNCH_KEYTABLE_H

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace tilewright::launch {

/// A key under construction. Keys of up to kInlineWords live on the stack.
class KeyBuilder {
public:
  static constexpr size_t kInlineWords = 96;

  /// `numParams` codes; room for `maxWords` value words, more can be added.
  KeyBuilder(size_t numParams, size_t maxWords) : used(1 + (numParams + 7) / 8) {
    if (used + maxWords > capacity)
      grow(used + maxWords, /*keep=*/0);
    std::memset(words, 0, used * sizeof(uint64_t));
  }
  KeyBuilder(const KeyBuilder &) = delete;

  uint8_t *codes() { return reinterpret_cast<uint8_t *>(words + 1); }
  void setHeader(uint64_t header) { words[0] = header; }
  void addWord(uint64_t word) {
    if (used == capacity)
      grow(2 * capacity, used);
    words[used++] = word;
  }
  /// A word whose value is only known after those that follow: setWord gives it.
  size_t reserveWord() {
    addWord(0);
    return used - 1;
  }
  void setWord(size_t position, uint64_t word) { words[position] = word; }

  const uint64_t *data() const { return words; }
  size_t size() const { return used; }

  /// Mixes all words; a multiply and a shift per word spread every bit upward,
  /// the final fold brings the high half down to the bits that index the table.
  uint64_t hash() const {
    uint64_t h = used;
    for (size_t i = 0; i < used; ++i) {
      h = (h ^ words[i]) * 0x9e3779b97f4a7c15ull;
      h ^= h >> 32;
    }
    return h;
  }

private:
  void grow(size_t newCapacity, size_t keep) {
    std::unique_ptr<uint64_t[]> larger(new uint64_t[newCapacity]);
    std::memcpy(larger.get(), words, keep * sizeof(uint64_t));
    heap = std::move(larger);
    words = heap.get();
    capacity = newCapacity;
  }

  uint64_t inlineWords[kInlineWords];
  size_t capacity = kInlineWords;
  std::unique_ptr<uint64_t[]> heap;
  uint64_t *words = inlineWords;
  size_t used;
};

/// Open addressing with linear probing; at most half full. Entries are shared: a
/// launch keeps the one it found, because what it calls may clear the table.
template <typename Entry> class KeyTable {
public:
  std::shared_ptr<Entry> find(const KeyBuilder &key, uint64_t hash) const {
    if (slots.empty())
      return nullptr;
    size_t mask = slots.size() - 1;
    for (size_t i = hash & mask; slots[i].entry; i = (i + 1) & mask) {
      const Slot &slot = slots[i];
      if (slot.hash == hash && slot.words.size() == key.size() &&
          std::memcmp(slot.words.data(), key.data(), key.size() * sizeof(uint64_t)) == 0)
        return slot.entry;
    }
    return nullptr;
  }

  void insert(const KeyBuilder &key, uint64_t hash, std::shared_ptr<Entry> entry) {
    if ((count + 1) * 2 > slots.size())
      grow();
    Slot slot;
    slot.hash = hash;
    slot.words.assign(key.data(), key.data() + key.size());
    slot.entry = std::move(entry);
    ++count;
    place(std::move(slot));
  }

  /// The table is empty before the first entry dies: destructors may come back.
  void clear() {
    std::vector<Slot> old;
    old.swap(slots);
    count = 0;
  }
  size_t size() const { return count; }

  template <typename Function> void forEach(Function function) const {
    for (const Slot &slot : slots)
      if (slot.entry)
        function(*slot.entry);
  }

private:
  struct Slot {
    uint64_t hash = 0;
    std::vector<uint64_t> words;
    std::shared_ptr<Entry> entry;
  };

  void place(Slot slot) {
    size_t mask = slots.size() - 1;
    size_t i = slot.hash & mask;
    while (slots[i].entry)
      i = (i + 1) & mask;
    slots[i] = std::move(slot);
  }

  void grow() {
    std::vector<Slot> old = std::move(slots);
    slots = std::vector<Slot>(old.empty() ? 8 : old.size() * 2);
    for (Slot &slot : old)
      if (slot.entry)
        place(std::move(slot));
  }

  std::vector<Slot> slots;
  size_t count = 0;
};

} // namespace tilewright::launch

#endif // TILEWRIGHT_RUNTIME_LAUNCH_KEYTABLE_H
