// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The claims that the daemon keeps for this backend id and family, those of another backend of this process among
// them. They are found by their names, so no descriptor of the process is inspected that the daemon has not passed.
//
// The names say which backend holds what. A backend drops the names it has given, when it releases the claim, and no
// others. The backend that opened a socket keeps it as kept_claim_name() says. One that received the socket from
// another backend, which may release it first, keeps it by a name of its own as well: with its tag at the end.
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
  ClaimedAddress what;
  std::string tag;  // of the backend that received the socket; empty: of the one that opened it
};
std::string print_claim_name(const ClaimName& name);
// None: it is another name.
std::optional<ClaimName> parse_claim_name(std::string_view text);

// The apply thread only.
class KeptClaims {
 public:
  // `kept` may be null; otherwise it outlives this.
  KeptClaims(abi::Family family, KeptSockets* kept);

  // A duplicate of a claim that is in the way of `what`: at the same address or, if one of the two is of every address,
  // at any. None: no backend of this process holds the port.
  Descriptor find(const ClaimedAddress& what);
  // Whether another backend holds this very socket. `own` is the name that this one has given.
  bool is_shared(const ClaimedAddress& bound, int socket, const std::string& own);
  // By which a socket that was received is kept.
  std::string received_name(const ClaimedAddress& bound) const { return print_claim_name({bound, tag_}); }
  // Names that other backends have given.
  void add_names_of_others(const std::set<std::string>& own, std::set<std::string>& names);
  // The names are listed the next time, and then only once until this is called.
  void look_again() noexcept { seen_.reset(); }

 private:
  const std::vector<ClaimName>& seen();
  // Those of one port and protocol.
  template <class Visit>
  void each_at(const ClaimedAddress& what, const Visit& visit);

  abi::Family family_;
  KeptSockets* kept_;
  std::string tag_;
  std::optional<std::vector<ClaimName>> seen_;  // sorted by what is claimed
};

}  // namespace sluice::userspace
