// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Name → addresses, and why a connect failed, both in a way that can be left at once:
// getaddrinfo() cannot be interrupted and the HTTP library's own look-up would hold up
// the end of the process for as long as a dead name server takes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/ip.hpp"
#include "core/base/status.hpp"

namespace sluice::kube {

// All addresses of `host`, which may be one itself. Gives up when `stopped` says so or
// the time is over; the look-up then ends by itself, unheard.
base::Result<std::vector<base::IpAddress>> resolve_host(const std::string& host, std::chrono::milliseconds limit,
                                                        const std::function<bool()>& stopped);

// Connects once, to learn the reason the HTTP library does not pass on. Ok if it works.
base::Status probe_connect(const base::IpAddress& address, std::uint16_t port, std::chrono::milliseconds limit);

}  // namespace sluice::kube
