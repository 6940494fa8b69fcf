// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netlink/error.hpp"

#include <cerrno>
#include <cstring>

#include "sluice/sdk/error.hpp"

namespace sluice::netlink {

abi::Code code_of(int error) noexcept {
  switch (error) {
    case ENOBUFS:
    case ENOMEM:
    case EAGAIN:
    case EINTR:
    case EBUSY:
    case ETIMEDOUT:
      return abi::Code::kRetry;
    case EPERM:
    case EACCES:
      return abi::Code::kDenied;
    case EAFNOSUPPORT:
    case EPFNOSUPPORT:
    case EPROTONOSUPPORT:
    case ESOCKTNOSUPPORT:
    case EOPNOTSUPP:
    case ENOPROTOOPT:
    case ENOSYS:
      return abi::Code::kUnsupported;
    default:
      return abi::Code::kKernel;
  }
}

std::string error_text(int error) {
  // Thread-safe, unlike strerror().
  const char* const words = strerrordesc_np(error);
  const char* const name = strerrorname_np(error);
  if (words == nullptr || name == nullptr) return "error " + std::to_string(error);
  return std::string(words) + " (" + name + ")";
}

void fail(int error, const std::string& object, const std::string& what, const std::string& remedy) {
  const abi::Code code = code_of(error);
  std::string message = what + ": " + error_text(error);
  if (!remedy.empty()) message += "; " + remedy;
  if (remedy.empty() && code == abi::Code::kDenied) message += "; run it with the capability CAP_NET_ADMIN";
  throw sdk::Failure(code, object, message, error);
}

}  // namespace sluice::netlink
