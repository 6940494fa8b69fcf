// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Makes the requests that write events, within the API server's limits for each field.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "core/kube/events/cluster_event.hpp"
#include "core/kube/events/event_series.hpp"
#include "core/kube/http/transport.hpp"

namespace sluice::kube {

// The reporting controller: dashboards and alerts select kube-proxy.
inline constexpr const char* kReportingController = "kube-proxy";

// "<name>.<nanoseconds in hex>", as client-go makes it.
std::string event_name(const Regarding& regarding, std::chrono::system_clock::time_point at);

// POST of a first occurrence.
Request create_request(const EventWrite& write, const std::string& node_name);
// PATCH of the count of a series.
Request series_request(const EventWrite& write);

// The longest prefix of a text that fits, without a partial UTF-8 character.
std::string_view cut_text(std::string_view text, std::size_t most);

}  // namespace sluice::kube
