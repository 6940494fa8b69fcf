// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/elements.hpp"

#include <cstdio>

#include "sluice/sdk/address.hpp"
#include "sluice/sdk/service.hpp"

namespace sluice::nftables {
namespace {

void append_address(Key& key, abi::Family family, const abi::Address& address) {
  key.append(address.bytes, sdk::address_bytes(family));
}

template <class To>
void append_port(To& to, std::uint16_t port) {
  const std::uint8_t bytes[2] = {static_cast<std::uint8_t>(port >> 8), static_cast<std::uint8_t>(port)};
  to.append(bytes, sizeof(bytes));
}

void append_protocol(Key& key, abi::Protocol protocol) {
  const auto byte = static_cast<std::uint8_t>(protocol);
  key.append(&byte, sizeof(byte));
}

std::uint16_t read_port(const std::uint8_t* bytes) {
  return static_cast<std::uint16_t>(bytes[0] << 8 | bytes[1]);
}

std::uint32_t read_word(const std::uint8_t* bytes) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

constexpr FrontendSets kAddressSets{SetId::kServiceIps,      SetId::kEndpoints,        SetId::kNoEndpointServices,
                                    SetId::kNoLocalServices, SetId::kAffinityServices, SetId::kServiceTraffic};
constexpr FrontendSets kNodePortSets{SetId::kServiceNodePorts, SetId::kNodePortEndpoints, SetId::kNoEndpointNodePorts,
                                     SetId::kNoLocalNodePorts, SetId::kAffinityNodePorts, SetId::kNodePortTraffic};

}  // namespace

const FrontendSets& frontend_sets(bool node_port) noexcept { return node_port ? kNodePortSets : kAddressSets; }

Key frontend_key(abi::Family family, const FrontendKey& frontend) {
  Key key;
  if (!frontend.node_port) append_address(key, family, frontend.address);
  append_protocol(key, frontend.protocol);
  append_port(key, frontend.port);
  return key;
}

Key slot_key(abi::Family family, const FrontendKey& frontend, std::uint32_t slot) {
  Key key = frontend_key(family, frontend);
  key.append(&slot, sizeof(slot));
  return key;
}

Key address_key(abi::Family family, const abi::Address& address) {
  Key key;
  append_address(key, family, address);
  return key;
}

Key hairpin_key(abi::Family family, const EndpointAddress& endpoint, abi::Protocol protocol) {
  Key key;
  append_address(key, family, endpoint.address);
  append_address(key, family, endpoint.address);
  append_protocol(key, protocol);
  append_port(key, endpoint.port);
  return key;
}

Key affinity_slot_key(std::uint32_t id, std::uint32_t slot) {
  Key key;
  key.append(&id, sizeof(id));
  key.append(&slot, sizeof(slot));
  return key;
}

Key affinity_key(abi::Family family, std::uint32_t id, const abi::Address& client) {
  Key key;
  key.append(&id, sizeof(id));
  append_address(key, family, client);
  return key;
}

Key token_key(abi::Protocol protocol, std::uint32_t token) {
  Key key;
  append_protocol(key, protocol);
  key.append(&token, sizeof(token));
  return key;
}

Data endpoint_data(abi::Family family, const EndpointAddress& endpoint) {
  Data data;
  data.append(endpoint.address.bytes, sdk::address_bytes(family));
  append_port(data, endpoint.port);
  return data;
}

Data number_data(std::uint32_t number) {
  Data data;
  data.append(&number, sizeof(number));
  return data;
}

FrontendKey read_frontend(abi::Family family, const Key& key, bool node_port) {
  FrontendKey frontend;
  frontend.node_port = node_port;
  const std::uint8_t* next = key.data();
  if (!node_port) {
    std::memcpy(frontend.address.bytes, next, sdk::address_bytes(family));
    next += sdk::address_bytes(family);
  }
  frontend.protocol = static_cast<abi::Protocol>(next[0]);
  frontend.port = read_port(next + 4);
  return frontend;
}

std::optional<FrontendKey> frontend_in(abi::Family family, const Record& record) {
  for (const bool node_port : {false, true}) {
    const FrontendSets& sets = frontend_sets(node_port);
    for (const SetId set : {sets.classes, sets.endpoints, sets.rejected, sets.dropped, sets.affinity, sets.traffic}) {
      if (set == record.set) return read_frontend(family, record.key, node_port);
    }
  }
  if (record.set == SetId::kFirewallIps) return read_frontend(family, record.key, false);
  return std::nullopt;
}

EndpointAddress read_endpoint(abi::Family family, const Data& data) {
  EndpointAddress endpoint;
  std::memcpy(endpoint.address.bytes, data.data(), sdk::address_bytes(family));
  endpoint.port = read_port(data.data() + sdk::address_bytes(family));
  return endpoint;
}

std::uint32_t read_number(const Data& data) { return read_word(data.data()); }

std::uint32_t last_word(const Key& key) { return read_word(key.data() + key.size() - sizeof(std::uint32_t)); }

std::string slot_text(std::uint32_t slot) {
  char text[16];
  std::snprintf(text, sizeof(text), "%x:%x", slot >> 16, slot & 0xffffu);
  return text;
}

std::string to_string(abi::Family family, const FrontendKey& frontend) {
  std::string text = frontend.node_port ? ":" + std::to_string(frontend.port)
                                        : sdk::host_port(frontend.address, family, frontend.port);
  return text.append("/").append(sdk::protocol_name(frontend.protocol));
}

std::string to_string(abi::Family family, const EndpointAddress& endpoint) {
  return sdk::host_port(endpoint.address, family, endpoint.port);
}

}  // namespace sluice::nftables
