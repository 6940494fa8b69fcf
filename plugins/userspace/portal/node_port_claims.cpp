// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/portal/node_port_claims.hpp"

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "plugins/common/sockets/port_holder.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::userspace {
namespace {

const char* protocol_text(abi::Protocol protocol) { return protocol == abi::Protocol::kUdp ? "UDP" : "TCP"; }

}  // namespace

std::string NodePortClaims::claim(const ClaimedAddress& what, const std::string& owner) {
  if (const std::string* const other = holder(what); other != nullptr) {
    if (*other == owner) return {};
    return describe(what) + " belongs to Service port " + *other + "; give one of them another port";
  }
  Held held{owner, {}, {}, false, false};
  const int error = is_covered(what) ? 0 : hold_alone(what, held);
  if (error == EADDRINUSE) {
    std::string who = "a program of this node";
    if (looks_ > 0) {
      --looks_;
      who = sockets::find_port_holder(family_, what.protocol, what.address, what.port);
    }
    return describe(what) + " is in use by " + who + "; stop it, or give the Service another port";
  }
  if (error != 0) return describe(what) + " cannot be held: " + std::strerror(error);
  held_.emplace(what, std::move(held));
  return {};
}

// A node port of every address and an external IP with the same port are no conflict, whoever they belong to: the
// rules ask for the address first (BEH case 71). One socket holds the port for both.
bool NodePortClaims::is_covered(const ClaimedAddress& what) const {
  return !sdk::is_unspecified(what.address) && held_.contains({abi::Address{}, what.port, what.protocol});
}

int NodePortClaims::hold_alone(const ClaimedAddress& what, Held& held) {
  if (!sdk::is_unspecified(what.address)) return hold(what, held);
  // Our own sockets at single addresses are in the way of the one that holds them all.
  each_at(what, [this](const ClaimedAddress&, Held& other) { let_go(other); });
  const int error = hold(what, held);
  if (error != 0) hold_each_at(what);
  return error;
}

template <class Visit>
void NodePortClaims::each_at(const ClaimedAddress& what, const Visit& visit) {
  for (auto at = held_.lower_bound({abi::Address{}, what.port, what.protocol});
       at != held_.end() && at->first.port == what.port && at->first.protocol == what.protocol; ++at) {
    visit(at->first, at->second);
  }
}

// Those that were covered are to be held by themselves now. Should somebody be quicker, the Service keeps its address
// all the same: it was there first.
void NodePortClaims::hold_each_at(const ClaimedAddress& what) {
  each_at(what, [this](const ClaimedAddress& other, Held& held) {
    if (!held.socket) held.deviates = hold(other, held) != 0 || held.deviates;
  });
}

void NodePortClaims::hold_as_wanted() {
  struct Deviating {
    const ClaimedAddress& what;
    Held& held;
    ClaimedAddress before;
  };
  std::vector<Deviating> all;
  for (auto& [what, held] : held_) {
    if (!held.received && !held.deviates) continue;
    if (held.received && is_of_another_backend(held)) continue;
    if (held.deviates) {
      all.push_back({what, held, held.socket ? claimed_by(held.socket) : what});
      continue;
    }
    // That backend has gone, and this one has the right socket.
    held.received = false;
    const std::string before = held.name;
    keep(held);
    kept_->drop(before, held.socket.get());
  }
  // All of them first: one socket may serve for several.
  for (Deviating& one : all) let_go(one.held);
  for (Deviating& one : all) {
    if (is_covered(one.what) || hold(one.what, one.held) == 0) continue;
    // A program has the port at another address: that is no reason to leave it what was held.
    one.held.deviates = true;
    if (open_claim_socket(family_, one.before, one.held.socket) == 0) keep(one.held);
  }
}

void NodePortClaims::release(const ClaimedAddress& what, const std::string& owner) {
  const auto held = find(what, owner);
  let_go(held->second);
  held_.erase(held);
  if (sdk::is_unspecified(what.address)) hold_each_at(what);
}

void NodePortClaims::hand_over(const ClaimedAddress& what, const std::string& from, const std::string& to) {
  find(what, from)->second.owner = to;
}

const std::string* NodePortClaims::holder(const ClaimedAddress& what) const {
  const auto held = held_.find(what);
  return held == held_.end() ? nullptr : &held->second.owner;
}

NodePortClaims::Map::iterator NodePortClaims::find(const ClaimedAddress& what, const std::string& owner) {
  const auto held = held_.find(what);
  if (held == held_.end() || held->second.owner != owner) {
    throw std::logic_error(describe(what) + " is not held by " + owner);
  }
  return held;
}

void NodePortClaims::keep_all(std::set<std::string>& names) {
  if (kept_ == nullptr) return;
  std::set<std::string> own;
  for (auto& [what, held] : held_) {
    if (!held.socket) continue;
    keep(held);
    own.insert(held.name);
  }
  if (beside_predecessor_) of_others_.add_names_of_others(own, names);
  names.merge(own);
}

void NodePortClaims::release_all() {
  for (auto& [what, held] : held_) let_go(held);
  held_.clear();
}

void NodePortClaims::keep(Held& held) {
  if (kept_ == nullptr) return;
  const ClaimedAddress bound = claimed_by(held.socket);
  held.name = held.received ? of_others_.received_name(bound) : print_claim_name({bound, {}});
  kept_->keep(held.name, held.socket.get());
}

bool NodePortClaims::is_of_another_backend(const Held& held) {
  return held.socket && of_others_.is_shared(claimed_by(held.socket), held.socket.get(), held.name);
}

void NodePortClaims::let_go(Held& held) {
  if (held.socket && !held.name.empty()) {
    bool serves_another = false;
    each_at(claimed_by(held.socket), [&](const ClaimedAddress&, const Held& other) {
      serves_another = serves_another || (&other != &held && other.socket && other.name == held.name);
    });
    if (!serves_another) kept_->drop(held.name, held.socket.get());
  }
  held.socket.close();
  held.name.clear();
  held.received = held.deviates = false;
}

int NodePortClaims::hold(const ClaimedAddress& what, Held& held) {
  int error = 0;
  if (kept_ != nullptr) {
    held.socket = kept_->take(print_claim_name({what, {}}), {family_, what.protocol, what.address, what.port, false});
  }
  held.received = beside_predecessor_ && held.socket;
  if (!held.socket) error = open_claim_socket(family_, what, held.socket);
  if (error == EADDRINUSE) {
    held.socket = of_others_.find(what);
    held.received = beside_predecessor_ && held.socket;
    if (held.socket) error = 0;
  }
  if (error != 0) return error;
  held.deviates = !(claimed_by(held.socket) == what);
  keep(held);
  return 0;
}

std::string NodePortClaims::describe(const ClaimedAddress& what) const {
  const std::string protocol = protocol_text(what.protocol);
  if (sdk::is_unspecified(what.address)) return "node port " + std::to_string(what.port) + "/" + protocol;
  return "local address " + sdk::host_port(what.address, family_, what.port) + "/" + protocol;
}

}  // namespace sluice::userspace
