// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/descriptor_index.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "lib/number.hpp"

namespace sluice::lifecycle {
namespace {

// Divides the page size: the kernel writes within a page are not torn by a kill of the process.
constexpr std::size_t kSize = 512;

std::string_view family_word(lib::Family family) { return family == lib::Family::ipv4 ? "ipv4" : "ipv6"; }

}  // namespace

lib::Result<DescriptorIndex> DescriptorIndex::make() {
  lib::Fd file(::memfd_create("sluice-descriptors", MFD_CLOEXEC));
  if (!file.valid()) return lib::errno_status("cannot create the descriptor index", errno);
  return DescriptorIndex(std::move(file));
}

// "<backend>\n<family>\n<name>\n" and zeros.
lib::Status DescriptorIndex::put(unsigned slot, const KeptName& name) {
  std::string text = name.backend + "\n" + std::string(family_word(name.family)) + "\n" + name.name + "\n";
  if (text.size() > kSize) return lib::invalid("name too long");
  text.resize(kSize, '\0');
  const auto place = static_cast<off_t>(slot * kSize);
  if (::pwrite(file_.get(), text.data(), kSize, place) != static_cast<ssize_t>(kSize)) {
    return lib::errno_status("cannot write the descriptor index", errno);
  }
  return {};
}

std::optional<KeptName> DescriptorIndex::at(unsigned slot) const {
  char bytes[kSize];
  if (::pread(file_.get(), bytes, kSize, static_cast<off_t>(slot * kSize)) != static_cast<ssize_t>(kSize)) {
    return std::nullopt;
  }
  const std::string_view text(bytes, ::strnlen(bytes, kSize));
  const std::size_t first = text.find('\n');
  const std::size_t second = first == std::string_view::npos ? first : text.find('\n', first + 1);
  if (second == std::string_view::npos || !text.ends_with('\n') || text.size() < second + 3 || first == 0) {
    return std::nullopt;
  }
  for (const lib::Family family : lib::kFamilies) {
    if (text.substr(first + 1, second - first - 1) != family_word(family)) continue;
    return KeptName{std::string(text.substr(0, first)), family,
                    std::string(text.substr(second + 1, text.size() - second - 2))};
  }
  return std::nullopt;
}

std::optional<unsigned> DescriptorIndex::slot_of(std::string_view name) {
  if (!name.starts_with('s')) return std::nullopt;
  return lib::parse_number<unsigned>(name.substr(1), 0, kSlots - 1);
}

}  // namespace sluice::lifecycle
