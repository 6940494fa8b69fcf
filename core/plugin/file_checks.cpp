// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/plugin/file_checks.hpp"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "core/plugin/descriptor.hpp"
#include "core/plugin/rejection.hpp"
#include "lib/text.hpp"
#include "sluice/abi/entry.hpp"

namespace sluice::plugin {
namespace {

namespace fs = std::filesystem;
using lib::Status;
using lib::StatusCode;

std::string octal(mode_t mode) {
  char text[8];
  std::snprintf(text, sizeof(text), "%04o", static_cast<unsigned>(mode & 07777));
  return text;
}

// REQUIRES: both paths are resolved
bool is_inside(const fs::path& file, const fs::path& folder) {
  const auto [rest, unused] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return rest == folder.end();
}

// Rejects a path that an unprivileged user can write. `role` is "file" or "folder".
Status check_permissions(const fs::path& file, const fs::path& path, const char* role, bool relax) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) {
    const int saved = errno;
    return lib::errno_status("plugin " + file.string() + ": " + role + " check: stat " + path.string(), saved);
  }
  if (!relax && found.st_uid != 0 && found.st_uid != geteuid()) {
    return reject_file(StatusCode::denied, file,
                  std::string("ownership check: ") + role + " " + path.string() + " belongs to user " +
                      std::to_string(found.st_uid) + ", not to root; run chown root " + path.string());
  }
  const mode_t forbidden = relax ? S_IWOTH : S_IWGRP | S_IWOTH;
  if ((found.st_mode & forbidden) != 0) {
    const char* const writer = (found.st_mode & S_IWOTH) != 0 ? "every user" : "its group";
    return reject_file(StatusCode::denied, file,
                       std::string("permission check: ") + role + " " + path.string() + " is writable by " + writer +
                           " (mode " + octal(found.st_mode) + "); run chmod go-w " + path.string());
  }
  return {};
}

std::string machine_name(unsigned machine) {
  switch (machine) {
    case EM_386: return "i386";
    case EM_X86_64: return "x86-64";
    case EM_ARM: return "arm";
    case EM_AARCH64: return "aarch64";
    case EM_PPC64: return "ppc64";
    case EM_S390: return "s390";
    case EM_RISCV: return "riscv";
    default: return "machine " + std::to_string(machine);
  }
}

std::string platform_name(const unsigned char* ident, unsigned machine) {
  const char* const bits = ident[EI_CLASS] == ELFCLASS64 ? "64-bit " : "32-bit ";
  const char* const order = ident[EI_DATA] == ELFDATA2MSB ? " big-endian" : "";
  return bits + machine_name(machine) + order;
}

template <class T>
std::optional<T> read_at(std::ifstream& in, std::uint64_t offset) {
  T value{};
  in.clear();
  in.seekg(static_cast<std::streamoff>(offset));
  in.read(reinterpret_cast<char*>(&value), sizeof(value));
  if (!in) return std::nullopt;
  return value;
}

using Header = std::conditional_t<sizeof(void*) == 8, Elf64_Ehdr, Elf32_Ehdr>;
using Section = std::conditional_t<sizeof(void*) == 8, Elf64_Shdr, Elf32_Shdr>;

bool lies_within(std::uint64_t offset, std::uint64_t size, std::uint64_t all) {
  return offset <= all && size <= all - offset;
}

// Checks each offset in the file before it is used, because the file is not trusted.
enum class Found { kThere, kNone, kCorrupt };
Found find_section(std::ifstream& in, std::uint64_t file_size, std::string_view name, Section& into) {
  const auto header = read_at<Header>(in, 0);
  if (!header || header->e_shentsize != sizeof(Section) || header->e_shstrndx >= header->e_shnum ||
      !lies_within(header->e_shoff, std::uint64_t{header->e_shnum} * sizeof(Section), file_size)) {
    return Found::kCorrupt;
  }
  const auto section = [&](std::uint64_t index) { return read_at<Section>(in, header->e_shoff + index * sizeof(Section)); };
  const auto names = section(header->e_shstrndx);
  if (!names || names->sh_size == 0 || !lies_within(names->sh_offset, names->sh_size, file_size))
    return Found::kCorrupt;
  std::string all(static_cast<std::size_t>(names->sh_size), '\0');
  in.seekg(static_cast<std::streamoff>(names->sh_offset));
  if (!in.read(all.data(), static_cast<std::streamsize>(all.size())) || all.back() != '\0') return Found::kCorrupt;
  for (std::uint64_t index = 0; index < header->e_shnum; ++index) {
    const auto one = section(index);
    if (!one || one->sh_name >= all.size()) return Found::kCorrupt;
    if (std::string_view(all.c_str() + one->sh_name) != name) continue;
    if (one->sh_type == SHT_NOBITS || !lies_within(one->sh_offset, one->sh_size, file_size)) return Found::kCorrupt;
    into = *one;
    return Found::kThere;
  }
  return Found::kNone;
}

// The part of the ELF header that must match between the daemon and a plugin.
struct Platform {
  unsigned char ident[EI_NIDENT];
  std::uint16_t type;
  std::uint16_t machine;
};

}  // namespace

lib::Result<fs::path> check_location(const fs::path& file, const FileRules& rules) {
  if (!file.is_absolute()) {
    return reject_file(StatusCode::invalid, file, "path check: the path is not absolute; give the whole path");
  }
  std::error_code error;
  const fs::path resolved = fs::canonical(file, error);
  if (error) return lib::errno_status("plugin " + file.string() + ": path check", error.value());

  const bool inside = std::any_of(rules.folders.begin(), rules.folders.end(), [&](const fs::path& folder) {
    std::error_code missing;
    const fs::path resolved_folder = fs::canonical(folder, missing);
    return !missing && is_inside(resolved, resolved_folder);
  });
  if (!inside) {
    return reject_file(StatusCode::denied, file,
                  "folder check: it is " + resolved.string() + ", which lies outside the plugin folder " +
                      lib::joined(rules.folders, ", ", [](const fs::path& folder) { return folder.string(); }) +
                      "; move it there or name its folder in the configuration");
  }
  if (!fs::is_regular_file(resolved, error)) {
    return reject_file(StatusCode::invalid, file, "type check: it is not a regular file; name the shared object itself");
  }
  if (Status status = check_permissions(file, resolved, "file", rules.relax_ownership); !status.ok()) return status;
  if (Status status = check_permissions(file, resolved.parent_path(), "folder", rules.relax_ownership); !status.ok()) {
    return status;
  }
  return resolved;
}

Status check_content(const fs::path& content, const fs::path& copy_of) {
  const fs::path& file = copy_of.empty() ? content : copy_of;
  std::ifstream in(content, std::ios::binary);
  if (!in) {
    const int saved = errno;
    return lib::errno_status("plugin " + file.string() + ": open", saved);
  }
  const auto found = read_at<Platform>(in, 0);
  if (!found || std::memcmp(found->ident, ELFMAG, SELFMAG) != 0) {
    return reject_file(StatusCode::invalid, file,
                  "format check: it is not an ELF file; name a plugin built as a shared object");
  }
  std::ifstream self_file("/proc/self/exe", std::ios::binary);
  const auto self = read_at<Platform>(self_file, 0);
  if (!self) return reject_file(StatusCode::unavailable, file, "machine check: /proc/self/exe cannot be read; mount /proc");
  if (found->ident[EI_CLASS] != self->ident[EI_CLASS] || found->ident[EI_DATA] != self->ident[EI_DATA] ||
      found->machine != self->machine) {
    return reject_file(StatusCode::unsupported, file,
                  "machine check: it is built for " + platform_name(found->ident, found->machine) +
                      ", this daemon for " + platform_name(self->ident, self->machine) +
                      "; install the plugin for this machine");
  }
  if (found->type != ET_DYN) {
    return reject_file(StatusCode::invalid, file,
                  "format check: it is an ELF file but not a shared object; link it with -shared");
  }
  std::error_code error;
  const std::uint64_t size = fs::file_size(content, error);
  Section section{};
  const Found there = error ? Found::kCorrupt : find_section(in, size, SLUICE_ABI_SECTION, section);
  if (there == Found::kNone) {
    return reject_file(StatusCode::invalid, file,
                  "section check: it has no section " SLUICE_ABI_SECTION
                  ", so it is not a Sluice plugin; define SLUICE_PLUGIN_ENTRY in one of its sources");
  }
  // The section begins with the descriptor. Its numbers need no relocation.
  char head[kDescriptorHead] = {};
  const auto bytes = static_cast<std::streamsize>(std::min<std::uint64_t>(section.sh_size, sizeof(head)));
  in.seekg(static_cast<std::streamoff>(section.sh_offset));
  if (there == Found::kCorrupt || !in.read(head, bytes)) {
    return reject_file(StatusCode::invalid, file,
                       "format check: its section table is truncated or corrupt; install the file again");
  }
  return check_descriptor(file, head, static_cast<std::size_t>(bytes), section.sh_size);
}

}  // namespace sluice::plugin
