// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netlink/error.hpp"

#include <cerrno>

#include "lib/netlink/error.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::netlink {

abi::Code code_of(int error) noexcept {
  if (lib::netlink::is_temporary(error)) return abi::Code::kRetry;
  switch (error) {
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

void fail(int error, const std::string& object, const std::string& what, const std::string& remedy) {
  const abi::Code code = code_of(error);
  std::string message = what + ": " + lib::netlink::error_text(error);
  if (!remedy.empty()) message += "; " + remedy;
  if (remedy.empty() && code == abi::Code::kDenied) message += "; run it with the capability CAP_NET_ADMIN";
  throw sdk::Failure(code, object, message, error);
}

}  // namespace sluice::netlink
