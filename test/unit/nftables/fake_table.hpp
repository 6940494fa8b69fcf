// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A fake nf_tables: a batch is committed as a whole or not at all, with the kernel's refusals. Tests can make it
// refuse, fail, or change between calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plugins/nftables/kernel/table_kernel.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::test {

class FakeTable {
 public:
  explicit FakeTable(abi::Family family) : family_(family) {}

  struct Element {
    nftables::Data data;
    std::string comment;
    friend bool operator==(const Element&, const Element&) = default;
  };
  struct Chain {
    bool is_base = false;
    nftables::BaseHook hook;
    std::vector<nftables::Rule> rules;
  };
  struct State {
    bool exists = false;
    std::map<std::string, nftables::SetSpec> sets;
    std::map<std::string, Chain> chains;
    std::map<std::pair<bool, std::uint32_t>, std::string> dispatch;
    std::map<nftables::SetId, std::map<nftables::Key, Element>> elements;
    std::map<std::pair<std::uint32_t, abi::Address>, nftables::RememberedClient> clients;  // by id and address
    std::optional<std::set<std::string>> flowtable;  // its interfaces
  };
  State state;

  std::set<std::string> node_interfaces{"lo", "eth0"};
  std::vector<abi::Address> node_addresses;

  // The table for the backend: forwards to this object, which must outlive it.
  nftables::Table open();

  std::vector<nftables::Refusal> commit(const nftables::Batch& batch);
  nftables::Listing list();
  std::uint32_t generation() const { return static_cast<std::uint32_t>(statistics.commits) + foreign_commits; }
  // Reports a change by another process, as the watch does; nothing while it is not armed.
  void report_change(const std::string& sentence);
  // The whole table as text.
  std::string text() const;
  // Frontends in the keys of a set: "172.30.0.41:80/tcp".
  std::vector<std::string> frontends(nftables::SetId set) const;

  std::function<int(const nftables::ElementWrite&)> refuse;  // 0, or an errno
  std::function<int(const std::string& what)> refuse_other;  // chains, rules, sets
  std::function<int(const nftables::RememberedClient&)> refuse_client;
  std::function<void(const nftables::Batch&)> before;  // called before each commit
  std::function<void()> before_list;
  std::function<void()> on_rearm;  // of the watch: before a full transaction reads the table
  std::uint32_t foreign_commits = 0;
  std::string place = "here";            // of TableState; empty: not known
  std::optional<sdk::Failure> fail_next;  // thrown by the next commit, which writes nothing
  bool lose_next = false;                 // with fail_next: writes all the same
  std::map<nftables::Key, nftables::TrafficCount> counts;
  std::vector<nftables::Batch> batches;  // all committed ones
  // Of a backend that opens the table later.
  std::size_t chunk = nftables::Table().chunk;
  std::uint32_t affinity_ids = nftables::Table().affinity_ids;
  nftables::KernelStatistics statistics;
  nftables::TableWatch::Changed changed;
  bool armed = false;
  unsigned dry_runs = 0;

 private:
  class Work;
  abi::Family family_;
};

}  // namespace sluice::test
