// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/plugin/mapped_object.hpp"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace sluice::plugin {
namespace {

constexpr std::size_t kListedNames = 3;

// The tables of one object with the reasons why it stays mapped. Addresses are those of this process.
class Tables {
 public:
  Tables(const dl_phdr_info& info, const ElfW(Dyn) * dynamic) : base_(info.dlpi_addr) {
    for (; dynamic->d_tag != DT_NULL; ++dynamic) {
      switch (dynamic->d_tag) {
        case DT_SYMTAB: symbols_ = at<const ElfW(Sym)>(dynamic); break;
        case DT_STRTAB: strings_ = at<const char>(dynamic); break;
        case DT_GNU_HASH: hash_ = at<const std::uint32_t>(dynamic); break;
        case DT_FLAGS_1: flags_ = dynamic->d_un.d_val; break;
        default: break;
      }
    }
  }

  bool nodelete() const { return (flags_ & DF_1_NODELETE) != 0; }
  // "a, b, …": the names of symbols with STB_GNU_UNIQUE binding.
  std::string unique_symbols() const {
    if (symbols_ == nullptr || strings_ == nullptr || hash_ == nullptr) return {};
    std::string out;
    std::size_t found = 0;
    // Symbols before the first hashed one are undefined here.
    for (std::uint32_t i = hash_[1], end = symbol_count(); i < end; ++i) {
      if (ELF64_ST_BIND(symbols_[i].st_info) != STB_GNU_UNIQUE) continue;
      if (++found <= kListedNames) out.append(out.empty() ? "" : ", ").append(strings_ + symbols_[i].st_name);
    }
    return found > kListedNames ? out + ", …" : out;
  }

 private:
  // On some architectures the dynamic linker does not relocate this table.
  template <class T>
  T* at(const ElfW(Dyn) * entry) const {
    const ElfW(Addr) value = entry->d_un.d_ptr;
    return reinterpret_cast<T*>(value < base_ ? base_ + value : value);
  }
  // The hash table has no count, but its last chain ends with the last symbol.
  std::uint32_t symbol_count() const {
    const std::uint32_t buckets = hash_[0], first = hash_[1], words = hash_[2];
    const std::uint32_t* const bucket = hash_ + 4 + words * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));
    const std::uint32_t* const chain = bucket + buckets;
    std::uint32_t last = 0;
    for (std::uint32_t i = 0; i < buckets; ++i) last = std::max(last, bucket[i]);
    if (last < first) return first;
    while ((chain[last - first] & 1) == 0) ++last;
    return last + 1;
  }

  const ElfW(Addr) base_;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* strings_ = nullptr;
  const std::uint32_t* hash_ = nullptr;
  std::uint64_t flags_ = 0;
};

std::string pinned_by(const Tables& tables) {
  std::string out;
  if (tables.nodelete()) out = "it is linked with -z nodelete: link it without";
  if (const std::string unique = tables.unique_symbols(); !unique.empty()) {
    out.append(out.empty() ? "" : ", and ")
        .append("it exports symbols that the dynamic linker never releases (STB_GNU_UNIQUE: ")
        .append(unique)
        .append("): link it with the version script plugin.map");
  }
  return out;
}

struct Search {
  ElfW(Addr) address;
  std::optional<MappedObject> found;
};

int find_object(dl_phdr_info* info, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  bool holds = false;
  const ElfW(Dyn)* dynamic = nullptr;
  for (std::size_t i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const ElfW(Addr) begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);
    if (segment.p_type == PT_LOAD && search.address >= begin && search.address - begin < segment.p_memsz) holds = true;
  }
  if (!holds) return 0;
  search.found = MappedObject{info->dlpi_name, dynamic == nullptr ? "" : pinned_by(Tables(*info, dynamic))};
  return 1;
}

}  // namespace

std::optional<MappedObject> mapped_object(const void* address) {
  Search search{reinterpret_cast<ElfW(Addr)>(address), {}};
  dl_iterate_phdr(find_object, &search);
  return std::move(search.found);
}

}  // namespace sluice::plugin
