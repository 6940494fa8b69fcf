// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Errno values of netlink requests and other system calls: whether to retry, and their text.
#pragma once

#include <string>

namespace sluice::lib::netlink {

// Whether a repetition may succeed: ENOBUFS, ENOMEM, EAGAIN, EINTR, EBUSY, ETIMEDOUT.
bool is_temporary(int error) noexcept;

// Description and name of a positive errno, such as "No buffer space available (ENOBUFS)". Any thread.
std::string error_text(int error);

}  // namespace sluice::lib::netlink
