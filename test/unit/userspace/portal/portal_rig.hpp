// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Portals on a fake kernel.
#pragma once

#include <cppunit/TestAssert.h>

#include <string>
#include <vector>

#include "plugins/userspace/portal/portal_writer.hpp"
#include "test/unit/common/fake_kernel.hpp"
#include "test/unit/common/tracer.hpp"
#include "test/unit/common/world.hpp"

namespace sluice::test {

inline constexpr userspace::ProxyPorts kPorts{40001, 40002};

inline userspace::PortalFacts portal_facts(const NodeSpec& spec = {}, abi::Family family = abi::Family::kIpv4) {
  World world(family);
  return userspace::portal_facts(family, std::nullopt, world.node(spec));
}

inline userspace::Portal portal(const ServiceSpec& spec, const userspace::PortalFacts& facts = portal_facts(),
                                const userspace::ProxyPorts& ports = kPorts,
                                const std::vector<std::size_t>& withheld = {}) {
  World world(facts.family);
  return userspace::plan_portal(facts, world.service(spec), ports, withheld);
}

// "nat CHAIN rule" in lines.
inline std::string lines(const userspace::Portal& portal) {
  std::string text;
  for (const userspace::PortalRule& rule : portal.rules) {
    text.append(netfilter::table_name(rule.table)).append(" ").append(rule.chain).append(" ").append(rule.rule);
    text += "\n";
  }
  return text;
}

// Initial service ports.
inline ServiceSpec simple() {
  ServiceSpec spec;
  spec.endpoints = {{"10.180.0.1", 80, true, Condition::kReady}};
  return spec;
}
inline ServiceSpec another() {
  ServiceSpec spec = simple();
  spec.name = "svc2";
  spec.cluster_ip = "172.30.0.42";
  spec.node_port = 30002;
  return spec;
}
inline ServiceSpec policy_local(bool endpoint_here) {
  ServiceSpec spec = simple();
  spec.node_port = 30001;
  spec.external_local = true;
  spec.endpoints = {{"10.180.0.1", 80, endpoint_here, Condition::kReady}};
  return spec;
}

class PortalRig {
 public:
  explicit PortalRig(const NodeSpec& node = {}, abi::Family family = abi::Family::kIpv4)
      : facts(test::portal_facts(node, family)) {}

  void restart() { writer = std::make_unique<userspace::PortalWriter>(kernel, facts.family, clock_of(this)); }

  std::vector<userspace::Portal> portals(const std::vector<ServiceSpec>& services) const {
    std::vector<userspace::Portal> made;
    for (const ServiceSpec& spec : services) made.push_back(portal(spec, facts));
    return made;
  }
  userspace::PortalWriter::Written full(const std::vector<ServiceSpec>& services) {
    kernel.restores.clear();
    return writer->write_full(userspace::fixed_rules(facts), portals(services));
  }
  userspace::PortalWriter::Written delta(const std::vector<ServiceSpec>& services,
                                         const std::vector<userspace::PortalId>& removed = {}) {
    kernel.restores.clear();
    return writer->write_delta(portals(services), removed);
  }
  // All input sent since the last call of the functions above.
  std::string sent() const {
    std::string text;
    for (const std::string& restore : kernel.restores) text += restore;
    return text;
  }
  void expect(const std::string& outcomes, const Packet& packet) const {
    CPPUNIT_ASSERT_EQUAL_MESSAGE(packet.source + " to " + packet.destination + ":" + std::to_string(packet.port),
                                 outcomes, Tracer(kernel.tables, local).outcomes(packet));
  }

  FakeKernel kernel;
  std::uint64_t clock = 0;
  std::uint64_t step = 1;  // time that passes with each reading of the clock
  userspace::PortalFacts facts;
  std::set<std::string> local = {"192.168.0.2", "192.168.1.2"};
  std::unique_ptr<userspace::PortalWriter> writer =
      std::make_unique<userspace::PortalWriter>(kernel, facts.family, clock_of(this));

 private:
  static userspace::PortalWriter::Now clock_of(PortalRig* rig) {
    return [rig] { return rig->clock += rig->step; };
  }
};

}  // namespace sluice::test
