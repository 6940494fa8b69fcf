// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Keeps kube-ipvs0 and its addresses of one family; the other family's instance shares the link.
// The apply thread only.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plugins/ipvs/links/link_kernel.hpp"
#include "sluice/sdk/logger.hpp"

namespace sluice::ipvs {

class AddressWriter {
 public:
  // `kernel` outlives this.
  AddressWriter(LinkKernel& kernel, abi::Family family, sdk::Logger log);

  // Makes the link when it is missing; reads its addresses. A link of that name that is no dummy is an error that says
  // what to do. All that is wanted is to be given to bind() then, held or not: that is what find_damage() looks for.
  // Throws sdk::Failure.
  void refresh();
  // As refresh(), but makes nothing; a link that is no dummy counts as none.
  void look();

  const std::set<abi::Address>& held() const noexcept { return held_; }

  // What is held already (or not) costs nothing, but for the first bind() and the one after set_source(): then what is sent
  // to such an address comes from the address itself again. What no link can have stays out. Throw sdk::Failure;
  // refresh() is needed then.
  void bind(const std::vector<abi::Address>& addresses);
  void unbind(const std::vector<abi::Address>& addresses);
  // What stayed out since refresh() and has not been unbound, and why, a sentence each.
  const std::map<abi::Address, std::string>& refused() const noexcept { return refused_; }

  // See LinkKernel. What is not held is passed over.
  void set_source(const std::vector<abi::Address>& addresses, const abi::Address& source);

  // What is damaged of what was written, in a phrase: the link is gone or another one, addresses are missing. Addresses
  // others have added stay and are no damage. Throws sdk::Failure.
  std::optional<std::string> find_damage();

  // Takes our family's addresses off, and the link once it carries none of the other family.
  void remove_all();

 private:
  void restore_source(const std::vector<abi::Address>& wanted);

  LinkKernel& kernel_;
  abi::Family family_;
  sdk::Logger log_;
  int index_ = 0;  // 0: there is no link
  std::set<abi::Address> held_;
  std::set<abi::Address> bound_;  // by us: what find_damage() looks for
  bool own_source_ = false;       // nothing that is held has another source than itself
  std::map<abi::Address, std::string> refused_;
};

}  // namespace sluice::ipvs
