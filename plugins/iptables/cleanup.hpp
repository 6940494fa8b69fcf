// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Takes away what this backend, an earlier process of it or a kube-proxy has made.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/common/netfilter/canonical.hpp"
#include "plugins/common/netfilter/kernel_session.hpp"
#include "plugins/common/netfilter/restore.hpp"
#include "plugins/iptables/names.hpp"
#include "plugins/iptables/observe.hpp"

namespace sluice::iptables {

// iptables compares its way through a chain for each rule that it deletes: from this many on it is cheaper to write the
// chain again without them.
inline constexpr std::size_t kFewRemovals = 50;
// One restore deletes this many chains at most.
inline constexpr std::size_t kChainsPerRemoval = 1000;

// A chain that is to stay, with the jumps that lead to it.
using KeepChain = std::function<bool(Table table, std::string_view chain)>;

// Removes all of our chains that exist and are not to stay, their jumps, and rules of ours in chains that stay for another
// backend. Rules of others stay; a chain of ours that one of them points to is emptied only. KUBE-FIREWALL and the jumps to
// it stay, since kubelet shares them.
//
// Where few chains are left each step is one restore. All methods throw sdk::Failure; the object is of no use then, a
// new one goes on from what is left.
class Removal {
 public:
  static constexpr std::size_t kAll = ~std::size_t{0};

  // Looks at the kernel once. `session` outlives this.
  Removal(netfilter::KernelSession& session, KeepChain keep);
  Removal(const Removal&) = delete;
  Removal& operator=(const Removal&) = delete;

  // What leads new connections into chains that go: jumps and rules of table nat. False: nothing does.
  bool close_way_in();
  // The rest, but of the chains of single service ports, which nothing leads to any more, only about `most` in this call.
  // True: that was all.
  bool remove(std::size_t most = kAll);

 private:
  bool goes(Table table, std::string_view chain) const {
    return is_ours(netfilter::table_name(table), chain) && !keep_(table, chain);
  }
  bool is_held(Table table, std::string_view chain) const;
  bool another_backend_stays() const;
  void collect(Table table);
  void collect_way_in();
  void collect_rest();
  void remove_jumps(bool way_in);
  void remove_from_kept_chains(Table in);
  bool is_ours_alone(SharedChain chain, const std::string& rule);
  void send();

  netfilter::KernelSession& session_;
  KeepChain keep_;
  Observed seen_;
  netfilter::Canonicaliser canonicaliser_;
  netfilter::RestoreInput input_;
  std::vector<std::pair<Table, std::string>> common_;  // chains that are not of one service port
  std::vector<ChainId> service_chains_;
  std::size_t next_ = 0;  // of service_chains_
  bool closed_ = false;
  bool begun_ = false;
};

// All of it, in the fewest restores: nobody is served meanwhile.
void remove_everything(netfilter::KernelSession& session, const KeepChain& keep);

}  // namespace sluice::iptables
