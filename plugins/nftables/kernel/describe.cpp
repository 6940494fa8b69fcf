// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Describes messages and elements for refusals.
#include <cstring>
#include <string>

#include "lib/protocol.hpp"
#include "plugins/nftables/kernel/encoder.hpp"
#include "plugins/nftables/kernel/table_kernel.hpp"
#include "plugins/nftables/layout/layout.hpp"

namespace sluice::nftables {
namespace {

std::uint32_t word_at(const Key& key, std::size_t at) {
  std::uint32_t word = 0;
  if (key.size() >= at + sizeof(word)) std::memcpy(&word, key.data() + at, sizeof(word));
  return word;
}

abi::Address address_in(abi::Family family, const Key& key, std::size_t at) {
  abi::Address address{};
  const std::size_t size = family == abi::Family::kIpv6 ? 16 : 4;
  if (key.size() >= at + size) std::memcpy(address.bytes, key.data() + at, size);
  return address;
}

std::string protocol_name(std::uint8_t number) {
  const std::string_view name = lib::protocol_name(number);
  return std::string(name.empty() ? "other" : name);
}

// Cuts the ":0" of an endpoint with port 0.
std::string address_text(abi::Family family, const abi::Address& address) {
  std::string text = to_string(family, EndpointAddress{address, 0});
  text.resize(text.rfind(':'));
  if (text.front() == '[') text = text.substr(1, text.size() - 2);
  return text;
}

std::string key_text(abi::Family family, const Record& record) {
  const Key& key = record.key;
  switch (record.set) {
    case SetId::kClusterIps:
    case SetId::kNodePortIps:
      return address_text(family, address_in(family, key, 0));
    case SetId::kHairpin: {
      const std::size_t size = family == abi::Family::kIpv6 ? 16 : 4;
      const std::uint8_t protocol = key.size() > 2 * size ? key.data()[2 * size] : 0;
      const std::uint8_t* const port = key.size() >= 2 * size + 8 ? key.data() + 2 * size + 4 : nullptr;
      const auto number = static_cast<std::uint16_t>(port == nullptr ? 0 : port[0] << 8 | port[1]);
      return to_string(family, EndpointAddress{address_in(family, key, 0), number}) + "/" + protocol_name(protocol);
    }
    case SetId::kAffinitySlots:
      return "id " + std::to_string(word_at(key, 0) >> 16) + " slot " + std::to_string(last_word(key));
    case SetId::kAffinityEndpoints:
    case SetId::kAffinityLocalEndpoints:
      return protocol_name(key.empty() ? 0 : key.data()[0]) + " token " + std::to_string(last_word(key));
    default:
      break;
  }
  const auto frontend = frontend_in(family, record);
  if (!frontend) return {};
  const bool has_slot = record.set == SetId::kEndpoints || record.set == SetId::kNodePortEndpoints;
  return to_string(family, *frontend) + (has_slot ? " slot " + slot_text(last_word(key)) : std::string());
}

}  // namespace

std::string table_text(abi::Family family) {
  return "table " + std::string(names::nft_family(family == abi::Family::kIpv6)) + " " + kTableName;
}

std::string set_name(abi::Family family, SetId id) { return set_spec(family, id).name; }

std::string describe(abi::Family family, const Record& record) {
  return "element " + key_text(family, record) + " of " + set_name(family, record.set);
}

std::string describe(abi::Family family, const Batch& batch, const Encoded& encoded, const Encoded::Part& part) {
  switch (part.kind) {
    case Encoded::Kind::kDeleteTable:
      return "the removal of the table";
    case Encoded::Kind::kCreateTable:
      return "the table";
    case Encoded::Kind::kSet:
      return "set " + batch.create_sets[part.index].name;
    case Encoded::Kind::kFlowtable:
      return std::string("flowtable ") + kFlowtableName;
    case Encoded::Kind::kChain:
      return "chain " + batch.chains[part.index].spec.name;
    case Encoded::Kind::kClear:
      return "the removal of the rules of chain " + batch.chains[part.index].spec.name;
    case Encoded::Kind::kRule:
      return "rule " + std::to_string(part.count + 1) + " of chain " + batch.chains[part.index].spec.name;
    case Encoded::Kind::kDispatch: {
      const DispatchWrite& write = batch.dispatch[part.index];
      const SetSpec spec = write.firewall ? firewall_chains_spec(family) : service_chains_spec(family);
      return (write.remove ? "the removal of element " : "element ") + std::to_string(write.number) + " (" + write.chain +
             ") of " + spec.name;
    }
    case Encoded::Kind::kElements: {
      const ElementWrite& first = batch.elements[encoded.order[part.index]];
      const std::string prefix = first.remove ? "the removal of " : "";
      if (part.count == 1) return prefix + describe(family, first.record);
      return prefix + std::to_string(part.count) + " elements of " + set_name(family, first.record.set);
    }
    case Encoded::Kind::kClients:
      return std::to_string(part.count) + " clients of " + affinity_spec(family, 0).name;
    case Encoded::Kind::kEmpty:
      return "the removal of the rules of chain " + batch.remove_chains[part.index];
    case Encoded::Kind::kRemove:
      return "the removal of chain " + batch.remove_chains[part.index];
    case Encoded::Kind::kRemoveInterfaces:
      return std::to_string(part.count) + " interfaces to be removed from flowtable " + kFlowtableName;
    case Encoded::Kind::kAddInterfaces:
      return std::to_string(part.count) + " interfaces of flowtable " + kFlowtableName;
  }
  return {};
}

}  // namespace sluice::nftables
