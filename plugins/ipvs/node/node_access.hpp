// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What preparation and probe ask of the node besides netlink: settings, modules. The one seam; tests replace it.
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
  // Writes it unless it is so. 0, or the errno of the failure.
  virtual int set_sysctl(const std::string& name, const std::string& value) = 0;
  // In the kernel, as a module or built in as far as that can be seen.
  virtual bool has_module(const std::string& name) = 0;
  // Runs modprobe with these arguments; false when that failed or there is none. The kernel mostly loads what is
  // missing by itself.
  virtual bool modprobe(const std::vector<std::string>& arguments) = 0;
  // Why this process could not load a module that exists, as a sentence; empty when nothing speaks against it.
  virtual std::string loading_is_forbidden() = 0;
};

// The real one. Any thread.
class RealNode final : public NodeAccess {
 public:
  std::optional<std::string> sysctl(const std::string& name) override;
  int set_sysctl(const std::string& name, const std::string& value) override;
  bool has_module(const std::string& name) override;
  bool modprobe(const std::vector<std::string>& arguments) override;
  std::string loading_is_forbidden() override;
};

}  // namespace sluice::ipvs
