// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// An EndpointSlice, reduced to the fields that affect traffic (BEH 1.3) and to the details that a backend asks for.
// Memory matters: a node holds every endpoint of the cluster, at 32 bytes each.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/model/details.hpp"
#include "core/model/object_name.hpp"
#include "core/model/service.hpp"
#include "lib/ip.hpp"

namespace sluice::model {

struct SlicePort {
  base::Symbol name;  // empty matches an unnamed service port
  Protocol protocol = Protocol::tcp;
  std::uint16_t port = 0;
  bool operator==(const SlicePort&) const = default;
};

// A set of names packed into one symbol: sorted, joined by newlines.
base::Symbol pack_names(std::vector<std::string_view> names);
bool packed_contains(base::Symbol packed, std::string_view name);

struct SliceEndpoint {
  std::array<std::uint8_t, 16> address{};  // of the slice's family; IPv4 in the first four bytes
  base::Symbol node;                       // empty = unknown, treated as remote
  base::Symbol zone_hints;                 // pack_names(hints.forZones)
  base::Symbol node_hints;                 // pack_names(hints.forNodes)
  bool ready = true;
  bool serving = true;
  bool terminating = false;
  bool operator==(const SliceEndpoint&) const = default;
};

struct EndpointSlice {
  ObjectName name;
  ObjectName service;                    // from the label kubernetes.io/service-name
  lib::Family family = lib::Family::ipv4;
  std::vector<SlicePort> ports;          // those with a name (maybe empty) and a number
  std::vector<SliceEndpoint> endpoints;  // those with an address
  Shared<std::vector<EndpointDetails>> details;  // in the order of `endpoints`
  // endpoints.kubernetes.io/last-change-trigger-time; only for the latency metric, ignored by operator==.
  std::optional<std::chrono::system_clock::time_point> trigger_time;

  // Equal but for the details.
  bool same_traffic(const EndpointSlice& other) const {
    return name == other.name && service == other.service && family == other.family && ports == other.ports &&
           endpoints == other.endpoints;
  }
  bool operator==(const EndpointSlice& other) const { return same_traffic(other) && details == other.details; }
};

}  // namespace sluice::model
