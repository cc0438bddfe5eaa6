//===- CubinParameters.h - What a real cubin says of a launch ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the sizes of the parameters of the kernel in a cubin, so that the mock driver
// records the launches of real machine code as a driver would read them.
//
// How: a cubin is an ELF file of 64 bits; its section ".nv.info.<kernel>" holds
// attributes, of which number 0x17 describes one parameter: index, ordinal, offset, and
// its size in the upper bits of the last word (as cuobjdump -elf shows them).
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_MOCK_CUBINPARAMETERS_H
#define TILEWRIGHT_TESTS_MOCK_CUBINPARAMETERS_H

#include <cstdint>
#include <cstring>
#include <elf.h>
#include <string>
#include <vector>

inline bool isCubin(const char *image) {
  return std::memcmp(image, ELFMAG, SELFMAG) == 0 && image[EI_CLASS] == ELFCLASS64;
}

/// The sizes in the attributes of one kernel.
inline std::vector<size_t> parameterSizesOf(const char *at, const char *end) {
  constexpr uint8_t formatWithData = 4, parameterInfo = 0x17;
  constexpr int sizeShift = 18;
  std::vector<size_t> sizes;
  while (at + 4 <= end) {
    uint8_t format = at[0], attribute = at[1];
    uint16_t length;
    std::memcpy(&length, at + 2, sizeof(length));
    at += 4;
    if (format != formatWithData)
      continue; // its value stood in the place of the length
    if (attribute == parameterInfo) {
      uint16_t ordinal;
      uint32_t size;
      std::memcpy(&ordinal, at + 4, sizeof(ordinal));
      std::memcpy(&size, at + 8, sizeof(size));
      if (sizes.size() <= ordinal)
        sizes.resize(ordinal + 1);
      sizes[ordinal] = size >> sizeShift;
    }
    at += length;
  }
  return sizes;
}

inline std::vector<size_t> cubinParameterSizes(const char *image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), image + header.e_shoff, sizeof(Elf64_Shdr) * sections.size());
  const char *names = image + sections[header.e_shstrndx].sh_offset;
  const std::string prefix = ".nv.info.";
  for (const Elf64_Shdr &section : sections)
    if (std::strncmp(names + section.sh_name, prefix.c_str(), prefix.size()) == 0)
      return parameterSizesOf(image + section.sh_offset,
                              image + section.sh_offset + section.sh_size);
  return {};
}

#endif // TILEWRIGHT_TESTS_MOCK_CUBINPARAMETERS_H
