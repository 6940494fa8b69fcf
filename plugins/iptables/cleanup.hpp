// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Removes the rules of this backend, of an earlier daemon process or of a kube-proxy.
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

// iptables searches the whole chain for each rule that it deletes. Above this number it is cheaper to rewrite the
// chain.
inline constexpr std::size_t kFewRemovals = 50;
// Maximum number of chains that one restore deletes.
inline constexpr std::size_t kChainsPerRemoval = 1000;

// Whether a chain, and the jumps to it, must stay.
using KeepChain = std::function<bool(Table table, std::string_view chain)>;

// Removes all chains of this backend that do not have to stay, the jumps to them, and its rules in chains that stay for
// another backend. Foreign rules stay; a chain that a foreign rule references is only emptied. KUBE-FIREWALL and the
// jumps to it stay, since kubelet shares them.
//
// With few chains each step is one restore. All methods throw sdk::Failure; the object is unusable after that, and a
// new one continues with the remaining chains.
class Removal {
 public:
  static constexpr std::size_t kAll = ~std::size_t{0};

  // Lists the kernel's rules once. `session` outlives this.
  Removal(netfilter::KernelSession& session, KeepChain keep);
  Removal(const Removal&) = delete;
  Removal& operator=(const Removal&) = delete;

  // Removes the jumps and rules of table nat that lead new connections into the removed chains. False: there were none.
  bool remove_entry_jumps();
  // Removes the rest, but only about `most` of the chains of service ports, which are unreferenced by then. Returns
  // true when all are removed.
  bool remove(std::size_t most = kAll);

 private:
  bool goes(Table table, std::string_view chain) const {
    return is_ours(netfilter::table_name(table), chain) && !keep_(table, chain);
  }
  bool is_held(Table table, std::string_view chain) const;
  bool another_backend_stays() const;
  void collect(Table table);
  void collect_entry_jumps();
  void collect_remaining();
  void remove_jumps(bool entry);
  void remove_from_kept_chains(Table in);
  bool is_ours_alone(SharedChain chain, const std::string& rule);
  void send();

  netfilter::KernelSession& session_;
  KeepChain keep_;
  Observed observed_;
  netfilter::Canonicaliser canonicaliser_;
  netfilter::RestoreInput input_;
  std::vector<std::pair<Table, std::string>> common_;  // chains that do not belong to one service port
  std::vector<ChainId> service_chains_;
  std::size_t next_ = 0;  // of service_chains_
  bool closed_ = false;
  bool begun_ = false;
};

// Removes everything in as few restores as possible, for a cleanup while no backend is active.
void remove_everything(netfilter::KernelSession& session, const KeepChain& keep);

}  // namespace sluice::iptables
