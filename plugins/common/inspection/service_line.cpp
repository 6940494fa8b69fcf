// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/inspection/service_line.hpp"

#include <algorithm>
#include <cstddef>

#include "lib/text.hpp"
#include "plugins/common/netfilter/rule_text.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/error.hpp"
#include "sluice/sdk/service.hpp"

namespace sluice::inspection {
void refuse_before_first_apply() {
  throw sdk::Failure(abi::Code::kRetry, {}, "no Services applied yet: the daemon is still waiting for Services");
}

bool Place::operator<(const Place& other) const noexcept {
  if (node_port != other.node_port) return other.node_port;
  if (address != other.address) return address < other.address;
  if (port != other.port) return port < other.port;
  return protocol < other.protocol;
}

std::string to_string(const Place& place, abi::Family family) {
  std::string text =
      place.node_port ? ":" + std::to_string(place.port) : sdk::host_port(place.address, family, place.port);
  return text.append("/").append(sdk::protocol_name(place.protocol));
}

std::string addresses_text(std::vector<std::string> addresses) {
  if (addresses.empty()) return "no address";
  return sorted_list(std::move(addresses));
}

std::string sorted_list(std::vector<std::string> items) {
  std::sort(items.begin(), items.end());
  return lib::joined(items);
}

std::string ranges_text(const std::vector<abi::Prefix>& ranges, abi::Family family) {
  return lib::joined(ranges, ", ", [&](const abi::Prefix& range) { return sdk::to_string(range, family); });
}

void add(Remarks& to, std::string remark) {
  if (!lib::contains(to, remark)) to.push_back(std::move(remark));
}

std::string with_remarks(std::string list, const Remarks& remarks) {
  if (remarks.empty()) return list;
  const char* before = " (";
  for (const std::string& remark : remarks) list.append(std::exchange(before, ", ")).append(remark);
  return list.append(")");
}

std::vector<abi::Prefix> without_own_addresses(std::vector<abi::Prefix> sources, std::vector<abi::Address> balancer,
                                               const abi::Address& node_ip, abi::Family family) {
  const std::size_t bits = sdk::address_bytes(family) * 8;
  std::size_t count = sources.size();
  while (count != 0 && sources[count - 1].length == bits) {
    const auto own = std::find(balancer.begin(), balancer.end(), sources[count - 1].address);
    if (own == balancer.end()) break;
    balancer.erase(own);
    --count;
  }
  const auto end = sources.begin() + static_cast<std::ptrdiff_t>(count);
  const bool node =
      std::any_of(sources.begin(), end, [&](const abi::Prefix& range) { return netfilter::contains(range, node_ip); });
  if (node) sources.erase(end, sources.end());
  return sources;
}

std::string to_string(const ServiceLine& line) {
  std::string text = line.frontend;
  if (!line.addresses.empty()) text.append(" at ").append(line.addresses);
  if (line.sticky_seconds != 0) text.append(" sticky for ").append(std::to_string(line.sticky_seconds)).append(" s");
  if (line.masqueraded) text.append(" masqueraded");
  const bool has_targets = !line.targets.empty();
  if (has_targets) text.append(" -> ").append(line.targets);
  if (!line.from_node.empty()) {
    text.append(has_targets ? "; from this node -> " : " from this node -> ").append(line.from_node);
  }
  if (!line.otherwise.empty()) {
    text.append(has_targets || !line.from_node.empty() ? "; else " : " -> ").append(line.otherwise);
  }
  if (!line.only_for.empty()) text.append("; only for ").append(line.only_for);
  return text;
}

bool Answer::wants(std::string_view service_port) const noexcept {
  if (name_.empty()) return true;
  if (!service_port.starts_with(name_)) return false;
  return service_port.size() == name_.size() || service_port[name_.size()] == ':';
}

void Answer::add(const ServiceLine& line) {
  if (!wants(line.service_port)) return;
  if (line.service_port.empty()) {
    add_not_wanted(to_string(line));
    return;
  }
  lines_.emplace_back(line.service_port, to_string(line));
}

void Answer::add_not_wanted(std::string text) {
  if (!is_complete()) return;
  if (not_wanted_.size() < kMostNotWanted) {
    not_wanted_.push_back(std::move(text));
  } else {
    ++more_;
  }
}

void Answer::deliver(abi::StringSink& sink) {
  std::stable_sort(lines_.begin(), lines_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  const auto print = [&sink](std::string text) { sink.add(abi::StringView{text.data(), text.size()}); };
  for (const auto& [name, text] : lines_) print(name + " " + text);
  for (const std::string& text : not_wanted_) print(std::string(kNotWanted).append(text));
  if (more_ != 0) print(std::string(kNotWanted).append(std::to_string(more_)).append(" more objects"));
}

}  // namespace sluice::inspection
