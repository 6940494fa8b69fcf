// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Which things on this node are to go: those of kube-proxy's modes, without what somebody
// who stays uses, and those a ledger of claims names. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/ip.hpp"
#include "core/cleanup/names.hpp"
#include "sluice/sdk/claims.hpp"

namespace sluice::cleanup {

class Selection {
 public:
  // What the modes `gone` make, but for what the modes `kept` make as well.
  Selection(Modes gone, Modes kept) : gone_(gone & ~kept), kept_(kept) {}

  // An artifact of this family stays, whoever makes it: what a running backend claims. A
  // claim of a kind that is not known here protects nothing, as nothing of it is removed.
  void keep(base::Family family, std::string_view claim);
  // An artifact goes, whoever made it: what a ledger says of a backend that is gone. False
  // for a kind or a name that no remover here may touch; the artifact then stays.
  bool add(base::Family family, std::string_view claim);

  // The same, but for what connections through virtual servers of IPVS need: these, their link and the sets that tell
  // whose they are.
  Selection without_virtual_servers() const;

  bool chain(base::Family family, std::string_view table, std::string_view chain) const;
  // The chain is to go because a ledger names it, so that every plain jump to it goes too.
  bool chain_by_ledger(base::Family family, std::string_view table, std::string_view chain) const;
  // A jump that only modes that are to go make, to a chain they share with one that is kept, which would not have it.
  bool jump(const KnownJump& jump) const;
  bool set(std::string_view name) const;
  bool virtual_servers() const;
  // `family` as nft names it: "ip", "ip6", "inet".
  bool table(std::string_view family, std::string_view name) const;
  std::vector<std::string> links() const;

  // The modes something belongs to that nobody who stays shares; for people.
  Modes mode_of_chain(std::string_view table, std::string_view chain) const;

 private:
  // "iptables/nat/KUBE-SVC-*", taken apart.
  struct Claim {
    base::Family family;
    std::string kind;
    std::string place;  // table of iptables, family of nft; else empty
    std::string name;   // with its "*"
    bool is_pattern() const { return name.ends_with('*'); }
    bool covers(std::string_view other) const { return sdk::covers(name, other); }
  };
  using Claims = std::vector<Claim>;
  static bool parse(base::Family family, std::string_view text, Claim& into);
  static bool covered(const Claims& claims, base::Family family, std::string_view kind, std::string_view place,
                      std::string_view name);

  Modes gone_;
  Modes kept_;
  bool servers_stay_ = false;
  Claims keep_;
  Claims add_;
};

}  // namespace sluice::cleanup
