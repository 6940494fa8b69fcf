// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/model/listed_numbers.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace sluice::nftables {
namespace {

bool begins_with(const Key& key, const Key& prefix) {
  return key.size() >= prefix.size() && std::memcmp(key.data(), prefix.data(), prefix.size()) == 0;
}

}  // namespace

ListedNumbers::ListedNumbers(abi::Family family, const Listing& listing) : family_(family), listing_(listing) {
  read_tokens(SetId::kAffinityEndpoints);
  read_tokens(SetId::kAffinityLocalEndpoints);
  std::stable_sort(tokens_.begin(), tokens_.end(), [](const Token& a, const Token& b) { return a.token < b.token; });
}

std::vector<std::uint32_t> ListedNumbers::affinity_ids() const {
  std::vector<std::uint32_t> ids;
  const auto add = [&](std::uint32_t id) {
    if (ids.empty() || ids.back() != id) ids.push_back(id);
  };
  for (const Token& token : tokens_) add(token.token & kAffinityIdMask);
  for (const SetId set : {SetId::kAffinityServices, SetId::kAffinityNodePorts}) {
    for (std::size_t place = 0; place < records(set).size(); ++place) {
      add(read_number(records(set).data(place)) & kAffinityIdMask);
    }
  }
  return ids;
}

void ListedNumbers::read_tokens(SetId set) {
  const RecordTable& table = records(set);
  for (std::size_t place = 0; place < table.size(); ++place) {
    tokens_.push_back({last_word(table.key(place)), read_endpoint(family_, table.data(place))});
  }
}

std::vector<ListedNumbers::Token>::const_iterator ListedNumbers::find_token(std::uint32_t token) const {
  const auto before = [](const Token& entry, std::uint32_t wanted) { return entry.token < wanted; };
  return std::lower_bound(tokens_.begin(), tokens_.end(), token, before);
}

ListedNumbers::Ownership ListedNumbers::ownership(const FrontendKey& frontend, std::string_view comment) const {
  constexpr SetId kOfAddresses[] = {SetId::kServiceIps, SetId::kNoEndpointServices, SetId::kNoLocalServices,
                                    SetId::kFirewallIps};
  constexpr SetId kOfNodePorts[] = {SetId::kServiceNodePorts, SetId::kNoEndpointNodePorts, SetId::kNoLocalNodePorts};
  const Key key = frontend_key(family_, frontend);
  const std::uint64_t hash = comment_hash(comment);
  Ownership ownership = Ownership::kUnowned;
  const auto ask = [&](SetId set) {
    const std::optional<std::size_t> place = records(set).find(key);
    if (!place || ownership == Ownership::kThisServicePort) return;
    ownership = records(set).comment(*place) == hash ? Ownership::kThisServicePort : Ownership::kOtherServicePort;
  };
  if (frontend.node_port) {
    std::for_each(std::begin(kOfNodePorts), std::end(kOfNodePorts), ask);
  } else {
    std::for_each(std::begin(kOfAddresses), std::end(kOfAddresses), ask);
  }
  return ownership;
}

template <class Read>
ListedNumbers::Order ListedNumbers::slots(SetId set, const Key& prefix, bool local, std::size_t length,
                                          Read&& read) const {
  Order found(length);
  const RecordTable& table = records(set);
  for (std::size_t place = table.lower_bound(prefix); place < table.size(); ++place) {
    const Key key = table.key(place);
    if (!begins_with(key, prefix)) break;
    const std::uint32_t first = local ? kLocalSlots : kClusterSlots;
    const std::uint32_t slot = last_word(key);
    if (slot >= first && slot - first < length) found[slot - first] = read(table.data(place));
  }
  return found;
}

std::vector<EndpointAddress> ListedNumbers::order(const std::vector<FrontendKey>& frontends,
                                                  std::optional<std::uint32_t> affinity_id, bool local,
                                                  std::size_t length) const {
  std::vector<Order> orders;
  for (const FrontendKey& frontend : frontends) {
    orders.push_back(slots(frontend.node_port ? SetId::kNodePortEndpoints : SetId::kEndpoints,
                           frontend_key(family_, frontend), local, length,
                           [&](const Data& data) { return read_endpoint(family_, data); }));
  }
  if (affinity_id) {
    Key prefix;
    prefix.append(&*affinity_id, sizeof(*affinity_id));
    orders.push_back(slots(SetId::kAffinitySlots, prefix, local, length, [&](const Data& data) {
      const auto token = find_token(read_number(data));
      const bool known = token != tokens_.end() && token->token == read_number(data);
      return known ? std::optional<EndpointAddress>(token->endpoint) : std::nullopt;
    }));
  }
  std::vector<EndpointAddress> result(length);
  for (std::size_t slot = 0; slot < length; ++slot) {
    std::ptrdiff_t most = 0;
    for (const Order& order : orders) {
      if (!order[slot]) continue;
      const std::ptrdiff_t votes = std::count_if(orders.begin(), orders.end(),
                                                 [&](const Order& other) { return other[slot] == order[slot]; });
      if (votes > most) result[slot] = *order[slot];
      most = std::max(most, votes);
    }
  }
  return result;
}

std::optional<std::uint32_t> ListedNumbers::affinity_id(const std::vector<FrontendKey>& frontends,
                                                        const std::vector<EndpointAddress>& endpoints,
                                                        const std::function<bool(std::uint32_t)>& is_free) const {
  std::optional<std::uint32_t> best;
  std::size_t best_known = 0;
  for (const FrontendKey& frontend : frontends) {
    const RecordTable& table = records(frontend.node_port ? SetId::kAffinityNodePorts : SetId::kAffinityServices);
    const std::optional<std::size_t> place = table.find(frontend_key(family_, frontend));
    if (!place) continue;
    const std::uint32_t id = read_number(table.data(*place));
    if (!is_free(id)) continue;
    const std::vector<AffinityTokens::Entry> entries = tokens(id);
    const auto known = static_cast<std::size_t>(std::count_if(entries.begin(), entries.end(), [&](const auto& entry) {
      return std::binary_search(endpoints.begin(), endpoints.end(), entry.endpoint);
    }));
    if (known == 0 && !entries.empty()) continue;
    if (best && known <= best_known) continue;
    best = id;
    best_known = known;
  }
  return best;
}

std::vector<AffinityTokens::Entry> ListedNumbers::tokens(std::uint32_t affinity_id) const {
  std::vector<AffinityTokens::Entry> found;
  for (auto token = find_token(affinity_id); token != tokens_.end() && (token->token & kAffinityIdMask) == affinity_id;
       ++token) {
    found.push_back({token->endpoint, static_cast<std::uint16_t>(token->token & ~kAffinityIdMask)});
  }
  return found;
}

}  // namespace sluice::nftables
