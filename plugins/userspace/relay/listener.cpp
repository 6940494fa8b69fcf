// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/relay/listener.hpp"

namespace sluice::userspace {

void Listener::set_frontends(const ClientFrontends& frontends) {
  const lib::Lock lock(mutex_);
  frontends_ = frontends;
}

Listener::Client Listener::client(const abi::Address& address, const Arrival& arrival) const {
  const std::shared_ptr<const ClientFacts> facts = policy_ == nullptr ? nullptr : policy_->facts();
  if (facts == nullptr) return {};
  ClientFrontends frontends;
  {
    const lib::Lock lock(mutex_);
    frontends = frontends_;
  }
  if (!keeps_client_address(*facts, frontends, address, arrival)) return {};
  return {true, facts->of_this_node(address), facts->possible};
}

}  // namespace sluice::userspace
