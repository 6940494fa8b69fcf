// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Retires this backend: at once, or in steps while connections drain. The apply thread only.
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
  // The backend's writers; outlive this.
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

  // Removes everything that `keep` does not cover; continues after failures and throws the first one at the end.
  void remove_all(const NewBackendClaims& keep);

  // One step of the drain; call until it returns true: no connection is left, and all is removed except what `keep`
  // covers. The first step removes the jumps that lead new connections here and sets all weights to 0. Each step
  // removes idle virtual servers and their addresses, except addresses that are the source of a connection of this
  // node. Rules and sets stay to the end, because packets of established connections pass them. Reads the kernel, so
  // it also works in a process that wrote nothing. Throws sdk::Failure; may be called again then.
  bool step(const NewBackendClaims& keep);
  // What the drain waits for, as a phrase; empty: nothing.
  std::string waiting() const;
  // The backend serves again, or another process does: the next step() starts over.
  void reset() {
    stop_waiting();
    flows_.stop();
  }

 private:
  void stop_waiting() {
    waiting_.reset();
    source_addresses_ = 0;
  }
  bool has_tools();
  std::vector<ServerKey> our_servers(bool sets_unread) const;
  void begin(const NewBackendClaims& keep);
  void set_usual_source();
  // Our addresses that no virtual server needs; counts those that local connections use in source_addresses_.
  std::vector<abi::Address> find_unused_addresses(const std::vector<ServerKey>& busy);
  Ownership::Evidence evidence(bool sets_unread) const {
    return {writers_.sets, writers_.links.held(), local_, sets_unread};
  }

  NodeKernels& kernels_;
  Writers writers_;
  Ownership& ownership_;
  abi::Family family_;
  sdk::Logger log_;
  std::set<abi::Address> local_;                   // of links other than kube-ipvs0
  std::optional<std::vector<ServerKey>> waiting_;  // virtual servers, sorted; empty optional: no step yet
  std::size_t source_addresses_ = 0;               // our addresses that local connections use
  FlowKeeper flows_;                               // runs from the first step to the end
};

}  // namespace sluice::ipvs
