// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/sysctl/sysctl.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace sluice::sysctl {
namespace {

std::string path_of(std::string_view name) { return std::string("/proc/sys/").append(name); }

}  // namespace

std::optional<std::string> read(std::string_view name) {
  const int file = open(path_of(name).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::array<char, 256> buffer;
  const ssize_t size = ::read(file, buffer.data(), buffer.size());
  close(file);
  if (size < 0) return std::nullopt;
  std::string value(buffer.data(), static_cast<std::size_t>(size));
  while (!value.empty() && value.back() == '\n') value.pop_back();
  return value;
}

int ensure(std::string_view name, std::string_view value) {
  if (read(name) == value) return 0;
  const int file = open(path_of(name).c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return errno;
  const ssize_t written = write(file, value.data(), value.size());
  const int error = written < 0 ? errno : 0;
  close(file);
  return error;
}

}  // namespace sluice::sysctl
