// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Fake lists of the match `recent`.
#pragma once

#include <cerrno>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plugins/iptables/recent_lists.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::test {

class FakeRecentLists {
 public:
  // For the backend: forwards to this object, which outlives it.
  std::unique_ptr<iptables::RecentLists> open() { return std::make_unique<Forward>(*this); }

  std::map<std::string, std::vector<iptables::RecentClient>> lists;
  std::function<bool(const std::string& list)> exists = [this](const std::string& list) { return lists.contains(list); };
  std::vector<std::string> added;  // "list client"
  bool available = true;
  std::size_t capacity = 100;
  int refuse = 0;  // errno

 private:
  class Forward final : public iptables::RecentLists {
   public:
    explicit Forward(FakeRecentLists& to) : to_(to) {}
    bool available() override { return to_.available; }
    std::optional<std::vector<iptables::RecentClient>> read(const std::string& list, abi::Family) override {
      if (!to_.exists(list)) return std::nullopt;
      return to_.lists[list];
    }
    std::size_t capacity() override { return to_.capacity; }
    Added add(const std::string& list, const std::vector<abi::Address>& clients, abi::Family family) override {
      if (!to_.exists(list)) return {clients.size(), ENOENT};
      if (to_.refuse != 0) return {clients.size(), to_.refuse};
      for (const abi::Address& client : clients) {
        to_.lists[list].push_back({client, std::chrono::seconds(0)});
        to_.added.push_back(list + " " + sdk::to_string(client, family));
      }
      return {};
    }

   private:
    FakeRecentLists& to_;
  };
};

}  // namespace sluice::test
