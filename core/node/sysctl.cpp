// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/node/sysctl.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "lib/fd.hpp"
#include "lib/files.hpp"

namespace sluice::node {

lib::Result<std::string> Sysctl::read(std::string_view name) const {
  lib::Result<std::string> text = lib::read_file(path(name), 4096);
  if (!text) return text;
  text->erase(text->find_last_not_of("\n\t ") + 1);
  return text;
}

lib::Status Sysctl::ensure(std::string_view name, std::string_view value) const {
  const lib::Result<std::string> now = read(name);
  if (!now) return now.status();
  if (*now == value) return {};
  const std::string action = "cannot set " + path(name) + " to " + std::string(value);
  // Files in /proc cannot be replaced by rename(), and a value must be written with one write().
  const lib::Fd fd(::open(path(name).c_str(), O_WRONLY | O_CLOEXEC | O_TRUNC));
  if (!fd.valid()) return lib::errno_status(action, errno);
  const ssize_t written = ::write(fd.get(), value.data(), value.size());
  if (written < 0) return lib::errno_status(action, errno);
  if (static_cast<std::size_t>(written) != value.size()) return {lib::StatusCode::kernel, action + ": cut short"};
  return {};
}

lib::Result<bool> conntrack_tcp_be_liberal(const Sysctl& sysctl) {
  const lib::Result<std::string> value = sysctl.read("net/netfilter/nf_conntrack_tcp_be_liberal");
  if (value) return *value != "0";
  if (value.status().code() == lib::StatusCode::not_found) return false;
  return value.status();
}

}  // namespace sluice::node
