// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/probe.hpp"

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/number.hpp"
#include "lib/text.hpp"
#include "plugins/common/netlink/error.hpp"
#include "plugins/nftables/layout/layout.hpp"
#include "plugins/nftables/refusal_text.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::nftables {
namespace {

using ProbedKind = ServiceClass::Kind;

// Expressions that need a kernel module of their own; all others are part of nf_tables.
struct Module {
  std::string_view expression;
  const char* ipv4;
  const char* ipv6;
};
constexpr Module kModules[] = {
    {"ct", "nft_ct", "nft_ct"},
    {"fib", "nft_fib_ipv4", "nft_fib_ipv6"},
    {"flow_offload", "nft_flow_offload", "nft_flow_offload"},
    {"masq", "nft_masq", "nft_masq"},
    {"nat", "nft_nat", "nft_nat"},
    {"numgen", "nft_numgen", "nft_numgen"},
    {"reject", "nft_reject_ipv4", "nft_reject_ipv6"},
};

// 198.51.100.0/24 (RFC 5737) and 2001:db8::/32 (RFC 3849).
abi::Prefix documentation_prefix(abi::Family family) {
  const bool v4 = family == abi::Family::kIpv4;
  abi::Prefix prefix{};
  prefix.address = *sdk::parse_address(v4 ? "198.51.100.0" : "2001:db8::", family);
  prefix.length = v4 ? 24 : 32;
  return prefix;
}

// Facts that make the layout use every kind of rule.
LayoutFacts sample_facts(abi::Family family, const Settings& settings) {
  LayoutFacts facts;
  facts.family = family;
  facts.masquerade_mark = 1u << 14;
  facts.node_ports_match_all = true;
  facts.detector = abi::LocalDetectorKind::kCidr;
  facts.detector_cidr = documentation_prefix(family);
  facts.service_cidrs = {documentation_prefix(family)};
  facts.counters = settings.counters;
  facts.offload = settings.offloads();
  return facts;
}

std::vector<ServiceClass> sample_classes() {
  std::vector<ServiceClass> all;
  for (const ProbedKind kind : {ProbedKind::kCluster, ProbedKind::kLocal, ProbedKind::kExternal, ProbedKind::kExternalLocal}) {
    for (const bool node_port : {false, true}) {
      for (const std::uint32_t seconds : {0u, 10800u}) {
        const bool cluster = kind != ProbedKind::kLocal;
        const bool local = kind == ProbedKind::kLocal || kind == ProbedKind::kExternalLocal;
        all.push_back({kind, node_port, cluster ? 2u : 0u, local ? 2u : 0u, seconds});
      }
    }
  }
  return all;
}

std::vector<Record> sample_records(abi::Family family, bool with_frontends) {
  const abi::Address address = documentation_prefix(family).address;
  const EndpointAddress endpoint{address, 8080};
  const FrontendKey ip{false, address, abi::Protocol::kTcp, 80};
  const FrontendKey port{true, {}, abi::Protocol::kTcp, 30001};
  const std::uint32_t id = 1u << 16;
  const Data number = number_data(1);
  const Data target = endpoint_data(family, endpoint);
  std::vector<Record> all{
      {SetId::kClusterIps, address_key(family, address), {}},
      {SetId::kNodePortIps, address_key(family, address), {}},
      {SetId::kHairpin, hairpin_key(family, endpoint, abi::Protocol::kTcp), {}},
      {SetId::kServiceIps, frontend_key(family, ip), number},
      {SetId::kServiceNodePorts, frontend_key(family, port), number},
      {SetId::kEndpoints, slot_key(family, ip, 0), target},
      {SetId::kNodePortEndpoints, slot_key(family, port, 0), target},
      {SetId::kNoEndpointServices, frontend_key(family, ip), {}},
      {SetId::kNoEndpointNodePorts, frontend_key(family, port), {}},
      {SetId::kNoLocalServices, frontend_key(family, ip), {}},
      {SetId::kNoLocalNodePorts, frontend_key(family, port), {}},
      {SetId::kFirewallIps, frontend_key(family, ip), number},
      {SetId::kAffinityServices, frontend_key(family, ip), number_data(id)},
      {SetId::kAffinityNodePorts, frontend_key(family, port), number_data(id)},
      {SetId::kAffinitySlots, affinity_slot_key(id, 0), number_data(id | 1)},
      {SetId::kAffinityEndpoints, token_key(abi::Protocol::kTcp, id | 1), target},
      {SetId::kAffinityLocalEndpoints, token_key(abi::Protocol::kTcp, id | 1), target},
  };
  if (with_frontends) {
    all.push_back({SetId::kServiceTraffic, frontend_key(family, ip), {}});
    all.push_back({SetId::kNodePortTraffic, frontend_key(family, port), {}});
  }
  return all;
}

// The first word of each line, "fib" of "[ fib daddr type => reg 1 ]".
std::set<std::string, std::less<>> expressions_of(std::string_view text) {
  std::set<std::string, std::less<>> found;
  while (!text.empty()) {
    std::string_view line = lib::take_part(text, '\n');
    line.remove_prefix(std::min(line.size(), line.find_first_not_of("[ ")));
    const std::string_view word = line.substr(0, line.find_first_of(" ]"));
    if (!word.empty()) found.emplace(word);
  }
  return found;
}

// The rule in "rule 2 of chain services"; null for other objects.
const Rule* refused_rule(const Batch& batch, std::string_view what) {
  constexpr std::string_view kBegin = "rule ";
  constexpr std::string_view kMiddle = " of chain ";
  const auto middle = what.find(kMiddle);
  if (!what.starts_with(kBegin) || middle == std::string_view::npos) return nullptr;
  const auto number = lib::parse_number<std::size_t>(what.substr(kBegin.size(), middle - kBegin.size())).value_or(0);
  const std::string_view name = what.substr(middle + kMiddle.size());
  for (const ChainWrite& chain : batch.chains) {
    if (chain.spec.name == name && number >= 1 && number <= chain.spec.rules.size())
      return &chain.spec.rules[number - 1];
  }
  return nullptr;
}

// Expressions that every rule using them was refused with.
std::set<std::string, std::less<>> missing_expressions(const Batch& batch, const std::vector<Refusal>& refusals) {
  std::set<const Rule*> refused;
  for (const Refusal& refusal : refusals) refused.insert(refused_rule(batch, refusal.what));
  std::set<std::string, std::less<>> missing;
  for (const Rule* const rule : refused) {
    if (rule != nullptr) missing.merge(expressions_of(rule->text));
  }
  for (const ChainWrite& chain : batch.chains) {
    for (const Rule& rule : chain.spec.rules) {
      if (refused.contains(&rule)) continue;
      for (const std::string& word : expressions_of(rule.text)) missing.erase(word);
    }
  }
  return missing;
}

std::string modules_for(const std::set<std::string, std::less<>>& expressions, abi::Family family) {
  std::string text;
  for (const std::string& one : expressions) {
    text += (text.empty() ? "" : ", ") + one;
    for (const Module& module : kModules) {
      if (module.expression != one) continue;
      text.append(" (module ").append(family == abi::Family::kIpv6 ? module.ipv6 : module.ipv4).append(")");
    }
  }
  return text;
}

bool names_nat_chain(const Batch& batch, const Refusal& refusal) {
  return std::any_of(batch.chains.begin(), batch.chains.end(), [&](const ChainWrite& chain) {
    return chain.spec.is_base && chain.spec.hook.type == "nat" && refusal.what == "chain " + chain.spec.name;
  });
}

}  // namespace

Batch probe_batch(abi::Family family, const Settings& settings) {
  const LayoutFacts facts = sample_facts(family, settings);
  Batch batch;
  batch.create_table = true;
  batch.create_sets = all_sets(family, settings.lists_frontends(), settings.affinity_clients);
  batch.create_flowtable = settings.offloads();
  for (ChainSpec& spec : fixed_chains(facts)) batch.chains.push_back({std::move(spec), true});
  std::uint32_t number = 0;
  for (const ServiceClass& service_class : sample_classes()) {
    batch.chains.push_back({class_chain(facts, service_class), true});
    batch.dispatch.push_back({false, ++number, chain_name(service_class), false});
  }
  const std::vector<abi::Prefix> allowed{documentation_prefix(family)};
  batch.chains.push_back({firewall_chain(facts, allowed), true});
  batch.dispatch.push_back({true, 1, firewall_chain_name(allowed), false});
  for (const Record& record : sample_records(family, settings.lists_frontends()))
    batch.elements.push_back({record, false, 0, "probe"});
  return batch;
}

void probe_table(TableKernel& kernel, abi::Family family, const Settings& settings) {
  const Batch batch = probe_batch(family, settings);
  const std::vector<Refusal> refusals = kernel.dry_run(batch);
  if (refusals.empty()) return;
  const std::string object = family == abi::Family::kIpv6 ? "nf_tables, family ip6" : "nf_tables, family ip";
  const std::string begin = "this node cannot run nftables mode: ";
  const Refusal& first = refusals.front();
  const abi::Code code = netlink::code_of(first.error);
  if (code == abi::Code::kDenied || code == abi::Code::kRetry) {
    throw sdk::Failure(code, object, begin + refusal_text(first), first.error);
  }
  // Without flowtables, the rules that refer to one are refused as well.
  if (first.what == std::string("flowtable ") + kFlowtableName) {
    throw sdk::Failure(abi::Code::kUnsupported, object,
                       "offloadInterfaces needs flowtables, which the kernel of this node lacks; load the modules "
                       "nf_flow_table_inet and nft_flow_offload, or remove offloadInterfaces (" +
                           refusal_text(first) + ")",
                       first.error);
  }
  const auto expressions = missing_expressions(batch, refusals);
  std::string lacks = modules_for(expressions, family);
  if (std::any_of(refusals.begin(), refusals.end(), [&](const Refusal& one) { return names_nat_chain(batch, one); })) {
    lacks += (lacks.empty() ? "" : ", ") + std::string("chains of type nat (module nft_chain_nat)");
  }
  if (lacks.empty()) throw sdk::Failure(abi::Code::kUnsupported, object, begin + refusal_text(refusals), first.error);
  throw sdk::Failure(abi::Code::kUnsupported, object,
                     begin + "its kernel lacks " + lacks + "; load what is missing, or use a kernel that has it (" +
                         refusal_text(first) + ")",
                     first.error);
}

}  // namespace sluice::nftables
