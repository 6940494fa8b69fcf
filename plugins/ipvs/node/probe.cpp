// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/node/probe.hpp"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "plugins/common/netfilter/probe.hpp"
#include "plugins/common/netfilter/restore_program.hpp"
#include "plugins/common/netlink/error.hpp"
#include "plugins/ipvs/node/preparation.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::ipvs {
namespace {

using netfilter::Table;

// Small, to cost the kernel little.
constexpr std::uint32_t kProbeEntries = 64;

// Problems found, one sentence each.
class Findings {
 public:
  // Records what `body` throws.
  void check(const std::function<void()>& body) {
    try {
      body();
    } catch (const sdk::Failure& failure) {
      add(failure.code(), failure.what());
    }
  }

  void add(abi::Code code, const std::string& sentence) {
    if (std::find(sentences_.begin(), sentences_.end(), sentence) != sentences_.end()) return;
    sentences_.push_back(sentence);
    // kRetry (ENOBUFS, ENOMEM, a broken dump) says nothing about the node: any other code takes precedence.
    if (code_ == abi::Code::kOk || code_ == abi::Code::kRetry) code_ = code;
    if (code == abi::Code::kUnsupported) module_may_be_missing_ = true;
  }

  void throw_if_any(NodeAccess& node) const {
    if (sentences_.empty()) return;
    std::string text = "this node cannot run ipvs mode: ";
    for (const std::string& sentence : sentences_) text += (&sentence == &sentences_.front() ? "" : "; ") + sentence;
    if (module_may_be_missing_) {
      if (const std::string why = node.why_modules_cannot_load(); !why.empty()) text += "; " + why;
    }
    throw sdk::Failure(code_, "node", text);
  }

 private:
  std::vector<std::string> sentences_;
  abi::Code code_ = abi::Code::kOk;
  bool module_may_be_missing_ = false;
};

// 198.51.100.0/24 and 2001:db8::/32 are reserved for documentation.
ServerKey probe_key(abi::Family family) {
  const char* text = family == abi::Family::kIpv4 ? "198.51.100.0" : "2001:db8::";
  return {*sdk::parse_address(text, family), 20000, abi::Protocol::kTcp};
}

void check_scheduler(ServerKernel& kernel, const std::string& scheduler, abi::Family family) {
  const auto servers = kernel.servers();
  const ServerKey key = probe_key(family);
  const bool in_use = std::any_of(servers.begin(), servers.end(), [&](const VirtualServer& each) {
    return each.scheduler == scheduler && !(each.key == key);
  });
  if (in_use) return;
  VirtualServer server;
  server.key = key;
  server.scheduler = scheduler;
  // An earlier probe that was interrupted may have left it with another scheduler.
  (void)kernel.execute({{ServerCommandKind::kDeleteServer, server, {}, 0}});
  const int refused = kernel.execute({{ServerCommandKind::kAddServer, server, {}, 0}}).at(0);
  (void)kernel.execute({{ServerCommandKind::kDeleteServer, server, {}, 0}});
  if (refused == 0 || refused == EEXIST) return;
  if (refused == ENOENT) {
    throw sdk::Failure(abi::Code::kUnsupported, scheduler,
                       "IPVS has no scheduler " + scheduler + ": load the module ip_vs_" + scheduler +
                           ", or choose another one (ipvs.scheduler)",
                       refused);
  }
  if (refused == EAFNOSUPPORT) {
    throw sdk::Failure(abi::Code::kUnsupported, scheduler, "IPVS of this kernel was built without this IP family",
                       refused);
  }
  netlink::fail(refused, to_string(key, family), "IPVS refuses a virtual server with scheduler " + scheduler);
}

std::string probe_set(abi::Family family) { return family == abi::Family::kIpv4 ? "SLUICE-PROBE" : "SLUICE-6-PROBE"; }

// Leaves one set for check_set_match(); the caller must destroy it.
void check_set_types(SetKernel& kernel, abi::Family family, Findings& into) {
  constexpr SetType kTypes[] = {SetType::kIpPort, SetType::kIpPortIp, SetType::kIpPortNet, SetType::kPorts,
                                SetType::kIp};
  const std::string name = probe_set(family);
  std::vector<sdk::Failure> failures;
  for (const SetType type : kTypes) {
    try {
      (void)kernel.destroy(name);
      kernel.create(name, type, kProbeEntries);
    } catch (const sdk::Failure& failure) {
      failures.push_back(failure);
    }
  }
  // If every type failed, they have one cause, such as a kernel without ipset: report it once.
  if (failures.size() == std::size(kTypes)) failures.resize(1, failures.front());
  for (const sdk::Failure& failure : failures) into.add(failure.code(), failure.what());
}

void check_set_match(netfilter::Kernel& kernel, abi::Family family) {
  // In a separate namespace the set does not exist, and iptables says so: then it supports the match.
  const lib::ProgramResult outcome =
      kernel.try_restore("*filter\n:SLUICE-PROBE - [0:0]\n-A SLUICE-PROBE -m set --match-set " + probe_set(family) +
                         " src -j RETURN\n-F SLUICE-PROBE\n-X SLUICE-PROBE\nCOMMIT\n");
  if (outcome.ok() || outcome.error_output.find("doesn't exist") != std::string::npos) return;
  const sdk::Failure failure = netfilter::failure_of(kernel.tools().restore, outcome);
  if (failure.code() == abi::Code::kDenied || failure.code() == abi::Code::kRetry) throw failure;
  throw sdk::Failure(abi::Code::kUnsupported, "set",
                     std::string("iptables has no match set: load the module xt_set (") + failure.what() + ")");
}

std::vector<netfilter::Need> needs(abi::Family family, bool random_fully) {
  const bool v4 = family == abi::Family::kIpv4;
  const std::string server = sdk::to_string(probe_key(family).address, family);
  return {
      {"NETFILTER_XT_MATCH_COMMENT", Table::kNat, "-m comment --comment probe"},
      {"NETFILTER_XT_MATCH_CONNTRACK", Table::kFilter, "-m conntrack --ctstate NEW"},
      {"NETFILTER_XT_MATCH_ADDRTYPE", Table::kNat, "-m addrtype --dst-type LOCAL"},
      {"NETFILTER_XT_MATCH_PHYSDEV", Table::kNat, "-m physdev ! --physdev-is-in"},
      {"NETFILTER_XT_MATCH_MARK", Table::kNat, "-m mark --mark 0x4000/0x4000"},
      {"NETFILTER_XT_MATCH_IPVS", Table::kFilter, "-m ipvs --vaddr " + server + " --vproto 6 --vport 80"},
      {"NETFILTER_XT_MARK", Table::kNat, "-j MARK --xor-mark 0x4000"},
      {v4 ? "IP_NF_TARGET_REJECT" : "IP6_NF_TARGET_REJECT", Table::kFilter, "-j REJECT"},
      {"NETFILTER_XT_TARGET_MASQUERADE", Table::kNat,
       std::string("-j MASQUERADE") + (random_fully ? " --random-fully" : "")},
  };
}

void check_dummy_link(LinkKernel& kernel, abi::Family family) {
  if (const auto link = kernel.find(kLinkName); link && link->kind == "dummy") return;
  const std::string name = family == abi::Family::kIpv4 ? "sluice-probe4" : "sluice-probe6";
  kernel.create(name);
  if (const auto made = kernel.find(name)) kernel.remove(made->index);
}

}  // namespace

void probe_node(const Kernels& kernels, const Settings& settings, abi::Family family, NodeAccess& node) {
  Modules().load(settings, node);
  Findings findings;
  findings.check([&] { check_scheduler(kernels.servers, settings.scheduler, family); });
  // In this order: check_set_match() tests a rule with the set that check_set_types() leaves; then the set is destroyed.
  // If probe_needs() throws, the set match is not tested.
  check_set_types(kernels.sets, family, findings);
  findings.check([&] {
    netfilter::probe_needs(kernels.rules, needs(family, kernels.rules.tools().has_random_fully()));
    check_set_match(kernels.rules, family);
  });
  findings.check([&] { (void)kernels.sets.destroy(probe_set(family)); });
  findings.check([&] { check_dummy_link(kernels.links, family); });
  findings.throw_if_any(node);
}

void probe_node(const Kernels& kernels, const Settings& settings, abi::Family family) {
  RealNode node;
  probe_node(kernels, settings, family, node);
}

}  // namespace sluice::ipvs
