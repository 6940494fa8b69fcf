// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/iptables/backend.hpp"

#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/common/netfilter/ruleset.hpp"
#include "plugins/common/netfilter/save_parser.hpp"
#include "plugins/iptables/cleanup.hpp"
#include "plugins/iptables/probe.hpp"
#include "sluice/sdk/sdk.hpp"

namespace sluice::iptables {
namespace {

// A look that took t is not repeated before 20 t: at most a twentieth of one processor,
// however often others change their rules.
constexpr std::uint64_t kRestAfterLook = 20;

constexpr std::string_view kTotal = "kubeproxy_sync_proxy_rules_iptables_total";
constexpr std::string_view kLast = "kubeproxy_sync_proxy_rules_iptables_last";
constexpr std::string_view kFailures = "kubeproxy_sync_proxy_rules_iptables_restore_failures_total";
constexpr std::string_view kPartialFailures = "kubeproxy_sync_proxy_rules_iptables_partial_restore_failures_total";

std::string_view family_label(abi::Family family) { return family == abi::Family::kIpv6 ? "IPv6" : "IPv4"; }

bool claim_covers(std::string_view claim, std::string_view artifact) {
  if (claim.ends_with('*')) return artifact.starts_with(claim.substr(0, claim.size() - 1));
  return claim == artifact;
}

}  // namespace

IptablesBackend::IptablesBackend(const abi::CreateArgs& args)
    : IptablesBackend(args, std::make_unique<NodeKernel>(args.family)) {
  const sdk::Options options(args.options);
  if (options.all().empty()) return;
  throw sdk::Failure(abi::Code::kInvalid, options.all().begin()->first,
                     "unknown option: the iptables backend has none of its own");
}

IptablesBackend::IptablesBackend(const abi::CreateArgs& args, std::unique_ptr<Kernel> kernel)
    : BackendBase(args), kernel_(std::move(kernel)), session_(*kernel_) {}

bool IptablesBackend::is_nft() { return kernel_->tools().variant == netfilter::Variant::kNft; }

abi::Code IptablesBackend::do_probe(abi::Error*) {
  probe_kernel(*kernel_, family());
  return abi::Code::kOk;
}

abi::Code IptablesBackend::do_apply(const abi::Transaction& transaction, const abi::NodeFacts& node,
                                    abi::ApplyResult& result, abi::Error* error) {
  const bool full = transaction.kind == abi::TransactionKind::kFull;
  const Facts facts{plan_facts(family(), node), node.flags, node.masquerade_mark};
  if (!full) {
    if (!valid_ || transaction.base_generation != generation_) {
      return sdk::fail(error, abi::Code::kNeedFull, {}, "the delta builds on a generation that is not in the kernel");
    }
    if (!(facts == facts_)) {
      return sdk::fail(error, abi::Code::kNeedFull, {}, "facts about the node changed that all rules depend on");
    }
  }
  session_.reset_counters();
  valid_ = false;
  try {
    write(transaction, node, facts, result);
  } catch (const sdk::Failure& failure) {
    if (failure.code() == abi::Code::kKernel && !failure.object().empty()) refused_.insert(failure.object());
    result.kernel_writes = session_.lines();
    count_failure(full);
    throw;
  }
  valid_ = true;
  generation_ = transaction.generation;
  facts_ = facts;
  node_version_ = node.version;
  result.kernel_writes = session_.lines();
  const Totals totals = state_.totals();
  result.objects_owned = totals.filter_rules + totals.nat_rules + totals.chains;
  set_metrics();
  return abi::Code::kOk;
}

void IptablesBackend::write(const abi::Transaction& transaction, const abi::NodeFacts& node, const Facts& facts,
                            abi::ApplyResult& result) {
  const bool full = transaction.kind == abi::TransactionKind::kFull;
  if (full || node.version != node_version_) prepare_node(node);
  const ApplyContext context{facts.plan, is_nft() ? kNftBatch : kOneBatch, refused_,
                             [&](const std::string& name, const sdk::Failure& why) {
                               ++result.failed_services;
                               abi::Error reason = sdk::empty_error();
                               sdk::set_error(&reason, name, why.what());
                               host().object_failed(sdk::view(name), &reason);
                             },
                             log()};
  if (full) {
    state_ = State();  // its memory goes before the new one comes
    state_ = apply_full(session_, context, transaction,
                        plan_static(family(), node, kernel_->tools().has_random_fully()));
    refused_.clear();
    next_look_ = 0;
  } else {
    apply_delta(session_, context, transaction, plan_tail(family(), node), state_);
  }
}

void IptablesBackend::prepare_node(const abi::NodeFacts& node) {
  if (!said_tools_) log().info("using " + netfilter::describe(kernel_->tools()));
  said_tools_ = true;
  for (const std::string& address : unusable_node_port_addresses(family(), node)) {
    log().error("node ports cannot be served on the loopback address " + address +
                ": the kernel does not route it to endpoints; it is left out");
  }
  if (!serves_localhost(family(), node)) return;
  const int failure = kernel_->allow_localnet_routing();
  if (failure == 0 || warned_of_sysctl_) return;
  warned_of_sysctl_ = true;
  const std::string line = std::string("set net.ipv4.conf.all.route_localnet to 1: ") + std::strerror(failure) +
                           "; node ports do not answer on 127.0.0.1";
  log().warning(line);
  host().event(abi::Severity::kWarning, sdk::view("RouteLocalnetFailed"), sdk::view(line));
}

abi::Code IptablesBackend::do_verify(abi::Error* error) {
  if (!valid_) return sdk::fail(error, abi::Code::kNeedFull, {}, "nothing is in place yet");
  if (is_nft()) {
    if (session_.untouched()) return abi::Code::kOk;
  } else if (has_canary()) {
    // The old iptables tells nobody of a change. Who flushes tables takes this chain
    // with him; a single rule that was removed comes back with the next full transaction.
    return abi::Code::kOk;
  }
  const std::uint64_t begin = host().now();
  if (begin < next_look_) return abi::Code::kOk;
  const Damage damage = find_damage(state_, session_.observe());
  const std::uint64_t end = host().now();
  next_look_ = end + kRestAfterLook * (end - begin);
  if (damage.empty()) {
    session_.accept();
    return abi::Code::kOk;
  }
  valid_ = false;
  return sdk::fail(error, abi::Code::kNeedFull, {}, damage.describe());
}

bool IptablesBackend::has_canary() {
  netfilter::Ruleset rules;
  netfilter::SaveParser parser(rules, {});
  const process::Outcome outcome =
      kernel_->save(Table::kMangle, [&parser](std::string_view piece) { parser.feed(piece); });
  if (!outcome.ok()) throw_failure(kernel_->tools().save, outcome, nullptr);
  parser.finish();
  return rules.chain("mangle", kCanary) != nullptr;
}

std::string IptablesBackend::claim(Table table, std::string_view chain) const {
  return std::string(family() == abi::Family::kIpv6 ? "ip6tables/" : "iptables/")
      .append(netfilter::table_name(table))
      .append("/")
      .append(chain);
}

abi::Code IptablesBackend::do_claims(abi::StringSink& sink, abi::Error*) {
  const auto add = [&](Table table, std::string_view chain) { sink.add(sdk::view(claim(table, chain))); };
  for (const SharedChain chain : kSharedChains) add(table(chain), name(chain));
  add(Table::kFilter, kForward);
  add(Table::kNat, kPostrouting);
  add(Table::kNat, kMarkMasquerade);
  for (const Table table : {Table::kFilter, Table::kNat, Table::kMangle}) add(table, kCanary);
  for (const ChainKind kind : kChainKinds) add(Table::kNat, std::string(prefix(kind)).append("*"));
  return abi::Code::kOk;
}

abi::Code IptablesBackend::do_retire(const abi::Handover& handover, abi::Error*) {
  std::vector<std::string> claims;
  for (const abi::StringView& claimed : sdk::range<abi::StringView>(handover.claims)) {
    claims.emplace_back(sdk::text(claimed));
  }
  valid_ = false;
  // Established connections live on in conntrack: there is nothing to wait for.
  remove_everything(session_, [&](Table table, std::string_view chain) {
    const std::string artifact = claim(table, chain);
    for (const std::string& claimed : claims) {
      if (claim_covers(claimed, artifact)) return true;
    }
    return false;
  });
  return abi::Code::kOk;
}

abi::Code IptablesBackend::do_cleanup(abi::Error*) {
  valid_ = false;
  try {
    kernel_->tools();
  } catch (const sdk::Failure& failure) {
    log().warning(std::string("nothing is cleaned up: ") + failure.what());
    return abi::Code::kOk;
  }
  remove_everything(session_, [](Table, std::string_view) { return false; });
  return abi::Code::kOk;
}

void IptablesBackend::set_metrics() {
  const Totals totals = state_.totals();
  const auto set = [this](std::string_view metric, Table table, std::size_t value) {
    const std::string labels = std::string("table=\"")
                                   .append(netfilter::table_name(table))
                                   .append("\",ip_family=\"")
                                   .append(family_label(family()))
                                   .append("\"");
    host().metric(abi::MetricKind::kGaugeSet, sdk::view(metric), sdk::view(labels), static_cast<double>(value));
  };
  set(kTotal, Table::kFilter, totals.filter_rules);
  set(kTotal, Table::kNat, totals.nat_rules);
  set(kLast, Table::kFilter, session_.lines(Table::kFilter));
  set(kLast, Table::kNat, session_.lines(Table::kNat));
}

void IptablesBackend::count_failure(bool full) {
  const std::string labels = std::string("ip_family=\"").append(family_label(family())).append("\"");
  host().metric(abi::MetricKind::kCounterAdd, sdk::view(kFailures), sdk::view(labels), 1);
  if (!full) host().metric(abi::MetricKind::kCounterAdd, sdk::view(kPartialFailures), sdk::view(labels), 1);
}

}  // namespace sluice::iptables
