// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "lib/sysctl.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "lib/fd.hpp"
#include "lib/files.hpp"

namespace sluice::lib {

Result<std::string> Sysctl::read(std::string_view name) const {
  Result<std::string> text = read_file(path(name), 4096);
  if (!text) return text;
  text->erase(text->find_last_not_of("\n\t ") + 1);
  return text;
}

Status Sysctl::ensure(std::string_view name, std::string_view value) const {
  const Result<std::string> now = read(name);
  if (!now) return now.status();
  if (*now == value) return {};
  const std::string action = "cannot set " + path(name) + " to " + std::string(value);
  // Files in /proc cannot be replaced by rename(), and a value must be written with one write().
  const Fd fd(::open(path(name).c_str(), O_WRONLY | O_CLOEXEC | O_TRUNC));
  if (!fd.valid()) return errno_status(action, errno);
  const ssize_t written = ::write(fd.get(), value.data(), value.size());
  if (written < 0) return errno_status(action, errno);
  if (static_cast<std::size_t>(written) != value.size()) return {StatusCode::kernel, action + ": cut short"};
  return {};
}

}  // namespace sluice::lib
