// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The objects on this node to remove: those of kube-proxy's modes that no running backend uses, and those that the
// ownership ledger lists for a backend that is gone. No I/O; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/cleanup/names.hpp"
#include "lib/ip.hpp"
#include "sluice/sdk/claims.hpp"

namespace sluice::cleanup {

class Selection {
 public:
  // Selects the objects of the modes `gone`, except those that the modes `kept` make too.
  Selection(Modes gone, Modes kept) : gone_(gone & ~kept), kept_(kept) {}

  // Never selects this artifact: a running backend claims it. Claims of unknown kinds have no effect, since objects of
  // such kinds are never removed.
  void keep(lib::Family family, std::string_view claim);
  // Selects this artifact: the ownership ledger lists it for a backend that is gone. False, and not selected, if it has
  // a kind or a name that must not be removed.
  bool add(lib::Family family, std::string_view claim);

  // A copy that keeps what connections through IPVS virtual servers need: the servers, their link, and the sets that
  // identify them.
  Selection without_virtual_servers() const;

  bool chain(lib::Family family, std::string_view table, std::string_view chain) const;
  // Whether the chain is selected because the ownership ledger lists it; every plain jump to it is removed too.
  bool is_claimed_chain(lib::Family family, std::string_view table, std::string_view chain) const;
  // Whether to remove a jump to a chain that stays: only modes `gone` make the jump, and a mode `kept` makes the chain.
  bool jump(const KnownJump& jump) const;
  bool set(std::string_view name) const;
  bool virtual_servers() const;
  // `family`: nft's name of it, "ip", "ip6", "inet".
  bool table(std::string_view family, std::string_view name) const;
  std::vector<std::string> links() const;

  // The modes `gone` that make this chain; for messages.
  Modes mode_of_chain(std::string_view table, std::string_view chain) const;

 private:
  // "iptables/nat/KUBE-SVC-*", parsed.
  struct Claim {
    lib::Family family;
    std::string kind;
    std::string place;  // iptables table, nft family, or empty
    std::string name;   // including a final "*"
    bool is_pattern() const { return name.ends_with('*'); }
    bool covers(std::string_view other) const { return sdk::covers(name, other); }
  };
  using Claims = std::vector<Claim>;
  static bool parse(lib::Family family, std::string_view text, Claim& into);
  static bool covered(const Claims& claims, lib::Family family, std::string_view kind, std::string_view place,
                      std::string_view name);

  Modes gone_;
  Modes kept_;
  bool servers_stay_ = false;
  Claims keep_;
  Claims add_;
};

}  // namespace sluice::cleanup
