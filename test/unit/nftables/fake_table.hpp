// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// nf_tables as far as the backend sees it: batches are carried out as a whole or not at all, with the kernel's
// refusals. It can be told to refuse, to fail, and to change under the backend's hands.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
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
  };
  State state;

  // For the backend: forwards to this object, which outlives it.
  nftables::Table open();

  std::vector<nftables::Refusal> commit(const nftables::Batch& batch);
  nftables::Listing list();
  std::uint32_t generation() const { return static_cast<std::uint32_t>(figures.commits) + commits_of_others; }
  // What somebody else has done, as the watch says it; nothing while it is not armed.
  void tell(const std::string& sentence);
  // Everything as lines.
  std::string text() const;
  // Names of elements of a set, "172.30.0.41:80/tcp" style keys of frontends only.
  std::vector<std::string> frontends(nftables::SetId set) const;

  std::function<int(const nftables::ElementWrite&)> refuse;  // 0, or an errno
  std::function<int(const std::string& what)> refuse_other;  // chains, rules, sets
  std::function<int(const nftables::RememberedClient&)> refuse_client;
  std::function<void(const nftables::Batch&)> before;        // each commit
  std::function<void()> before_list;
  std::uint32_t commits_of_others = 0;
  std::optional<sdk::Failure> fail_next;  // the next commit, which is not carried out
  bool lose_next = false;                 // with fail_next: it is carried out all the same
  std::map<nftables::Key, nftables::TrafficCount> counts;
  std::vector<nftables::Batch> batches;  // all that were carried out
  nftables::KernelFigures figures;
  nftables::TableWatch::Changed changed;
  bool armed = false;
  unsigned rehearsals = 0;

 private:
  class Work;
  abi::Family family_;
};

}  // namespace sluice::test
