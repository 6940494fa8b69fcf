// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "lib/netlink/error.hpp"

#include <cerrno>
#include <cstring>

namespace sluice::lib::netlink {

bool is_temporary(int error) noexcept {
  switch (error) {
    case ENOBUFS:
    case ENOMEM:
    case EAGAIN:
    case EINTR:
    case EBUSY:
    case ETIMEDOUT:
      return true;
    default:
      return false;
  }
}

std::string error_text(int error) {
  // Thread-safe, unlike strerror().
  const char* const words = strerrordesc_np(error);
  const char* const name = strerrorname_np(error);
  if (words == nullptr || name == nullptr) return "error " + std::to_string(error);
  return std::string(words) + " (" + name + ")";
}

}  // namespace sluice::lib::netlink
