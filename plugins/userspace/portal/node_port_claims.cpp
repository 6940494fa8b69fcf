// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/portal/node_port_claims.hpp"

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lib/program.hpp"
#include "lib/protocol.hpp"
#include "plugins/common/sockets/port_holder.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::userspace {
std::string NodePortClaims::claim(const ClaimedAddress& claimed, const std::string& owner) {
  if (const std::string* const other = holder(claimed); other != nullptr) {
    if (*other == owner) return {};
    return describe(claimed) + " belongs to Service port " + *other + "; give one of them another port";
  }
  Held held{owner, {}, {}, false, false};
  const int error = is_covered(claimed) ? 0 : hold_alone(claimed, held);
  if (error == EADDRINUSE) {
    std::string holder_name = "a program of this node";
    if (searches_left_ > 0) {
      --searches_left_;
      holder_name = sockets::find_port_holder(family_, claimed.protocol, claimed.address, claimed.port);
    }
    return describe(claimed) + " is in use by " + holder_name + "; stop it, or give the Service another port";
  }
  if (error != 0) return describe(claimed) + " cannot be held: " + std::strerror(error);
  held_.emplace(claimed, std::move(held));
  return {};
}

// A node port of every address and an external IP with the same port do not conflict, even of different Services: the
// rules match the address first (BEH case 71). One socket holds the port for both.
bool NodePortClaims::is_covered(const ClaimedAddress& claimed) const {
  return !sdk::is_unspecified(claimed.address) && held_.contains({abi::Address{}, claimed.port, claimed.protocol});
}

int NodePortClaims::hold_alone(const ClaimedAddress& claimed, Held& held) {
  if (!sdk::is_unspecified(claimed.address)) return hold(claimed, held);
  // Own sockets at single addresses would block the bind to every address.
  each_at(claimed, [this](const ClaimedAddress&, Held& other) { release_socket(other); });
  const int error = hold(claimed, held);
  if (error != 0) hold_each_at(claimed);
  return error;
}

template <class Visit>
void NodePortClaims::each_at(const ClaimedAddress& claimed, const Visit& visit) {
  for (auto at = held_.lower_bound({abi::Address{}, claimed.port, claimed.protocol});
       at != held_.end() && at->first.port == claimed.port && at->first.protocol == claimed.protocol; ++at) {
    visit(at->first, at->second);
  }
}

// Claims that the released socket covered need sockets of their own. If another program takes the port first, the
// Service keeps its address all the same, since it claimed it earlier.
void NodePortClaims::hold_each_at(const ClaimedAddress& claimed) {
  each_at(claimed, [this](const ClaimedAddress& other, Held& held) {
    if (!held.socket) held.is_elsewhere = hold(other, held) != 0 || held.is_elsewhere;
  });
}

void NodePortClaims::bind_own_sockets() {
  struct Deviating {
    const ClaimedAddress& claimed;
    Held& held;
    ClaimedAddress before;
  };
  std::vector<Deviating> all;
  for (auto& [claimed, held] : held_) {
    if (!held.received && !held.is_elsewhere) continue;
    if (held.received && is_of_another_backend(held)) continue;
    if (held.is_elsewhere) {
      all.push_back({claimed, held, held.socket ? claimed_by(held.socket) : claimed});
      continue;
    }
    // The other backend has released the socket; it already has the right address.
    held.received = false;
    const std::string before = held.name;
    keep(held);
    kept_->drop(before, held.socket.get());
  }
  // Close all sockets before binding new ones: one socket may serve for several claims.
  for (Deviating& one : all) release_socket(one.held);
  for (Deviating& one : all) {
    if (is_covered(one.claimed) || hold(one.claimed, one.held) == 0) continue;
    // A program has the port at another address: bind at least the addresses that were held before.
    one.held.is_elsewhere = true;
    if (open_claim_socket(family_, one.before, one.held.socket) == 0) keep(one.held);
  }
}

void NodePortClaims::release(const ClaimedAddress& claimed, const std::string& owner) {
  const auto held = find(claimed, owner);
  release_socket(held->second);
  held_.erase(held);
  if (sdk::is_unspecified(claimed.address)) hold_each_at(claimed);
}

void NodePortClaims::hand_over(const ClaimedAddress& claimed, const std::string& from, const std::string& to) {
  find(claimed, from)->second.owner = to;
}

const std::string* NodePortClaims::holder(const ClaimedAddress& claimed) const {
  const auto held = held_.find(claimed);
  return held == held_.end() ? nullptr : &held->second.owner;
}

NodePortClaims::Map::iterator NodePortClaims::find(const ClaimedAddress& claimed, const std::string& owner) {
  const auto held = held_.find(claimed);
  if (held == held_.end() || held->second.owner != owner) {
    throw std::logic_error(describe(claimed) + " is not held by " + owner);
  }
  return held;
}

void NodePortClaims::keep_all(std::set<std::string>& names) {
  if (kept_ == nullptr) return;
  std::set<std::string> own;
  for (auto& [claimed, held] : held_) {
    if (!held.socket) continue;
    keep(held);
    own.insert(held.name);
  }
  if (beside_old_backend_) kept_claims_.add_names_of_other_backends(own, names);
  names.merge(own);
}

void NodePortClaims::release_all() {
  for (auto& [claimed, held] : held_) release_socket(held);
  held_.clear();
}

void NodePortClaims::keep(Held& held) {
  if (kept_ == nullptr) return;
  const ClaimedAddress bound = claimed_by(held.socket);
  held.name = held.received ? kept_claims_.received_name(bound) : print_claim_name({bound, {}});
  kept_->keep(held.name, held.socket.get());
}

bool NodePortClaims::is_of_another_backend(const Held& held) {
  return held.socket && kept_claims_.is_shared(claimed_by(held.socket), held.socket.get(), held.name);
}

void NodePortClaims::release_socket(Held& held) {
  if (held.socket && !held.name.empty()) {
    bool serves_another = false;
    each_at(claimed_by(held.socket), [&](const ClaimedAddress&, const Held& other) {
      serves_another = serves_another || (&other != &held && other.socket && other.name == held.name);
    });
    if (!serves_another) kept_->drop(held.name, held.socket.get());
  }
  held.socket.reset();
  held.name.clear();
  held.received = held.is_elsewhere = false;
}

int NodePortClaims::hold(const ClaimedAddress& claimed, Held& held) {
  int error = 0;
  if (kept_ != nullptr) {
    held.socket =
        kept_->take(print_claim_name({claimed, {}}), {family_, claimed.protocol, claimed.address, claimed.port, false});
  }
  held.received = beside_old_backend_ && held.socket;
  if (!held.socket) error = open_claim_socket(family_, claimed, held.socket);
  if (error == EADDRINUSE) {
    // The port may have been released a short time ago.
    lib::await_starting_programs();
    error = open_claim_socket(family_, claimed, held.socket);
  }
  if (error == EADDRINUSE) {
    held.socket = kept_claims_.find(claimed);
    held.received = beside_old_backend_ && held.socket;
    if (held.socket) error = 0;
  }
  if (error != 0) return error;
  held.is_elsewhere = !(claimed_by(held.socket) == claimed);
  keep(held);
  return 0;
}

std::string NodePortClaims::describe(const ClaimedAddress& claimed) const {
  const std::string protocol(lib::upper_protocol_name(claimed.protocol));
  if (sdk::is_unspecified(claimed.address)) return "node port " + std::to_string(claimed.port) + "/" + protocol;
  return "local address " + sdk::host_port(claimed.address, family_, claimed.port) + "/" + protocol;
}

}  // namespace sluice::userspace
