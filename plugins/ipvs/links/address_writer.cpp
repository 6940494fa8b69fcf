// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/links/address_writer.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "plugins/common/log_ids.hpp"
#include "plugins/ipvs/server_types.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::ipvs {
namespace {

constexpr const char* kDummy = "dummy";

abi::Family other_than(abi::Family family) {
  return family == abi::Family::kIpv4 ? abi::Family::kIpv6 : abi::Family::kIpv4;
}

// A link of another kind may belong to another program: it is not changed.
void check_kind(const LinkState& link) {
  if (link.kind == kDummy) return;
  throw sdk::Failure(
      abi::Code::kKernel, kLinkName,
      std::string("link ") + kLinkName + " is " + (link.kind.empty() ? "a device" : "of kind " + link.kind) +
          " and not of kind dummy, so service addresses cannot be bound to it; rename or remove it: ip link "
          "del " +
          kLinkName);
}

}  // namespace

AddressWriter::AddressWriter(LinkKernel& kernel, abi::Family family, sdk::Logger log)
    : kernel_(kernel), family_(family), log_(log) {}

void AddressWriter::refresh() {
  read_back();
  if (index_ != 0) return;
  if (const auto other = kernel_.find(kLinkName)) check_kind(*other);
  kernel_.create(kLinkName);
  read_back();
  if (index_ == 0) {
    throw sdk::Failure(abi::Code::kRetry, kLinkName,
                       std::string("link ") + kLinkName + " was created and is gone again: another process removes it");
  }
  log_.info(log_id::kLinkCreated, std::string("created link ") + kLinkName);
}

void AddressWriter::read_back() {
  index_ = 0;
  held_.clear();
  refused_.clear();
  const auto link = kernel_.find(kLinkName);
  if (!link || link->kind != kDummy) {
    bound_.clear();
    return;
  }
  const auto addresses = kernel_.addresses(link->index, family_);
  index_ = link->index;
  held_.insert(addresses.begin(), addresses.end());
  // An address that is gone counts as drift only after it has been bound again.
  std::erase_if(bound_, [this](const abi::Address& address) { return !held_.contains(address); });
}

void AddressWriter::bind(const std::vector<abi::Address>& addresses) {
  restore_source(addresses);
  std::vector<abi::Address> missing;
  std::copy_if(addresses.begin(), addresses.end(), std::back_inserter(missing),
               [this](const abi::Address& address) { return !held_.contains(address); });
  if (!missing.empty()) {
    if (index_ == 0) {
      throw sdk::Failure(abi::Code::kNeedFull, kLinkName, std::string("link ") + kLinkName + " has not been created");
    }
    const std::vector<RefusedAddress> refused = kernel_.bind(index_, family_, missing);
    held_.insert(missing.begin(), missing.end());
    for (const RefusedAddress& one : refused) {
      held_.erase(one.address);
      refused_[one.address] = one.why;
    }
  }
  std::copy_if(addresses.begin(), addresses.end(), std::inserter(bound_, bound_.end()),
               [this](const abi::Address& address) { return held_.contains(address); });
}

void AddressWriter::unbind(const std::vector<abi::Address>& addresses) {
  std::vector<abi::Address> there;
  std::copy_if(addresses.begin(), addresses.end(), std::back_inserter(there),
               [this](const abi::Address& address) { return held_.contains(address); });
  if (!there.empty()) kernel_.unbind(index_, family_, there);
  for (const abi::Address& address : addresses) {
    held_.erase(address);
    bound_.erase(address);
    refused_.erase(address);
  }
}

void AddressWriter::set_source(const std::vector<abi::Address>& addresses, const abi::Address& source) {
  std::vector<abi::Address> there;
  std::copy_if(addresses.begin(), addresses.end(), std::back_inserter(there),
               [this](const abi::Address& address) { return held_.contains(address); });
  if (there.empty()) return;
  own_source_ = false;
  kernel_.set_source(index_, there, source);
}

// Undoes set_source() of a retired backend, this object or an earlier process; once.
void AddressWriter::restore_source(const std::vector<abi::Address>& wanted) {
  if (own_source_ || family_ != abi::Family::kIpv4 || wanted.empty()) return;
  if (!held_.empty()) kernel_.restore_source(index_, wanted);
  own_source_ = true;
}

std::optional<AddressDrift> AddressWriter::drift_of(const std::optional<LinkState>& link) const {
  if (!link) return AddressDrift{.kind = AddressDrift::Kind::kLinkGone};
  if (link->kind == kDummy && link->index == index_) return std::nullopt;
  return AddressDrift{.kind = AddressDrift::Kind::kLinkReplaced,
                      .found = link->kind == kDummy ? "replaced" : "replaced by a link that is not of kind dummy"};
}

std::vector<abi::Address> AddressWriter::missing_in(const std::vector<abi::Address>& found) const {
  std::vector<abi::Address> missing;
  std::set_difference(bound_.begin(), bound_.end(), found.begin(), found.end(), std::back_inserter(missing));
  return missing;
}

std::optional<std::string> AddressWriter::find_drift() {
  if (index_ == 0) return std::nullopt;  // not written yet
  const std::string name = std::string("link ") + kLinkName;
  if (const auto drift = drift_of(kernel_.find(kLinkName))) {
    return name + (drift->kind == AddressDrift::Kind::kLinkGone ? " is gone" : " was " + drift->found);
  }
  if (bound_.empty()) return std::nullopt;
  auto addresses = kernel_.addresses(index_, family_);
  std::sort(addresses.begin(), addresses.end());
  const std::vector<abi::Address> missing = missing_in(addresses);
  if (missing.empty()) return std::nullopt;
  return name + " lacks " + std::to_string(missing.size()) + " of " + std::to_string(bound_.size()) + " addresses, " +
         sdk::to_string(missing.front(), family_) + " for one";
}

void AddressWriter::list_drift(const OnAddressDrift& on_drift) {
  if (index_ == 0) return;  // not written yet
  const auto link = kernel_.find(kLinkName);
  if (const auto drift = drift_of(link)) on_drift(*drift);
  std::vector<abi::Address> found;
  if (link && link->kind == kDummy) found = kernel_.addresses(link->index, family_);
  std::sort(found.begin(), found.end());
  for (const abi::Address& address : missing_in(found)) {
    on_drift({.kind = AddressDrift::Kind::kMissing, .address = address});
  }
  for (const abi::Address& address : found) {
    if (!bound_.contains(address)) on_drift({.kind = AddressDrift::Kind::kAdded, .address = address});
  }
}

void AddressWriter::remove_all() {
  held_.clear();
  bound_.clear();
  index_ = 0;
  const auto link = kernel_.find(kLinkName);
  if (!link || link->kind != kDummy) return;
  // Removing the link removes all addresses at once. The other family may do the same now, so its addresses are read
  // again after ours have gone.
  if (!kernel_.addresses(link->index, other_than(family_)).empty()) {
    kernel_.unbind(link->index, family_, kernel_.addresses(link->index, family_));
    if (!kernel_.addresses(link->index, other_than(family_)).empty()) return;
  }
  kernel_.remove(link->index);
}

}  // namespace sluice::ipvs
