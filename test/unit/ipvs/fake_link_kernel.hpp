// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Links and addresses of a node, in memory. Tests set its contents.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plugins/ipvs/links/link_kernel.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::ipvs {

class FakeLinkKernel : public LinkKernel {
 public:
  struct Link {
    LinkState state;
    std::map<abi::Family, std::set<abi::Address>> addresses;
  };
  std::map<std::string, Link> links;
  bool has_dummy = true;
  std::set<abi::Address> refuse;                 // addresses no link can have
  std::map<abi::Address, abi::Address> sources;  // if it is not the address itself
  // Called with the name of each call ("find", "create", "remove", "addresses", "bind", "unbind"); may throw, or change
  // `links`.
  std::function<void(const std::string&)> before;
  std::map<std::string, int> calls;
  std::size_t bound = 0;  // number of addresses this object bound
  std::size_t unbound = 0;

  // Adds an existing link.
  Link& put(const std::string& name, const std::string& kind) {
    Link& link = links[name];
    link.state = LinkState{next_index_++, kind};
    return link;
  }

  std::optional<LinkState> find(const std::string& name) override {
    called("find");
    const auto found = links.find(name);
    return found == links.end() ? std::nullopt : std::optional<LinkState>(found->second.state);
  }

  void create(const std::string& name) override {
    called("create");
    ++messages_;
    if (!has_dummy) throw sdk::Failure(abi::Code::kUnsupported, name, "the kernel has no links of kind dummy");
    if (!links.contains(name)) put(name, "dummy");
  }

  void remove(int index) override {
    called("remove");
    ++messages_;
    std::erase_if(links, [index](const auto& each) { return each.second.state.index == index; });
  }

  std::vector<abi::Address> addresses(int index, abi::Family family) override {
    called("addresses");
    const Link* link = by_index(index);
    if (link == nullptr) return {};
    const auto found = link->addresses.find(family);
    if (found == link->addresses.end()) return {};
    return {found->second.begin(), found->second.end()};
  }

  std::vector<RefusedAddress> bind(int index, abi::Family family, const std::vector<abi::Address>& addresses) override {
    called("bind");
    std::vector<RefusedAddress> refused;
    for (const abi::Address& address : addresses) {
      ++messages_;
      Link* link = by_index(index);
      if (link == nullptr) throw gone(index);
      if (refuse.contains(address)) {
        refused.push_back({address, "cannot bind " + sdk::to_string(address, family) + " to kube-ipvs0: refused"});
        continue;
      }
      if (link->addresses[family].insert(address).second) ++bound;
    }
    return refused;
  }

  void unbind(int index, abi::Family family, const std::vector<abi::Address>& addresses) override {
    called("unbind");
    for (const abi::Address& address : addresses) {
      ++messages_;
      // A link that is gone has no addresses either.
      if (Link* link = by_index(index); link != nullptr) unbound += link->addresses[family].erase(address);
      sources.erase(address);
    }
  }

  void set_source(int index, const std::vector<abi::Address>& addresses, const abi::Address& source) override {
    called("set_source");
    for (const abi::Address& address : addresses) {
      ++messages_;
      if (by_index(index) != nullptr) sources[address] = source;
    }
  }

  void restore_source(int, const std::vector<abi::Address>& addresses) override {
    called("restore_source");
    for (const abi::Address& address : addresses) messages_ += sources.erase(address);
  }

  std::uint64_t messages() const override { return messages_; }

 private:
  Link* by_index(int index) {
    for (auto& [name, link] : links) {
      if (link.state.index == index) return &link;
    }
    return nullptr;
  }

  static sdk::Failure gone(int index) { return {abi::Code::kKernel, "", "link " + std::to_string(index) + " is gone"}; }

  void called(const std::string& what) {
    ++calls[what];
    if (before) before(what);
  }

  int next_index_ = 2;
  std::uint64_t messages_ = 0;
};

}  // namespace sluice::ipvs
