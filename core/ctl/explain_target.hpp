// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The packets that `sluicectl explain` asks about. Pure.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lib/ip.hpp"
#include "lib/status.hpp"

namespace sluice::ctl {

// Where the packets come from.
struct Client {
  std::string from = "node";  // "node", "pod" or "outside"
  std::optional<lib::IpAddress> address;
};

// "node", "outside", "outside:192.0.2.1", or the address of a pod.
lib::Result<Client> parse_client(const std::string& text);

// At most this many packets are explained at once.
inline constexpr std::size_t kMostPackets = 16;

// The requests "inspect" for the packets to `target`: an address and port, a node port, or all frontends in `services`,
// the reply to "services" for this target with objects. A family that the client cannot have is omitted.
lib::Result<std::vector<nlohmann::json>> explanation_requests(const std::string& target, const Client& client,
                                                              const nlohmann::json& services);

// `services`, the reply to "services", with the families of these requests only.
nlohmann::json families_of(const nlohmann::json& services, const std::vector<nlohmann::json>& requests);

}  // namespace sluice::ctl
