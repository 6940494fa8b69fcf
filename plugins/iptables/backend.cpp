// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/iptables/backend.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/common/event_reasons.hpp"
#include "plugins/common/log_ids.hpp"
#include "plugins/common/netfilter/claims.hpp"
#include "plugins/common/netfilter/not_programmed.hpp"
#include "plugins/common/netfilter/ruleset.hpp"
#include "plugins/common/netfilter/save_parser.hpp"
#include "plugins/iptables/counter_rows.hpp"
#include "plugins/iptables/drift_rows.hpp"
#include "plugins/iptables/explanation.hpp"
#include "plugins/iptables/inspection.hpp"
#include "plugins/iptables/kernel_rules.hpp"
#include "plugins/iptables/observe.hpp"
#include "plugins/iptables/probe.hpp"
#include "sluice/sdk/sdk.hpp"

namespace sluice::iptables {
namespace {

// A listing that took t is not repeated for 20 t. This bounds verification to 5 % of one CPU,
// however often other processes change their rules.
constexpr std::uint64_t kListingPauseFactor = 20;

// The work of one retire() call. The apply thread is shared with the new backend.
constexpr std::uint64_t kLongestRemoval = 1'000'000'000;
constexpr std::size_t kChainsAtOnce = 2000;

}  // namespace

IptablesBackend::IptablesBackend(const abi::CreateArgs& args)
    : IptablesBackend(args, std::make_unique<netfilter::NodeKernel>(args.family)) {
  const sdk::Options rejects_all(args.options, sdk::option::none());
}

IptablesBackend::IptablesBackend(const abi::CreateArgs& args, std::unique_ptr<netfilter::Kernel> kernel,
                                 std::unique_ptr<RecentLists> recent)
    : BackendBase(args),
      InspectionBase(args.family),
      kernel_(std::move(kernel)),
      session_(*kernel_),
      reporter_(metrics()),
      recent_(std::move(recent)),
      affinity_(*recent_, family()),
      old_backend_serves_(sdk::predecessor_serves(args)) {
  kernel_->set_deadline(deadline());
}

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
  valid_ = written_ = false;
  removal_.reset();
  retirement_.forget();
  affinity_.note(transaction);
  names_.note(transaction);
  netfilter::Submitter submitter(session_, [this] { return host().now(); });
  try {
    write(transaction, node, facts, submitter);
  } catch (const sdk::Failure& failure) {
    for (const auto& [name, why] : submitter.refused()) skipped_.insert(name);
    note_cost(result);
    if (deadline().cancelled()) throw;
    reporter_.failure(full);
    reporter_.lock(session_, failure.code() == abi::Code::kRetry, log());
    throw;
  }
  if (submitter.met_refusal()) reporter_.failure(full);
  if (full) skipped_.clear();
  bind_clients();
  valid_ = written_ = true;
  old_backend_serves_ = false;
  generation_ = transaction.generation;
  facts_ = facts;
  node_version_ = node.version;
  note_cost(result);
  const Totals totals = state_.totals();
  result.objects_owned = totals.filter_rules + totals.nat_rules + totals.chains;
  reporter_.rules(totals, session_);
  reporter_.lock(session_, false, log());
  if (full) counters_.report(*kernel_, metrics());
  return abi::Code::kOk;
}

void IptablesBackend::note_cost(abi::ApplyResult& result) const {
  result.kernel_writes = session_.lines();
  result.kernel_nanoseconds = static_cast<std::uint64_t>(session_.tool_time().count());
}

void IptablesBackend::write(const abi::Transaction& transaction, const abi::NodeFacts& node, const Facts& facts,
                            netfilter::Submitter& submitter) {
  const bool full = transaction.kind == abi::TransactionKind::kFull;
  if (full || node.version != node_version_) prepare_node(node);
  if (full) counters_.ensure(*kernel_, log());
  netfilter::NamedKeys keys(transaction);
  const auto report = [&](const std::string& name, const std::string& why) {
    if (const auto key = keys.find(name)) netfilter::report_not_programmed(host(), *key, name, why);
  };
  ApplyContext context{facts.plan,
                       choices(transaction, facts),
                       is_nft() ? netfilter::kNftBatch : netfilter::kOneBatch,
                       submitter,
                       skipped_,
                       old_backend_serves_,
                       [this] { bind_clients(); },
                       [&](const std::string& name, const sdk::Failure& why) { report(name, why.what()); },
                       log()};
  if (full) {
    write_full(context, transaction, node, facts);
    next_listing_ = 0;
  } else {
    apply_delta(session_, context, transaction, plan_tail(family(), node), state_);
  }
  for (const auto& [name, why] : submitter.refused()) report(name, why);
}

void IptablesBackend::write_full(ApplyContext& context, const abi::Transaction& transaction, const abi::NodeFacts& node,
                                 const Facts& facts) {
  for (;;) {
    try {
      write_full_once(context, transaction, node);
      return;
    } catch (const sdk::Failure& failure) {
      if (context.submitter.starts_over()) continue;
      // The kernel may have nfacct counters without the match that rules need.
      if (failure.code() != abi::Code::kKernel || !counters_.give_up_when_refused(*kernel_)) throw;
      log().warning(
          log_id::kCountersRefused,
          std::string("rules that use counters (nfacct) are refused; they are written without: ") + failure.what());
      context.choices = choices(transaction, facts);
    }
  }
}

void IptablesBackend::write_full_once(const ApplyContext& context, const abi::Transaction& transaction,
                                      const abi::NodeFacts& node) {
  state_ = apply_full(session_, context, transaction,
                      plan_static(family(), node, kernel_->tools().has_random_fully(), counters_.invalid_dropped()),
                      std::exchange(state_, State()));
}

PlanChoices IptablesBackend::choices(const abi::Transaction& transaction, const Facts& facts) const {
  PlanChoices made;
  made.endpoint_comments = count_endpoints(transaction, state_) <= kBigCluster;
  if ((facts.flags & abi::kNodePortsOnLocalhost) != 0) made.localhost_counter = counters_.localhost_accepted();
  return made;
}

void IptablesBackend::prepare_node(const abi::NodeFacts& node) {
  if (!logged_tools_) {
    log().info(log_id::kIptablesPrograms, "using " + netfilter::describe(kernel_->tools()));
    if (!kernel_->tools().warning.empty()) log().warning(log_id::kIptablesVariantConflict, kernel_->tools().warning);
  }
  logged_tools_ = true;
  for (const std::string& address : unusable_node_port_addresses(family(), node)) {
    log().error(log_id::kNodePortLoopbackUnsupported,
                "node ports cannot be served on the loopback address " + address +
                    ": the kernel does not route it to endpoints; the address is ignored");
  }
  route_localhost(node);
}

// By default the kernel does not route packets from 127.0.0.1 to an endpoint.
void IptablesBackend::route_localhost(const abi::NodeFacts& node) {
  if (!serves_localhost(family(), node)) return;
  const int failure = kernel_->allow_localnet_routing();
  if (failure == 0 || warned_of_sysctl_) return;
  warned_of_sysctl_ = true;
  const std::string line = std::string("set net.ipv4.conf.all.route_localnet to 1: ") + std::strerror(failure) +
                           "; node ports do not answer on 127.0.0.1";
  log().warning(log_id::kRouteLocalnetFailed, line);
  host().event(abi::Severity::kWarning, sdk::view(event_reasons::kRouteLocalnetFailed.reason), sdk::view(line),
               nullptr);
}

abi::Code IptablesBackend::do_verify(abi::Error* error) {
  if (!valid_) return sdk::fail(error, abi::Code::kNeedFull, {}, "no rules have been written yet");
  const std::uint64_t begin = host().now();
  counters_.report(*kernel_, metrics());
  if (!may_have_drifted(begin)) return abi::Code::kOk;
  const netfilter::Drift drift = find_drift(state_, observe(session_));
  const std::uint64_t end = host().now();
  next_listing_ = end + kListingPauseFactor * (end - begin);
  if (drift.empty()) {
    session_.accept();
    return abi::Code::kOk;
  }
  valid_ = false;
  return sdk::fail(error, abi::Code::kNeedFull, {}, drift.describe());
}

bool IptablesBackend::may_have_drifted(std::uint64_t now) {
  const bool due = now >= next_listing_;
  if (is_nft()) return due && !session_.untouched();
  // Legacy iptables has no generation number, so all rules are listed regularly. In between, a
  // missing canary chain shows that a process has flushed the tables.
  return due || !has_canary();
}

bool IptablesBackend::has_canary() {
  netfilter::Ruleset rules;
  netfilter::SaveParser parser(rules, {});
  const lib::ProgramResult outcome =
      kernel_->save({.only = Table::kMangle}, [&parser](std::string_view piece) { parser.append(piece); });
  if (!outcome.ok()) throw netfilter::failure_of(kernel_->tools().save, outcome);
  parser.finish();
  return rules.chain("mangle", kCanary) != nullptr;
}

std::string IptablesBackend::claim(Table table, std::string_view chain) const {
  return netfilter::claim_of(family(), table, chain);
}

std::vector<std::string> IptablesBackend::claimed() const {
  std::vector<std::string> all;
  const auto add = [&](Table table, std::string_view chain) { all.push_back(claim(table, chain)); };
  for (const names::Chain& chain : kOwnedChains) add(chain.table, chain.name);
  for (const ChainKind kind : kChainKinds) add(Table::kNat, std::string(prefix(kind)).append("*"));
  return all;
}

abi::Code IptablesBackend::do_claims(abi::StringSink& sink, abi::Error*) {
  for (const std::string& artifact : claimed()) sink.add(sdk::view(artifact));
  return abi::Code::kOk;
}

KeepChain IptablesBackend::kept_for(std::vector<std::string> claims) const {
  return [this, claims = std::move(claims)](Table table, std::string_view chain) {
    const std::string artifact = claim(table, chain);
    return std::any_of(claims.begin(), claims.end(),
                       [&](const std::string& claimed) { return sdk::covers(claimed, artifact); });
  };
}

// Established connections continue in conntrack, so only packets in flight are waited for.
abi::Code IptablesBackend::do_retire(const abi::Handover& handover, abi::Error* error) {
  valid_ = false;
  const std::vector<std::string> ours = claimed();
  std::vector<std::string> claims;
  for (const auto& one : sdk::range<abi::StringView>(handover.claims)) claims.emplace_back(sdk::text(one));
  std::sort(claims.begin(), claims.end());
  // Another new backend keeps other chains, and may have written to them since they were listed.
  if (claims != removal_claims_) removal_.reset();
  const auto is_kept = [&](const std::string& artifact) {
    return std::any_of(claims.begin(), claims.end(),
                       [&](const std::string& one) { return sdk::covers(one, artifact); });
  };
  // The new backend claims all chains, so there is nothing to remove.
  if (std::all_of(ours.begin(), ours.end(), is_kept)) return abi::Code::kOk;
  try {
    const auto step = retirement_.next(handover.drain_seconds, host().now());
    if (step == netfilter::Retirement::Step::kWait) {
      return sdk::fail(error, abi::Code::kRetry, {}, "waiting for packets in flight");
    }
    if (!removal_) {
      removal_ = std::make_unique<Removal>(session_, kept_for(claims));
      removal_claims_ = claims;
      if (removal_->remove_entry_jumps() && handover.drain_seconds != 0) {
        retirement_.closed(host().now());
        return sdk::fail(error, abi::Code::kRetry, {}, "waiting for packets in flight");
      }
      retirement_.closed(host().now());
    }
    if (!continue_removal(handover.drain_seconds)) {
      return sdk::fail(error, abi::Code::kRetry, {}, "unreferenced chains are still being removed");
    }
  } catch (const sdk::Failure&) {
    removal_.reset();  // the next call lists the remaining chains again
    throw;
  }
  removal_.reset();
  retirement_.forget();
  return abi::Code::kOk;
}

// Works for a limited time, or to the end if drain_seconds is 0, because no other call follows.
bool IptablesBackend::continue_removal(std::uint32_t drain_seconds) {
  if (drain_seconds == 0) return removal_->remove();
  const std::uint64_t end = host().now() + kLongestRemoval;
  while (!removal_->remove(kChainsAtOnce)) {
    if (host().now() >= end) return false;
  }
  return true;
}

abi::Code IptablesBackend::do_cleanup(abi::Error*) {
  valid_ = false;
  try {
    kernel_->tools();
  } catch (const sdk::Failure& failure) {
    log().warning(log_id::kCleanupSkipped, std::string("nothing is cleaned up: ") + failure.what());
    return abi::Code::kOk;
  }
  remove_everything(session_, [](Table, std::string_view) { return false; });
  return abi::Code::kOk;
}

void IptablesBackend::bind_clients() {
  const std::string problem = affinity_.bind();
  if (!problem.empty()) log().warning(log_id::kAffinityNotImported, problem);
}

void* IptablesBackend::do_extension(std::string_view id) {
  if (id == abi::kPreparation) return static_cast<abi::Preparation*>(this);
  if (id == abi::kAffinity) return static_cast<abi::Affinity*>(this);
  return inspection_extension(id);
}

void IptablesBackend::do_export(abi::AffinitySink& sink) {
  if (!affinity_.empty() && !recent_->available()) {
    throw sdk::Failure(abi::Code::kUnsupported, "xt_recent",
                       "the kernel does not show its lists of clients (/proc/net/xt_recent does not exist): session "
                       "affinity starts without them");
  }
  affinity_.export_clients(sink);
}

void IptablesBackend::do_import(const abi::ArrayView& clients) {
  affinity_.keep(clients);
  if (valid_) bind_clients();
}

void IptablesBackend::do_inspect(inspection::Answer& answer) {
  if (generation_ == 0) inspection::refuse_before_first_apply();
  KernelRules rules(family());
  session_.read(rules);
  iptables::inspect(rules, names_, facts_.plan, answer);
}

void IptablesBackend::do_count(inspection::CounterRows& rows) {
  if (generation_ == 0) inspection::refuse_before_first_apply();
  KernelRules rules(family());
  session_.read(rules, true);
  add_counter_rows(rules, names_, rows);
}

void IptablesBackend::do_find_drift(inspection::DriftRows& rows) {
  if (generation_ == 0) inspection::refuse_before_first_apply();
  if (!written_) {
    throw sdk::Failure(abi::Code::kRetry, {},
                       "the last transaction failed, so the kernel has no known state to compare with; the daemon "
                       "retries it");
  }
  add_drift_rows(session_, state_, rows);
}

void IptablesBackend::do_explain(inspection::Explanation& steps) {
  if (generation_ == 0) inspection::refuse_before_first_apply();
  const MatchFacts facts{facts_.mark, facts_.plan.local, kernel_->local_addresses()};
  const TracedPacket packet(steps.packet());
  PacketRules rules(packet, facts);
  session_.read(rules, true);
  const auto is_remembered = [&](const std::string& list, std::uint32_t seconds) {
    const auto clients = recent_->read(list, family());
    return clients && std::any_of(clients->begin(), clients->end(), [&](const RecentClient& one) {
             return one.address == packet.packet.client && one.age <= std::chrono::seconds(seconds);
           });
  };
  explain(rules, facts, is_remembered, written_ ? &state_ : nullptr, steps);
}

}  // namespace sluice::iptables
