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
// until its table is cleared.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_LAUNCH_KEYTABLE_H
#define TILEWRIGHT_RUNTIME_LAUNCH_KEYTABLE_H

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace tilewright::launch {

/// A key under construction. Keys of up to maxInlineWords live on the stack.
class KeyBuilder {
public:
  static constexpr size_t maxInlineWords = 96;

  /// `numParams` codes; room for `maxWords` value words, more can be added.
  KeyBuilder(size_t numParams, size_t maxWords) : used(1 + (numParams + 7) / 8) {
    if (used + maxWords > capacity)
      grow(used + maxWords, /*keep=*/0);
    std::memset(words, 0, used * sizeof(uint64_t));
  }
  KeyBuilder(const KeyBuilder &) = delete;

  uint8_t *codes() { return reinterpret_cast<uint8_t *>(words + 1); }
  const uint8_t *codes() const { return reinterpret_cast<const uint8_t *>(words + 1); }
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

  uint64_t inlineWords[maxInlineWords];
  size_t capacity = maxInlineWords;
  std::unique_ptr<uint64_t[]> heap;
  uint64_t *words = inlineWords;
  size_t used;
};

/// Open addressing with linear probing; at most half full. Any number of threads may
/// look up without a lock while one inserts or clears; those the caller serialises.
///
/// How: an array of slots is only ever filled; a larger one takes its place when it is
/// half full. Whatever a thread may still look at stays until reclaim(): the arrays that
/// were replaced, which are together no larger than the one in use, and the entries of a
/// table that was cleared. So a launch needs no share of the entry it found.
template <typename Entry> class KeyTable {
public:
  KeyTable() = default;
  KeyTable(const KeyTable &) = delete;

  Entry *find(const KeyBuilder &key, uint64_t hash) const {
    const Array *array = current.load(std::memory_order_acquire);
    if (!array)
      return nullptr;
    for (size_t i = hash & array->mask;; i = (i + 1) & array->mask) {
      const Slot *slot = array->slots[i].load(std::memory_order_acquire);
      if (!slot)
        return nullptr;
      if (slot->hash == hash && slot->words.size() == key.size() &&
          std::memcmp(slot->words.data(), key.data(), key.size() * sizeof(uint64_t)) == 0)
        return slot->entry.get();
    }
  }

  Entry *insert(const KeyBuilder &key, uint64_t hash, std::unique_ptr<Entry> entry) {
    Array *array = current.load(std::memory_order_relaxed);
    if (!array || (live.size() + 1) * 2 > array->mask + 1)
      array = grow(array ? 2 * (array->mask + 1) : 8);
    auto slot = std::make_unique<Slot>();
    slot->hash = hash;
    slot->words.assign(key.data(), key.data() + key.size());
    slot->entry = std::move(entry);
    array->place(slot.get());
    live.push_back(std::move(slot));
    count.store(live.size(), std::memory_order_relaxed);
    return live.back()->entry.get();
  }

  /// Nothing is found any more; what others may have found lives on.
  void clear() {
    current.store(nullptr, std::memory_order_release);
    for (std::unique_ptr<Slot> &slot : live)
      retired.push_back(std::move(slot));
    live.clear();
    count.store(0, std::memory_order_relaxed);
  }

  /// Clears and frees all; only where no thread can be looking. The table is empty
  /// before the first entry dies: destructors may come back.
  void reclaim() {
    clear();
    std::vector<std::unique_ptr<Slot>> oldSlots;
    std::vector<std::unique_ptr<Array>> oldArrays;
    oldSlots.swap(retired);
    oldArrays.swap(arrays);
  }

  size_t size() const { return count.load(std::memory_order_relaxed); }

  /// Visits the entries, those of a cleared table too, which it still owns.
  template <typename Function> void forEach(Function function) const {
    for (const auto *list : {&live, &retired})
      for (const std::unique_ptr<Slot> &slot : *list)
        function(*slot->entry);
  }

private:
  struct Slot {
    uint64_t hash = 0;
    std::vector<uint64_t> words;
    std::unique_ptr<Entry> entry;
  };

  struct Array {
    explicit Array(size_t size) : mask(size - 1), slots(new std::atomic<Slot *>[size]) {
      for (size_t i = 0; i < size; ++i)
        slots[i].store(nullptr, std::memory_order_relaxed);
    }
    void place(Slot *slot) {
      size_t i = slot->hash & mask;
      while (slots[i].load(std::memory_order_relaxed))
        i = (i + 1) & mask;
      slots[i].store(slot, std::memory_order_release);
    }

    const size_t mask;
    std::unique_ptr<std::atomic<Slot *>[]> slots;
  };

  Array *grow(size_t size) {
    arrays.push_back(std::make_unique<Array>(size));
    Array *larger = arrays.back().get();
    for (const std::unique_ptr<Slot> &slot : live)
      larger->place(slot.get());
    current.store(larger, std::memory_order_release);
    return larger;
  }

  std::atomic<Array *> current{nullptr};
  std::atomic<size_t> count{0};
  std::vector<std::unique_ptr<Slot>> live, retired;
  std::vector<std::unique_ptr<Array>> arrays;
};

} // namespace tilewright::launch

#endif // TILEWRIGHT_RUNTIME_LAUNCH_KEYTABLE_H
