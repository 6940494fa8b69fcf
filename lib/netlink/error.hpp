// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What errno values of netlink requests mean.
#pragma once

#include <string>

namespace sluice::lib::netlink {

// Whether a repetition may succeed: ENOBUFS, ENOMEM, EAGAIN, EINTR, EBUSY, ETIMEDOUT.
bool is_temporary(int error) noexcept;

// "No buffer space available (ENOBUFS)".
std::string error_text(int error);

}  // namespace sluice::lib::netlink
