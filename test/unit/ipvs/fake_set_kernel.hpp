// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// ipsets in memory with the kernel's behaviour: a full set rejects entries, hash:ip rejects null, a set that a rule
// uses stays, swap needs sets of one type. Fails on demand.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "plugins/ipvs/sets/set_kernel.hpp"

namespace sluice::test {

class FakeSetKernel final : public ipvs::SetKernel {
 public:
  struct Set {
    std::string type;
    abi::Family family{};
    std::uint32_t maxelem = 0;
    std::set<ipvs::SetEntry> entries;
  };

  explicit FakeSetKernel(abi::Family family) : family_(family) {}

  std::optional<ipvs::SetHeader> header(const std::string& name) override {
    called("header", name);
    ++reads;
    const auto found = sets.find(name);
    if (found == sets.end()) return std::nullopt;
    const Set& set = found->second;
    return ipvs::SetHeader{set.type, set.family, set.maxelem, counts ? set.entries.size() : 0};
  }
  bool has_counts() override { return counts; }
  std::vector<ipvs::SetEntry> entries(const std::string& name, ipvs::SetType type) override {
    called("entries", name);
    ++dumps;
    std::vector<ipvs::SetEntry> listed;
    for (const ipvs::SetEntry& entry : existing(name, type).entries) {
      if (unreadable.count(entry) == 0) listed.push_back(entry);
    }
    return listed;
  }
  void create(const std::string& name, ipvs::SetType type, std::uint32_t maxelem) override {
    called("create", name);
    ++messages_;
    const bool ports = type == ipvs::SetType::kPorts;
    const Set made{std::string(ipvs::type_name(type)), ports ? abi::Family{} : family_, ports ? 0 : maxelem, {}};
    const auto [place, fresh] = sets.emplace(name, made);
    if (!fresh && (place->second.type != made.type || place->second.family != made.family)) {
      throw sdk::Failure(abi::Code::kKernel, name, "set " + name + " exists and is another one", 17);
    }
  }
  std::vector<ipvs::RefusedEntry> add(const std::string& name, ipvs::SetType type,
                                      const std::vector<ipvs::SetEntry>& entries) override {
    called("add", name);
    Set& set = existing(name, type);
    ++messages_;
    std::vector<ipvs::RefusedEntry> refused;
    for (const ipvs::SetEntry& entry : entries) {
      const std::string text = ipvs::to_string(entry, type, family_);
      const bool null = type == ipvs::SetType::kIp && sdk::is_unspecified(entry.address);
      if (null || refuse.count(text) != 0) {
        refused.push_back({entry, "cannot add " + text + " to set " + name + ": refused"});
        continue;
      }
      if (set.entries.count(entry) != 0) continue;
      if (set.maxelem != 0 && set.entries.size() >= set.maxelem) {
        throw sdk::Failure(abi::Code::kKernel, name, "set " + name + " is full");
      }
      set.entries.insert(entry);
      ++changes;
    }
    return refused;
  }
  void remove(const std::string& name, ipvs::SetType type, const std::vector<ipvs::SetEntry>& entries) override {
    called("remove", name);
    Set& set = existing(name, type);
    ++messages_;
    for (const ipvs::SetEntry& entry : entries) changes += set.entries.erase(entry);
  }
  void swap(const std::string& one, const std::string& other) override {
    called("swap", one);
    ++messages_;
    const auto a = sets.find(one);
    const auto b = sets.find(other);
    if (a == sets.end() || b == sets.end()) throw missing(a == sets.end() ? one : other);
    if (a->second.type != b->second.type || a->second.family != b->second.family) {
      throw sdk::Failure(abi::Code::kKernel, one, "sets " + one + " and " + other + " are of different types");
    }
    std::swap(a->second, b->second);
  }
  bool destroy(const std::string& name) override {
    called("destroy", name);
    if (sets.count(name) != 0) ++messages_;
    if (used.count(name) != 0 && sets.count(name) != 0) {
      // Releases the set meanwhile.
      if (uses_left > 0 && --uses_left == 0) used.erase(name);
      return false;
    }
    sets.erase(name);
    return true;
  }
  std::uint64_t messages() const override { return messages_; }
  std::uint64_t waited() const override { return waiting; }

  // As another program would.
  const std::set<ipvs::SetEntry>& held(ipvs::SetId id) const {
    static const std::set<ipvs::SetEntry> kNone;
    const auto found = sets.find(ipvs::set_name(id, family_));
    return found == sets.end() ? kNone : found->second.entries;
  }
  // One line for each entry, "KUBE-CLUSTER-IP 10.0.0.1,tcp:80", and one for each empty set.
  std::string text() const {
    std::string text;
    for (const ipvs::SetId id : ipvs::all_sets()) {
      const std::string name = ipvs::set_name(id, family_);
      if (sets.count(name) == 0) continue;
      if (held(id).empty()) text += name + "\n";
      for (const ipvs::SetEntry& entry : held(id)) {
        text += name + " " + ipvs::to_string(entry, ipvs::spec(id).type, family_) + "\n";
      }
    }
    return text;
  }

  std::map<std::string, Set> sets;      // by name; two backends of different families share it by copying
  std::set<std::string> used;           // by rules: cannot be destroyed
  unsigned uses_left = 0;               // not 0: attempts to destroy a used set until its rule is gone
  std::set<std::string> refuse;         // printed entries that are not elements, like the null of hash:ip
  std::set<ipvs::SetEntry> unreadable;  // counted but not listed: foreign entries with an unknown flag
  bool counts = true;                   // has_counts()
  std::uint64_t waiting = 0;            // waited()
  std::function<void()> before;         // called before each call
  // The next call of this name ("add", "swap", …; "" is any) after `fail_after` other ones throws `failure`, once.
  std::string fail_call = "none";
  std::size_t fail_after = 0;
  sdk::Failure failure{abi::Code::kRetry, "", "the kernel is short of memory; retrying", 105};
  // All calls, "add KUBE-CLUSTER-IP".
  std::vector<std::string> calls;
  std::uint64_t reads = 0;    // headers
  std::uint64_t dumps = 0;    // lists of entries
  std::uint64_t changes = 0;  // entries added or removed

 private:
  void called(const std::string& what, const std::string& name) {
    calls.push_back(what + " " + name);
    if (before) before();
    if (fail_call != what && !fail_call.empty()) return;
    if (fail_after-- != 0) return;
    fail_call = "none";
    fail_after = 0;
    throw failure;
  }
  static sdk::Failure missing(const std::string& name) {
    return sdk::Failure(abi::Code::kKernel, name, "set " + name + " does not exist", 2);
  }
  Set& existing(const std::string& name, ipvs::SetType type) {
    const auto found = sets.find(name);
    if (found == sets.end()) throw missing(name);
    if (found->second.type != ipvs::type_name(type)) {
      throw sdk::Failure(abi::Code::kKernel, name, "set " + name + " is of type " + found->second.type);
    }
    return found->second;
  }

  abi::Family family_;
  std::uint64_t messages_ = 0;
};

}  // namespace sluice::test
