// SPDX-License-Identifier: Apache-2.0
#include "elf_file.hpp"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>

namespace exactile::program {

ElfFile::ElfFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string magic(SELFMAG, '\0');
  if (!file.read(magic.data(), SELFMAG) || magic != std::string_view(ELFMAG, SELFMAG)) return;
  file.seekg(0);
  content_.assign(std::istreambuf_iterator<char>(file), {});
  const auto* header = at<Elf64_Ehdr>(0);
  if (header == nullptr || header->e_ident[EI_CLASS] != ELFCLASS64) content_.clear();
}

/// Null where it would lie outside of the file.
template <class T>
const T* ElfFile::at(std::size_t offset) const {
  if (offset > content_.size() || content_.size() - offset < sizeof(T) || offset % alignof(T) != 0) return nullptr;
  return reinterpret_cast<const T*>(content_.data() + offset);
}

std::string_view ElfFile::string_at(std::size_t offset) const {
  if (offset >= content_.size()) return {};
  const std::string_view rest(content_.data() + offset, content_.size() - offset);
  return rest.substr(0, rest.find('\0'));
}

std::string ElfFile::interpreter() const {
  if (!is_elf()) return {};
  const auto* header = at<Elf64_Ehdr>(0);
  for (int i = 0; i < header->e_phnum; ++i) {
    const auto* segment = at<Elf64_Phdr>(header->e_phoff + static_cast<std::size_t>(i) * header->e_phentsize);
    if (segment != nullptr && segment->p_type == PT_INTERP) return std::string(string_at(segment->p_offset));
  }
  return {};
}

bool ElfFile::defines(const std::function<bool(std::string_view)>& wanted) const {
  if (!is_elf()) return false;
  const auto* header = at<Elf64_Ehdr>(0);
  const auto section = [&](std::size_t i) {
    return i < header->e_shnum ? at<Elf64_Shdr>(header->e_shoff + i * header->e_shentsize) : nullptr;
  };
  for (std::size_t i = 0; i < header->e_shnum; ++i) {
    const auto* symbols = section(i);
    if (symbols == nullptr || symbols->sh_type != SHT_DYNSYM) continue;
    const auto* names = section(symbols->sh_link);
    if (names == nullptr) continue;
    for (std::size_t offset = 0; offset + sizeof(Elf64_Sym) <= symbols->sh_size; offset += sizeof(Elf64_Sym)) {
      const auto* symbol = at<Elf64_Sym>(symbols->sh_offset + offset);
      if (symbol == nullptr) break;
      if (symbol->st_shndx != SHN_UNDEF && wanted(string_at(names->sh_offset + symbol->st_name))) return true;
    }
  }
  return false;
}

}  // namespace exactile::program
