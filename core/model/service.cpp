// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/model/service.hpp"

#include <utility>

namespace sluice::model {

std::string_view protocol_name(Protocol protocol) {
  switch (protocol) {
    case Protocol::tcp: return "tcp";
    case Protocol::udp: return "udp";
    case Protocol::sctp: return "sctp";
  }
  return "unknown";
}

bool parse_protocol(std::string_view text, Protocol& out) {
  for (const auto& [name, value] : {std::pair<std::string_view, Protocol>{"TCP", Protocol::tcp},
                                    {"UDP", Protocol::udp},
                                    {"SCTP", Protocol::sctp}}) {
    if (text == name) {
      out = value;
      return true;
    }
  }
  return false;
}

}  // namespace sluice::model
