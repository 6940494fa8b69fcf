// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Sysctls and modules of the node, for preparation and probe; tests replace it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sluice::ipvs {

class NodeAccess {
 public:
  virtual ~NodeAccess() = default;
  // "net/ipv4/vs/conntrack"; empty when it cannot be read.
  virtual std::optional<std::string> sysctl(const std::string& name) = 0;
  // Writes the value unless it is set already. Returns 0 or errno.
  virtual int set_sysctl(const std::string& name, const std::string& value) = 0;
  // Loaded, or built in as far as /sys shows it.
  virtual bool has_module(const std::string& name) = 0;
  // Runs modprobe with these arguments; false if that failed or modprobe is missing. The kernel usually loads modules
  // by itself.
  virtual bool modprobe(const std::vector<std::string>& arguments) = 0;
  // Why this process cannot load an existing module, as a sentence; empty if nothing prevents it.
  virtual std::string why_modules_cannot_load() = 0;
};

// The running node. Any thread.
class RealNode final : public NodeAccess {
 public:
  std::optional<std::string> sysctl(const std::string& name) override;
  int set_sysctl(const std::string& name, const std::string& value) override;
  bool has_module(const std::string& name) override;
  bool modprobe(const std::vector<std::string>& arguments) override;
  std::string why_modules_cannot_load() override;
};

}  // namespace sluice::ipvs
