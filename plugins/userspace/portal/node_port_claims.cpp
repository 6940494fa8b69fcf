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

std::string kept_claim_name(const ClaimedAddress& what) {
  return userspace::kept_claim_name(what.protocol, what.port, what.address);
}

}  // namespace

std::string NodePortClaims::claim(const ClaimedAddress& what, const std::string& owner) {
  if (const std::string* const other = holder(what); other != nullptr) {
    if (*other == owner) return {};
    return describe(what) + " belongs to Service port " + *other + "; give one of them another port";
  }
  Held held{owner, {}, false};
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
    if (!held.socket) held.shared = hold(other, held) != 0 || held.shared;
  });
}

void NodePortClaims::hold_as_wanted() {
  struct Shared {
    const ClaimedAddress& what;
    Held& held;
    ClaimedAddress before;
  };
  std::vector<Shared> all;
  for (auto& [what, held] : held_) {
    if (!held.shared) continue;
    all.push_back({what, held, held.socket ? claimed_by(held.socket) : what});
    // All of them first: one socket may serve for several.
    let_go(held);
  }
  for (Shared& one : all) {
    if (is_covered(one.what) || hold(one.what, one.held) == 0) continue;
    // A program has the port at another address: that is no reason to leave it what was held.
    one.held.shared = true;
    open_claim_socket(family_, one.before, one.held.socket);
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
  for (const auto& [what, held] : held_) {
    if (!held.socket) continue;
    std::string name = kept_claim_name(claimed_by(held.socket));
    kept_->keep(name, held.socket.get());
    names.insert(std::move(name));
  }
}

void NodePortClaims::release_all(bool kept) {
  for (auto& [what, held] : held_) {
    if (kept) {
      held.socket.close();
    } else {
      let_go(held);
    }
  }
  held_.clear();
}

void NodePortClaims::let_go(Held& held) const {
  if (held.socket && kept_ != nullptr) kept_->drop(kept_claim_name(claimed_by(held.socket)), held.socket.get());
  held.socket.close();
  held.shared = false;
}

int NodePortClaims::hold(const ClaimedAddress& what, Held& held) {
  held.shared = false;
  if (kept_ != nullptr) {
    held.socket = kept_->take(kept_claim_name(what), {family_, what.protocol, what.address, what.port, false});
  }
  int error = held.socket ? 0 : open_claim_socket(family_, what, held.socket);
  if (error == EADDRINUSE) {
    held.socket = process_.find(what);
    if (held.socket) error = 0;
  }
  if (error != 0) return error;
  const ClaimedAddress bound = claimed_by(held.socket);
  held.shared = !(bound == what);
  if (kept_ != nullptr) kept_->keep(kept_claim_name(bound), held.socket.get());
  return 0;
}

std::string NodePortClaims::describe(const ClaimedAddress& what) const {
  const std::string protocol = protocol_text(what.protocol);
  if (sdk::is_unspecified(what.address)) return "node port " + std::to_string(what.port) + "/" + protocol;
  return "local address " + sdk::host_port(what.address, family_, what.port) + "/" + protocol;
}

}  // namespace sluice::userspace
