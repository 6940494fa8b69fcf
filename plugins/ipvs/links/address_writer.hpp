// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Keeps kube-ipvs0 and its addresses of one family; the other family's instance shares the link. The apply thread
// only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plugins/ipvs/links/link_kernel.hpp"
#include "sluice/sdk/logger.hpp"

namespace sluice::ipvs {

struct AddressDrift {
  enum class Kind : std::uint8_t { kLinkGone, kLinkReplaced, kMissing, kAdded };
  Kind kind{};
  abi::Address address{};  // of kMissing and kAdded
  std::string found{};     // of kLinkReplaced: "replaced"
};
using OnAddressDrift = std::function<void(const AddressDrift&)>;

class AddressWriter {
 public:
  // `kernel` outlives this.
  AddressWriter(LinkKernel& kernel, abi::Family family, sdk::Logger log);

  // Creates the link if it is missing and reads its addresses. If the link exists and is not a dummy, throws with the
  // remedy. The caller must then pass all wanted addresses to bind(), because find_drift() checks those. Throws
  // sdk::Failure.
  void refresh();
  // As refresh(), but creates nothing; a link that is not a dummy counts as missing.
  void read_back();

  const std::set<abi::Address>& held() const noexcept { return held_; }

  // Addresses that are bound already (or not, for unbind) cost nothing, except in the first bind() and the one after
  // set_source(), which restore each address as its own source. Addresses that the kernel rejects are skipped. Throw
  // sdk::Failure; refresh() is needed then.
  void bind(const std::vector<abi::Address>& addresses);
  void unbind(const std::vector<abi::Address>& addresses);
  // Addresses the kernel rejected since refresh() and that have not been unbound, with the reason as a sentence.
  const std::map<abi::Address, std::string>& refused() const noexcept { return refused_; }

  // See LinkKernel. Addresses that are not bound are ignored.
  void set_source(const std::vector<abi::Address>& addresses, const abi::Address& source);

  // Drift since the last write, as a phrase: the link is gone or replaced, or addresses are missing. Foreign
  // addresses are ignored. Throws sdk::Failure.
  std::optional<std::string> find_drift();
  // All drift, and addresses of other processes (kAdded). All addresses of a link that is gone are missing. Changes
  // nothing. Throws sdk::Failure.
  void list_drift(const OnAddressDrift& on_drift);

  // Removes our family's addresses, and the link unless it has addresses of the other family.
  void remove_all();

 private:
  void restore_source(const std::vector<abi::Address>& wanted);
  // kLinkGone or kLinkReplaced.
  std::optional<AddressDrift> drift_of(const std::optional<LinkState>& link) const;
  // Of `bound_`; `found` is sorted.
  std::vector<abi::Address> missing_in(const std::vector<abi::Address>& found) const;

  LinkKernel& kernel_;
  abi::Family family_;
  sdk::Logger log_;
  int index_ = 0;  // 0: no link
  std::set<abi::Address> held_;
  std::set<abi::Address> bound_;  // by us; find_drift() checks these
  bool own_source_ = false;       // every bound address is its own source
  std::map<abi::Address, std::string> refused_;
};

}  // namespace sluice::ipvs
