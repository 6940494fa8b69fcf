// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "lib/status.hpp"

#include <cerrno>
#include <system_error>

namespace sluice::lib {

Status errno_status(std::string_view action, int os_errno) {
  StatusCode code = StatusCode::kernel;
  switch (os_errno) {
    case ENOENT: code = StatusCode::not_found; break;
    case EACCES:
    case EPERM: code = StatusCode::denied; break;
    case EAGAIN:
    case EBUSY:
    case EINTR:
    case ETIMEDOUT:
    case ECONNREFUSED: code = StatusCode::unavailable; break;
    case EOPNOTSUPP:
    case ENOSYS: code = StatusCode::unsupported; break;
    case EINVAL: code = StatusCode::invalid; break;
    default: break;
  }
  return {code, std::string(action) + ": " + std::generic_category().message(os_errno), os_errno};
}

}  // namespace sluice::lib
