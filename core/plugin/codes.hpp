// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Converts result codes of the ABI to status codes of the core and back.
#pragma once

#include "lib/status.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::plugin {

inline lib::StatusCode status_code(abi::Code code) {
  switch (code) {
    case abi::Code::kOk: return lib::StatusCode::ok;
    case abi::Code::kRetry: return lib::StatusCode::unavailable;
    case abi::Code::kNeedFull: return lib::StatusCode::expired;
    case abi::Code::kInvalid: return lib::StatusCode::invalid;
    case abi::Code::kUnsupported: return lib::StatusCode::unsupported;
    case abi::Code::kDenied: return lib::StatusCode::denied;
    case abi::Code::kKernel: return lib::StatusCode::kernel;
    case abi::Code::kInternal: return lib::StatusCode::internal;
  }
  return lib::StatusCode::internal;
}

inline abi::Code abi_code(lib::StatusCode code) {
  switch (code) {
    case lib::StatusCode::ok: return abi::Code::kOk;
    case lib::StatusCode::unavailable: return abi::Code::kRetry;
    case lib::StatusCode::expired: return abi::Code::kNeedFull;
    case lib::StatusCode::invalid: return abi::Code::kInvalid;
    case lib::StatusCode::not_found: return abi::Code::kInvalid;
    case lib::StatusCode::unsupported: return abi::Code::kUnsupported;
    case lib::StatusCode::denied: return abi::Code::kDenied;
    case lib::StatusCode::kernel: return abi::Code::kKernel;
    case lib::StatusCode::internal: return abi::Code::kInternal;
  }
  return abi::Code::kInternal;
}

}  // namespace sluice::plugin
