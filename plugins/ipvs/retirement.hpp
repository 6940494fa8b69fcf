// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// How this backend goes: at once, or step by step while connections live on. The apply thread only.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plugins/ipvs/claims.hpp"
#include "plugins/ipvs/flows/flow_keeper.hpp"
#include "plugins/ipvs/links/address_writer.hpp"
#include "plugins/ipvs/node_kernels.hpp"
#include "plugins/ipvs/ownership.hpp"
#include "plugins/ipvs/rules/rule_writer.hpp"
#include "plugins/ipvs/servers/server_writer.hpp"
#include "plugins/ipvs/sets/set_writer.hpp"
#include "sluice/sdk/logger.hpp"

namespace sluice::ipvs {

class Retirement {
 public:
  // What the backend writes with; outlives this.
  struct Writers {
    RuleWriter& rules;
    SetWriter& sets;
    ServerWriter& servers;
    AddressWriter& links;
  };
  Retirement(NodeKernels& kernels, Writers writers, Ownership& ownership, abi::Family family, sdk::Logger log)
      : kernels_(kernels),
        writers_(writers),
        ownership_(ownership),
        family_(family),
        log_(log),
        flows_(kernels.tracking, family, log) {}

  // Removes everything but what `keep` covers; goes on after failures and throws the first of them at the end.
  void remove_all(const SuccessorClaims& keep);

  // One step, to be repeated until it returns true: nobody needs anything any more, and all is removed but what `keep`
  // covers. The first takes away what leads new connections here, and gives all real servers the weight 0; each removes
  // virtual servers nobody needs any more, with their addresses; one that is the source of a connection of this node
  // stays, whoever serves it. Rules and sets stay to the end: packets of what is established pass them. Reads the kernel,
  // so that it also works in a process that wrote nothing. Throws sdk::Failure; may be called again then.
  bool step(const SuccessorClaims& keep);
  // What it waits for, as a phrase; empty when for nothing.
  std::string waiting() const;
  // It goes on serving, or is served by another process: the next step is a first one.
  void forget() {
    wait_for_nobody();
    flows_.stop();
  }

 private:
  void wait_for_nobody() {
    waiting_.reset();
    sources_ = 0;
  }
  bool has_tools();
  std::vector<ServerKey> our_servers(bool sets_unread) const;
  void begin(const SuccessorClaims& keep);
  void send_from_elsewhere();
  // Addresses of ours that no virtual server needs; the rest of them, on this node, in sources_.
  std::vector<abi::Address> find_free(const std::vector<ServerKey>& busy);
  Ownership::Shown shown(bool sets_unread) const {
    return {writers_.sets, writers_.links.held(), local_, sets_unread};
  }

  NodeKernels& kernels_;
  Writers writers_;
  Ownership& ownership_;
  abi::Family family_;
  sdk::Logger log_;
  std::set<abi::Address> local_;                    // of other links than kube-ipvs0
  std::optional<std::vector<ServerKey>> waiting_;  // virtual servers, sorted; nothing: no step has been taken
  std::size_t sources_ = 0;                         // addresses that connections of this node have
  FlowKeeper flows_;                                // from the first step to the end
};

}  // namespace sluice::ipvs
