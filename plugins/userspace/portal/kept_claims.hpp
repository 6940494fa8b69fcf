// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The claim sockets that the daemon keeps for this backend id and family, including those of another backend of this
// process. They are found by name, so only descriptors received from the daemon are inspected.
//
// The name says which backend holds the claim. The backend that opened a socket keeps it under kept_claim_name(). A
// backend that received the socket from another backend keeps it also under its own name, with its tag appended, since
// the other backend may release it first. A backend drops only names that it gave.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/userspace/portal/claim_socket.hpp"
#include "plugins/userspace/portal/kept_sockets.hpp"

namespace sluice::userspace {

struct ClaimName {
  ClaimedAddress claimed;
  std::string tag;  // of the backend that received the socket; empty: the backend opened it
};
std::string print_claim_name(const ClaimName& name);
// Empty: not the name of a claim.
std::optional<ClaimName> parse_claim_name(std::string_view text);

// Apply thread only.
class KeptClaims {
 public:
  // `kept` may be null; otherwise it outlives this.
  KeptClaims(abi::Family family, KeptSockets* kept);

  // A duplicate of a socket that overlaps `claimed`. None: no backend of this process holds the port.
  lib::Fd find(const ClaimedAddress& claimed);
  // Whether another backend holds the same socket. `own` is the name that this backend gave it.
  bool is_shared(const ClaimedAddress& bound, int socket, const std::string& own);
  // The name for a socket received from another backend.
  std::string received_name(const ClaimedAddress& bound) const { return print_claim_name({bound, tag_}); }
  // Adds the names that other backends gave.
  void add_names_of_other_backends(const std::set<std::string>& own, std::set<std::string>& names);
  // The names are listed at the first use after this call.
  void forget_listing() noexcept { listed_.reset(); }

 private:
  const std::vector<ClaimName>& listed();
  // Visits the claims of one port and protocol.
  template <class Visit>
  void each_at(const ClaimedAddress& claimed, const Visit& visit);

  abi::Family family_;
  KeptSockets* kept_;
  std::string tag_;
  std::optional<std::vector<ClaimName>> listed_;  // sorted by claimed address
};

}  // namespace sluice::userspace
