// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/inspection/service_line.hpp"

#include <algorithm>
#include <cstddef>

#include "lib/text.hpp"
#include "plugins/common/inspection/rows.hpp"
#include "plugins/common/netfilter/rule_text.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/error.hpp"
#include "sluice/sdk/inspection.hpp"
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

void add(Remarks& to, std::string remark) {
  if (!lib::contains(to, remark)) to.push_back(std::move(remark));
}

std::string ranges_text(const std::vector<abi::Prefix>& ranges, abi::Family family) {
  return lib::joined(ranges, ", ", [&](const abi::Prefix& range) { return sdk::to_string(range, family); });
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

Targets nowhere(Remarks why) { return {{}, std::string(kNowhere), std::move(why)}; }

void NodePortAddresses::add(const abi::Address& address, abi::Family family) {
  only.push_back({address, static_cast<std::uint8_t>(sdk::address_bytes(family) * 8), {}});
}

Otherwise rejected(Remarks remarks) { return {abi::kInspectedRejected, "rejected, no endpoints", std::move(remarks)}; }

Otherwise dropped(Remarks remarks) {
  return {abi::kInspectedDropped, "dropped, no endpoints on this node", std::move(remarks)};
}

abi::InspectedTarget flat_target(const Target& from, std::deque<std::string>& texts) {
  abi::InspectedTarget made{};
  made.address = from.address;
  made.port = from.port;
  if (!from.object.empty()) made.flags |= abi::kTargetUnknown;
  if (from.draining) made.flags |= abi::kTargetDraining;
  made.object = sdk::view(from.object);
  if (!from.remarks.empty()) made.remarks = sdk::view(texts.emplace_back(lib::joined(from.remarks)));
  return made;
}

Row::Row(const ServiceLine& line, abi::Family family) : family_(family) {
  row_.key = sdk::parse_service_port_name(line.service_port, line.place.protocol);
  if (line.service_port.empty()) row_.flags |= abi::kInspectedNotWanted;
  row_.object = sdk::view(line.object);
  if (!line.object.empty()) return;
  row_.address = line.place.address;
  row_.port = line.place.port;
  if (line.place.node_port) row_.flags |= abi::kInspectedNodePort;
  if (line.addresses.every) row_.flags |= abi::kInspectedEveryAddress;
  if (!line.addresses.every) row_.addresses = sdk::array(line.addresses.only.data(), line.addresses.only.size());
  row_.affinity_seconds = line.sticky_seconds;
  if (line.masqueraded) row_.flags |= abi::kInspectedMasqueraded;
  row_.targets = flat(line.targets, targets_);
  row_.node_targets = flat(line.from_node, node_targets_);
  row_.flags |= line.otherwise.flag;
  row_.otherwise = sdk::view(line.otherwise.text);
  if (!line.otherwise.remarks.empty()) {
    row_.otherwise =
        sdk::view(texts_.emplace_back(line.otherwise.text + " (" + lib::joined(line.otherwise.remarks) + ")"));
  }
  if (line.only_for.restricted) row_.flags |= abi::kInspectedRestricted;
  row_.source_ranges = sdk::array(line.only_for.ranges.data(), line.only_for.ranges.size());
  row_.ranges_instead = sdk::view(line.only_for.instead);
  row_.ranges_remarks = joined(line.only_for.remarks);
  row_.remarks = joined(line.remarks);
}

abi::InspectedTargets Row::flat(const Targets& from, std::vector<abi::InspectedTarget>& to) {
  to.reserve(from.list.size());
  for (const Target& one : from.list) to.push_back(flat_target(one, texts_));
  return {sdk::array(to.data(), to.size()), sdk::view(from.instead), joined(from.remarks)};
}

abi::StringView Row::joined(const Remarks& remarks) {
  return remarks.empty() ? abi::StringView() : sdk::view(texts_.emplace_back(lib::joined(remarks)));
}

std::string Row::text() const { return sdk::inspection_line(row_, family_); }

bool Answer::wants(std::string_view service_port) const noexcept { return belongs_to(service_port, name_); }

void Answer::add(ServiceLine line) {
  if (!wants(line.service_port)) return;
  if (line.service_port.empty()) {
    add_not_wanted(std::move(line));
  } else {
    lines_.push_back(std::move(line));
  }
}

void Answer::add_not_wanted(std::string object) { add_not_wanted(ServiceLine{.object = std::move(object)}); }

void Answer::add_not_wanted(ServiceLine line) {
  if (!is_complete()) return;
  if (not_wanted_.size() < kMostNotWanted) {
    not_wanted_.push_back(std::move(line));
  } else {
    ++more_;
  }
}

void Answer::each_row(const std::function<bool(const Row&)>& visit) {
  std::stable_sort(lines_.begin(), lines_.end(),
                   [](const ServiceLine& a, const ServiceLine& b) { return a.service_port < b.service_port; });
  if (more_ != 0) not_wanted_.push_back(ServiceLine{.object = std::to_string(std::exchange(more_, 0)) + " more objects"});
  for (const auto* const lines : {&lines_, &not_wanted_}) {
    for (const ServiceLine& line : *lines) {
      if (!visit(Row(line, family_))) return;
    }
  }
}

void Answer::deliver(abi::StringSink& sink) {
  each_row([&sink](const Row& row) {
    const std::string text = row.text();
    sink.add(sdk::view(text));
    return true;
  });
}

void Answer::deliver(abi::InspectionSink& sink) {
  each_row([&sink](const Row& row) { return sink.add(sdk::array(&row.get(), 1)) != 0; });
}

}  // namespace sluice::inspection
