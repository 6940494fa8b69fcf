// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The requests that write events, within the limits the API server sets to each field.
// Pure functions.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "core/kube/events/cluster_event.hpp"
#include "core/kube/events/event_series.hpp"
#include "core/kube/http/transport.hpp"

namespace sluice::kube {

// Who reports: dashboards and alerts look for kube-proxy.
inline constexpr const char* kReportingController = "kube-proxy";

// "<name>.<nanoseconds in hex>", as client-go makes it.
std::string event_name(const Regarding& regarding, std::chrono::system_clock::time_point at);

// POST of a first occurrence.
Request create_request(const EventWrite& write, const std::string& node_name);
// PATCH that says how often by now.
Request series_request(const EventWrite& write);

// The longest beginning of a text that fits, without half a character of UTF-8.
std::string_view cut_text(std::string_view text, std::size_t most);

}  // namespace sluice::kube
