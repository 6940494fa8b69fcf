// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The iptables backend on a fake kernel.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "plugins/iptables/backend.hpp"
#include "test/unit/common/backend_rig.hpp"
#include "test/unit/common/fake_host.hpp"
#include "test/unit/common/fake_kernel.hpp"
#include "test/unit/iptables/fake_recent_lists.hpp"
#include "test/unit/common/tracer.hpp"

namespace sluice::test {

class IptablesRig final : public BackendRig<FakeHost> {
 public:
  explicit IptablesRig(abi::Family family = abi::Family::kIpv4) : BackendRig(family) { restart(); }
  ~IptablesRig() { stop(); }

  Tracer tracer(std::set<std::string> local = {"192.168.0.2", "192.168.1.2"}) const {
    return Tracer(kernel.tables, std::move(local));
  }

  FakeKernel kernel;
  FakeRecentLists recent;

 private:
  abi::Backend* create(const abi::CreateArgs& args) override {
    return new iptables::IptablesBackend(args, kernel.open(), recent.open());
  }
  void forget_writes() override { kernel.restores.clear(); }
};

}  // namespace sluice::test
