// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Sysctls and modules of a node, in memory.
#pragma once

#include <cerrno>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "plugins/ipvs/node/node_access.hpp"

namespace sluice::ipvs {

class FakeNode final : public NodeAccess {
 public:
  // A kernel with ip_vs after boot.
  std::map<std::string, std::string> sysctls{
      {"net/ipv4/vs/conntrack", "0"},
      {"net/ipv4/vs/conn_reuse_mode", "1"},
      {"net/ipv4/vs/expire_nodest_conn", "0"},
      {"net/ipv4/vs/expire_quiescent_template", "0"},
      {"net/ipv4/ip_forward", "0"},
      {"net/ipv4/conf/all/arp_ignore", "0"},
      {"net/ipv4/conf/all/arp_announce", "0"},
  };
  int write_error = 0;
  std::vector<std::string> written;
  std::set<std::string> modules;
  std::vector<std::string> loaded;  // arguments of modprobe
  std::string forbidden;

  std::optional<std::string> sysctl(const std::string& name) override {
    const auto found = sysctls.find(name);
    return found == sysctls.end() ? std::nullopt : std::optional(found->second);
  }
  int set_sysctl(const std::string& name, const std::string& value) override {
    const auto found = sysctls.find(name);
    if (found == sysctls.end()) return ENOENT;
    if (found->second == value) return 0;
    if (write_error != 0) return write_error;
    found->second = value;
    written.push_back(name);
    return 0;
  }
  bool has_module(const std::string& name) override { return modules.contains(name); }
  bool modprobe(const std::vector<std::string>& arguments) override {
    std::string line;
    for (const std::string& argument : arguments) line += (line.empty() ? "" : " ") + argument;
    loaded.push_back(line);
    return true;
  }
  std::string why_modules_cannot_load() override { return forbidden; }
};

}  // namespace sluice::ipvs
