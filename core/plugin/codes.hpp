// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Converts result codes of the ABI to status codes of the core and back.
#pragma once

#include "core/base/status.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::plugin {

inline base::StatusCode status_code(abi::Code code) {
  switch (code) {
    case abi::Code::kOk: return base::StatusCode::ok;
    case abi::Code::kRetry: return base::StatusCode::unavailable;
    case abi::Code::kNeedFull: return base::StatusCode::expired;
    case abi::Code::kInvalid: return base::StatusCode::invalid;
    case abi::Code::kUnsupported: return base::StatusCode::unsupported;
    case abi::Code::kDenied: return base::StatusCode::denied;
    case abi::Code::kKernel: return base::StatusCode::kernel;
    case abi::Code::kInternal: return base::StatusCode::internal;
  }
  return base::StatusCode::internal;
}

inline abi::Code abi_code(base::StatusCode code) {
  switch (code) {
    case base::StatusCode::ok: return abi::Code::kOk;
    case base::StatusCode::unavailable: return abi::Code::kRetry;
    case base::StatusCode::expired: return abi::Code::kNeedFull;
    case base::StatusCode::invalid: return abi::Code::kInvalid;
    case base::StatusCode::not_found: return abi::Code::kInvalid;
    case base::StatusCode::unsupported: return abi::Code::kUnsupported;
    case base::StatusCode::denied: return abi::Code::kDenied;
    case base::StatusCode::kernel: return abi::Code::kKernel;
    case base::StatusCode::internal: return abi::Code::kInternal;
  }
  return abi::Code::kInternal;
}

}  // namespace sluice::plugin
