// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What an errno of the kernel means to whoever sent the request.
#pragma once

#include <string>

#include "sluice/abi/types.hpp"

namespace sluice::netlink {

// ENOBUFS, ENOMEM, EAGAIN, EINTR, EBUSY, ETIMEDOUT: kRetry. EPERM, EACCES: kDenied. What a kernel without the subsystem answers
// (EAFNOSUPPORT, EPROTONOSUPPORT, EOPNOTSUPP …): kUnsupported. All others: kKernel.
abi::Code code_of(int error) noexcept;

// "No buffer space available (ENOBUFS)".
std::string error_text(int error);

// Throws sdk::Failure with code_of(error). The message: "<what>: <error_text>", followed by "; <remedy>" unless that is
// empty. A remedy of its own is added where privilege is missing.
[[noreturn]] void fail(int error, const std::string& object, const std::string& what, const std::string& remedy = {});

}  // namespace sluice::netlink
