// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/base/passed_descriptors.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <optional>
#include <string_view>
#include <utility>

#include "lib/number.hpp"
#include "lib/text.hpp"

namespace sluice::base {
namespace {

constexpr int kFirst = 3;  // SD_LISTEN_FDS_START

std::optional<std::string> take_variable(const char* name) {
  const char* value = ::getenv(name);
  if (value == nullptr) return std::nullopt;
  std::string out = value;
  ::unsetenv(name);
  return out;
}

}  // namespace

std::vector<PassedDescriptor> take_passed_descriptors() {
  const auto pid = lib::parse_number(take_variable("LISTEN_PID").value_or(""), 1);
  const auto count = lib::parse_number(take_variable("LISTEN_FDS").value_or(""), 1);
  const auto names = take_variable("LISTEN_FDNAMES");
  std::vector<PassedDescriptor> out;
  if (pid != ::getpid() || !count) return out;
  std::vector<std::string> all = names ? lib::split(*names, ':') : std::vector<std::string>();
  // With a different count, names cannot be assigned to descriptors.
  if (all.size() != static_cast<std::size_t>(*count)) all.clear();
  for (int i = 0; i < *count; ++i) {
    const int fd = kFirst + i;
    const int flags = ::fcntl(fd, F_GETFD);
    if (flags < 0) break;  // fewer descriptors than announced
    ::fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
    out.push_back({all.empty() ? std::string() : std::move(all[static_cast<std::size_t>(i)]), lib::Fd(fd)});
  }
  return out;
}

}  // namespace sluice::base
