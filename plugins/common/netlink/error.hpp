// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Maps errno values of netlink requests to codes and messages.
#pragma once

#include <string>

#include "sluice/abi/types.hpp"

namespace sluice::netlink {

// Errors of lib::netlink::is_temporary(): kRetry. EPERM, EACCES: kDenied. Errors of a kernel without the
// subsystem (EAFNOSUPPORT, EPROTONOSUPPORT, EOPNOTSUPP …): kUnsupported. All others: kKernel.
abi::Code code_of(int error) noexcept;

// Throws sdk::Failure with code_of(error) and the message "<what>: <error_text()>", followed by "; <remedy>" unless that
// is empty. For missing privilege an empty remedy is replaced by a default one.
[[noreturn]] void fail(int error, const std::string& object, const std::string& what, const std::string& remedy = {});

}  // namespace sluice::netlink
