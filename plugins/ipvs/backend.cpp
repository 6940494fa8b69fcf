// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/backend.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "plugins/common/event_reasons.hpp"
#include "plugins/common/log_ids.hpp"
#include "plugins/ipvs/bound_clients.hpp"
#include "plugins/ipvs/claims.hpp"
#include "plugins/ipvs/counter_rows.hpp"
#include "plugins/ipvs/drift_rows.hpp"
#include "plugins/ipvs/explanation.hpp"
#include "plugins/ipvs/frontends.hpp"
#include "plugins/ipvs/node/probe.hpp"
#include "plugins/ipvs/set_order.hpp"
#include "sluice/sdk/sdk.hpp"

namespace sluice::ipvs {
namespace {

// Time to read connections, out of the ten seconds a call may take.
constexpr std::uint64_t kExportTime = 8'000'000'000;  // nanoseconds

using netfilter::add_problem;

PortId port_id(const abi::ServicePortKey& key) { return {sdk::service_port_name(key), key.protocol}; }

std::string foreign_text(const ServerKey& key, abi::Family family) {
  return "virtual server " + to_string(key, family) +
         " was not created by this program and is inside excludeCIDRs: it stays unchanged, and "
         "this frontend of the Service is not programmed; remove the virtual server, or its address from excludeCIDRs";
}

// Merges `late` into `changes` and drops what is wanted again.
void merge(Changes& changes, const Changes& late, const Wanted& wanted) {
  const auto join = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  join(changes.bind, late.bind);
  join(changes.unbind, late.unbind);
  join(changes.drop, late.drop);
  join(changes.remove, late.remove);
  std::erase_if(changes.bind, [&](const abi::Address& address) { return !wanted.wants(address); });
  std::erase_if(changes.unbind, [&](const abi::Address& address) { return wanted.wants(address); });
  std::erase_if(changes.remove, [&](const SetItem& item) { return wanted.wants(item); });
}

ServerWriter::Options server_options(const abi::CreateArgs& args, const Settings& settings, Ownership& ownership,
                                     const sdk::Deadline& deadline) {
  ServerWriter::Options options;
  options.excluded = [&ownership](const ServerKey& key) { return ownership.is_excluded(key); };
  options.foreign = [&ownership](const ServerKey& key) { ownership.mark_foreign(key); };
  options.family = args.family;
  options.when_removed = settings.when_removed;
  options.drain = settings.drain;
  options.state_dir = sdk::text(args.state_dir);
  options.deadline = &deadline;
  return options;
}

}  // namespace

IpvsBackend::IpvsBackend(const abi::CreateArgs& args) : IpvsBackend(args, node_kernels(args.family)) {}

IpvsBackend::IpvsBackend(const abi::CreateArgs& args, NodeKernels kernels)
    : BackendBase(args),
      InspectionBase(args.family),
      settings_(read_settings(args.options, args.family)),
      kernels_(std::move(kernels)),
      rules_(*kernels_.rules, args.family, [this] { return host().now(); }),
      sets_(*kernels_.sets, args.family),
      servers_(
          *kernels_.servers, server_options(args, settings_, ownership_, deadline()), [this] { return host().now(); }, log()),
      links_(*kernels_.links, args.family, log()),
      ownership_(settings_.exclude_cidrs),
      metrics_(metrics()),
      lock_metrics_(metrics()),
      drift_([this] { return host().now(); }),
      clashes_(kernels_.sockets),
      retirement_(kernels_, {rules_, sets_, servers_, links_}, ownership_, args.family, log()),
      old_backend_serves_(sdk::predecessor_serves(args)) {
  drift_.add([this] { return servers_.find_drift(); });
  drift_.add([this] { return sets_.find_drift(); }, [this] { return sets_.waited(); });
  drift_.add([this] { return links_.find_drift(); });
  drift_.add([this] { return rules_.find_drift(); });
  kernels_.rules->set_deadline(deadline());
}

abi::Code IpvsBackend::do_probe(abi::Error*) {
  probe_node({*kernels_.rules, *kernels_.servers, *kernels_.sets, *kernels_.links}, settings_, family());
  probe_messages_ = all_messages();
  return abi::Code::kOk;
}

abi::Code IpvsBackend::do_apply(const abi::Transaction& transaction, const abi::NodeFacts& node,
                                abi::ApplyResult& result, abi::Error* error) {
  const bool full = transaction.kind == abi::TransactionKind::kFull;
  PlanFacts facts = plan_facts(family(), node, settings_);
  RuleFacts rule_facts = ipvs::rule_facts(family(), node, kernels_.rules->tools().has_random_fully());
  if (!full) {
    if (!valid_ || transaction.base_generation != generation_) {
      return sdk::fail(error, abi::Code::kNeedFull, {}, "the delta builds on a generation that is not in the kernel");
    }
    if (!(facts == facts_ && rule_facts == rule_facts_)) {
      return sdk::fail(error, abi::Code::kNeedFull, {}, "facts about the node changed that everything depends on");
    }
  }
  valid_ = recorded_ = false;
  retirement_.reset();
  facts_ = std::move(facts);
  rule_facts_ = std::move(rule_facts);
  restore_lines_ = 0;
  if (full) prepare_node();
  const std::uint64_t sent = messages().sum();
  std::uint64_t begin = host().now();
  Problems problems;
  try {
    if (full) refresh();
    const std::uint64_t before_planning = host().now();
    plan(transaction, problems);
    Changes changes = full ? all_changes() : wanted_.take_changes();
    begin += host().now() - before_planning;  // planning is not kernel time
    write(std::move(changes), full, problems);
    note_refused(transaction, problems);
  } catch (const sdk::Failure& failure) {
    unsupported_ = failure.code() == abi::Code::kUnsupported;
    note_cost(sent, begin, result);
    throw;
  }
  note_cost(sent, begin, result);
  not_programmed_.note(transaction, problems);
  note_gained();
  report(result);
  if (full) drift_.written();
  valid_ = recorded_ = true;
  old_backend_serves_ = false;
  generation_ = transaction.generation;
  return abi::Code::kOk;
}

void IpvsBackend::note_cost(std::uint64_t sent_before, std::uint64_t begin, abi::ApplyResult& result) {
  const Messages now = messages();
  result.kernel_writes = now.sum() - sent_before + restore_lines_;
  result.kernel_nanoseconds = host().now() - begin;
  metrics_.messages(now);
}

void* IpvsBackend::do_extension(std::string_view id) {
  if (id == abi::kAffinity) return static_cast<abi::Affinity*>(this);
  if (id == abi::kPreparation) return static_cast<abi::Preparation*>(this);
  return inspection_extension(id);
}

KernelState IpvsBackend::read_node() {
  KernelState state;
  state.servers = kernels_.servers->servers();
  state.real_servers = [this](const ServerKey& key) { return kernels_.servers->real_servers(key); };
  for (const SetId set : all_sets())
    state.sets[static_cast<std::size_t>(set)] = read_set(*kernels_.sets, set, family());
  if (const auto link = kernels_.links->find(kLinkName)) {
    for (const abi::Address& address : kernels_.links->addresses(link->index, family()))
      state.addresses.insert(address);
  }
  state.rules = rules_.read();
  return state;
}

void IpvsBackend::do_inspect(inspection::Answer& answer) {
  if (generation_ == 0) inspection::refuse_before_first_apply();
  ipvs::inspect(read_node(), wanted_, facts_, rule_facts_, answer);
}

void IpvsBackend::do_count(inspection::CounterRows& rows) {
  if (generation_ == 0) inspection::refuse_before_first_apply();
  count(kernels_.servers->servers(), [this](const ServerKey& key) { return kernels_.servers->real_servers(key); },
        wanted_, rows);
}

void IpvsBackend::do_find_drift(inspection::DriftRows& rows) {
  if (generation_ == 0) inspection::refuse_before_first_apply();
  if (!recorded_) {
    throw sdk::Failure(abi::Code::kRetry, {},
                       "the last transaction failed, so there is no complete state to compare with; the log has the "
                       "reason; retry after the next full resync");
  }
  DriftReport report(wanted_, family(), rows);
  servers_.list_drift([&](const ServerKey& key) { return report.wants(key); },
                      [&](const ServerDrift& drift) {
                        const bool added = drift.kind == ServerDrift::Kind::kAdded && !drift.real;
                        if (!added || ownership_.is_ours(drift.key, evidence())) report.add(drift);
                      });
  sets_.list_drift([&](const SetDrift& drift) { report.add(drift); });
  links_.list_drift(
      [&](const AddressDrift& drift) { report.add(drift, ownership_.is_ours(drift.address, evidence())); });
  rules_.list_drift([&](const RuleDrift& drift) { report.add(drift); });
}

void IpvsBackend::do_explain(inspection::Explanation& explanation) {
  if (generation_ == 0) inspection::refuse_before_first_apply();
  ipvs::explain(read_node(), kernels_.local_addresses(), wanted_, facts_, rule_facts_, explanation);
}

void IpvsBackend::do_export(abi::AffinitySink& sink) {
  if (!kernels_.has_ipvs()) return;
  const std::uint64_t end = host().now() + kExportTime;
  const bool all = ipvs::export_clients(wanted_, kernels_.connections, [&] { return host().now() < end; }, sink);
  if (!all)
    log().warning(log_id::kIpvsConnectionsUnreadable,
                  "not all connections of IPVS could be read: some clients lose their affinity");
}

void IpvsBackend::do_import(const abi::ArrayView& clients) {
  const std::uint64_t end = host().now() + kExportTime;
  const VisitConnections no_connections = [](const ConnectionVisitor&, const MoreTime&) { return true; };
  const std::size_t unbound = count_unbound(clients, kernels_.has_ipvs() ? kernels_.connections : no_connections,
                                            [&] { return host().now() < end; });
  if (unbound == 0) return;
  throw sdk::Failure(abi::Code::kUnsupported, {},
                     "IPVS cannot import session affinity: the next connection of each client binds it again");
}

void IpvsBackend::prepare_node() {
  log_tools();
  for (const std::string& warning :
       kernels_.prepare(settings_, *kernels_.servers, std::exchange(unsupported_, false))) {
    warn(log_id::kNodeNotPrepared, event_reasons::kNodeNotPrepared.reason, warning);
  }
}

void IpvsBackend::warn(std::string_view id, std::string_view reason, const std::string& sentence) {
  log().warning(id, sentence);
  host().event(abi::Severity::kWarning, sdk::view(reason), sdk::view(sentence), nullptr);
}

void IpvsBackend::log_tools() {
  if (std::exchange(logged_tools_, true)) return;
  log().info(log_id::kIptablesPrograms,
             "using " + netfilter::describe(kernels_.rules->tools()) + ", scheduler " + settings_.scheduler);
  const std::string& warning = kernels_.rules->tools().warning;
  if (!warning.empty()) log().warning(log_id::kIptablesVariantConflict, warning);
}

void IpvsBackend::refresh() {
  sets_.refresh();
  links_.refresh();
  servers_.refresh();
  const std::vector<ServerKey> held = servers_.held();
  ownership_.keep_only(held, links_.held());
  for (const ServerKey& key : held) {
    if (ownership_.is_excluded(key) && !ownership_.is_ours(key, evidence())) ownership_.mark_foreign(key);
  }
  wanted_.clear();
  no_local_endpoints_.clear();
}

void IpvsBackend::plan(const abi::Transaction& transaction, Problems& problems) {
  const auto forget = [this](const PortId& id) {
    wanted_.remove(id);
    no_local_endpoints_.remove(id);
  };
  for (const auto& key : sdk::range<abi::ServicePortKey>(transaction.removed)) forget(port_id(key));
  std::set<PortId> losers;
  for (const abi::ServicePort& port : sdk::range<abi::ServicePort>(transaction.service_ports)) {
    deadline().check();
    const PortId id = port_id(port.key);
    try {
      ServicePlan made = plan_service(facts_, port);
      exclude_foreign(id.first, made, problems);
      for (const std::string& why : made.problems) add_problem(problems, id.first, why);
      no_local_endpoints_.put(id, made);
      note_losers(wanted_.put(id, std::move(made)), losers);
      add_withheld(id, problems);
    } catch (const sdk::Failure& failure) {
      add_problem(problems, id.first, failure.what());
      forget(id);
    }
  }
  for (const PortId& id : wanted_.take_affected()) {
    note_losers(wanted_.put_again(id), losers);
    add_withheld(id, problems);
    if (wanted_.withheld(id).empty()) gained_.insert(id);
  }
  note_conflicts(losers, problems);
}

void IpvsBackend::note_losers(const std::vector<Wanted::Conflict>& conflicts, std::set<PortId>& losers) {
  for (const Wanted::Conflict& conflict : conflicts) losers.insert({conflict.loser, conflict.key.protocol});
}

void IpvsBackend::add_withheld(const PortId& id, Problems& problems) const {
  for (const abi::Address& address : wanted_.withheld(id)) {
    add_problem(problems, id.first,
                sdk::to_string(address, family()) +
                    " is the address of an endpoint: as an address of kube-ipvs0 it would cut the node off from that "
                    "endpoint; give the Service another external address");
  }
}

// Called after planning, because an owner may have given up a virtual server meanwhile.
void IpvsBackend::note_conflicts(const std::set<PortId>& losers, Problems& problems) {
  for (const PortId& id : losers) {
    if (wanted_.find(id) == nullptr) continue;
    for (const Wanted::Conflict& conflict : wanted_.put_again(id)) {
      add_problem(problems, conflict.loser,
                  to_string(conflict.key, family()) + " belongs to Service port " + conflict.owner +
                      "; give one of them another port or address");
    }
  }
}

// Called after refresh() and planning: everything that must exist, and everything of ours that must go.
Changes IpvsBackend::all_changes() {
  wanted_.take_changes();
  wanted_.take_gained();
  Changes changes = wanted_.everything();
  for (const abi::Address& address : facts_.node_port_addresses) {
    SetEntry entry;
    entry.address = address;
    changes.add.push_back({SetId::kNodePortAddresses, entry});
  }
  for (const ServerKey& key : servers_.held()) {
    if (!wanted_.wants(key) && ownership_.is_ours(key, evidence())) changes.drop.push_back(key);
  }
  for (const SetId set : all_sets()) {
    for (const SetEntry& entry : sets_.held(set)) {
      if (!wants({set, entry})) changes.remove.push_back({set, entry});
    }
  }
  for (const abi::Address& address : links_.held()) {
    if (!wanted_.wants(address) && ownership_.is_ours(address, evidence())) changes.unbind.push_back(address);
  }
  return changes;
}

// Node port addresses belong to the node, not to a Service.
bool IpvsBackend::wants(const SetItem& item) const {
  if (item.set != SetId::kNodePortAddresses) return wanted_.wants(item);
  const std::vector<abi::Address>& all = facts_.node_port_addresses;
  return std::binary_search(all.begin(), all.end(), item.entry.address);
}

void IpvsBackend::exclude_foreign(const std::string& name, ServicePlan& plan, Problems& problems) const {
  for (const ServerKey& key :
       remove_frontends(plan, [this](const ServerKey& one) { return ownership_.is_foreign(one); })) {
    add_problem(problems, name, foreign_text(key, family()));
  }
}

// The order of docs/decisions/0020-ipvs.md. The process may be killed after each step, so a cancelled call may end there.
void IpvsBackend::write(Changes changes, bool full, Problems& problems) {
  add(changes.add);
  bool waiting = false;
  if (full) {
    waiting = write_all_rules(old_backend_serves_ ? RuleWriter::Wait::kAlways : RuleWriter::Wait::kForIptables);
  } else {
    change_rules(changes);
  }
  deadline().check();
  const Changes late = put(changes.put, problems);
  add(late.add);
  if (!waiting) change_rules(late);
  merge(changes, late, wanted_);
  deadline().check();
  for (const abi::Address& address : changes.bind) ownership_.add(address);
  links_.bind(changes.bind);
  if (waiting) write_all_rules(RuleWriter::Wait::kNo);
  deadline().check();
  links_.unbind(changes.unbind);
  for (const abi::Address& address : changes.unbind) ownership_.remove(address);
  servers_.remove(changes.drop);
  for (const ServerKey& key : changes.drop) ownership_.remove(key);
  const OrderedItems going = in_order(changes.remove);
  sets_.remove(going.regular);
  sets_.remove(going.exceptions);
  change_rules({});
  if (full) servers_.tick();
}

void IpvsBackend::add(const std::vector<SetItem>& items) {
  const OrderedItems coming = in_order(items);
  sets_.add(coming.exceptions);
  sets_.add(coming.regular);
}

Changes IpvsBackend::put(const std::vector<WantedServer>& wanted, Problems& problems) {
  for (const WantedServer& one : wanted) ownership_.add(one.server.key);
  const ServerWriter::Outcome outcome = servers_.put(wanted);
  for (const auto& [name, why] : outcome.refused) add_problem(problems, name, why);
  for (const WantedServer& one : wanted) {
    if (!outcome.foreign.contains(one.server.key)) continue;
    add_problem(problems, one.owner, foreign_text(one.server.key, family()));
  }
  for (const ServerKey& key : outcome.missing) ownership_.remove(key);
  wanted_.exclude(outcome.foreign);
  wanted_.note_put(wanted, outcome.missing);
  return wanted_.take_changes();
}

// Reports entries and addresses that the kernel rejected; full transactions retry them. A service port that is not
// served at all is not counted among those without local endpoints.
void IpvsBackend::note_refused(const abi::Transaction& transaction, Problems& problems) {
  for (const abi::ServicePort& port : sdk::range<abi::ServicePort>(transaction.service_ports)) {
    const PortId id = port_id(port.key);
    const ServicePlan* const plan = wanted_.find(id);
    if (plan == nullptr) continue;
    if (!wanted_.is_served(id)) no_local_endpoints_.remove(id);
    if (sets_.refused().empty() && links_.refused().empty()) continue;
    for (const SetItem& item : plan->items) {
      const auto found = sets_.refused().find(item);
      if (found != sets_.refused().end()) add_problem(problems, id.first, found->second);
    }
    for (const abi::Address& address : plan->addresses) {
      const auto found = links_.refused().find(address);
      if (found != links_.refused().end()) add_problem(problems, id.first, found->second);
    }
  }
}

bool IpvsBackend::write_all_rules(RuleWriter::Wait wait) {
  bool waiting = false;
  write_rules([&] { waiting = rules_.write_full(rule_plan(), wait); });
  return waiting;
}

void IpvsBackend::change_rules(const Changes& changes) {
  if (sets_.filled() != rules_filled_) {
    write_rules([&] { rules_.write_change(rule_plan()); });
  } else if (!changes.close.empty() || !changes.reopen.empty()) {
    write_rules([&] { rules_.write_closed(changes.close, changes.reopen); });
  }
}

RulePlan IpvsBackend::rule_plan() const { return plan_rules(rule_facts_, sets_.filled(), wanted_.closed()); }

template <class Write>
void IpvsBackend::write_rules(const Write& write) {
  const std::uint32_t filled = sets_.filled();
  try {
    write();
  } catch (const sdk::Failure& failure) {
    restore_lines_ += rules_.session().lines();
    if (deadline().cancelled()) throw;
    metrics_.restore_failed();
    lock_metrics_.report(rules_.session(), failure.code() == abi::Code::kRetry);
    throw;
  }
  restore_lines_ += rules_.session().lines();
  lock_metrics_.report(rules_.session(), false);
  rules_filled_ = filled;
}

void IpvsBackend::note_gained() {
  for (const PortId& id : wanted_.take_gained()) {
    not_programmed_.request_retry(id.first, "a virtual server that another Service had");
  }
  for (const PortId& id : std::exchange(gained_, {})) not_programmed_.request_retry(id.first, "an address that an endpoint had");
}

Messages IpvsBackend::all_messages() const { return {servers_.messages(), sets_.messages(), kernels_.links->messages()}; }

Messages IpvsBackend::messages() const {
  const Messages all = all_messages();
  return {all.servers - probe_messages_.servers, all.sets - probe_messages_.sets, all.links - probe_messages_.links};
}

void IpvsBackend::report(abi::ApplyResult& result) {
  Holdings now;
  now.virtual_servers = servers_.servers();
  now.real_servers = servers_.real_servers();
  now.draining = servers_.draining();
  for (const SetId set : all_sets()) now.set_entries += sets_.held(set).size();
  now.addresses = links_.held().size();
  metrics_.holdings(now);
  metrics_.no_local_endpoints(no_local_endpoints_);
  metrics_.messages(messages());
  result.objects_owned = now.virtual_servers + now.real_servers + now.set_entries + now.addresses + rules_.rules();
}

abi::Code IpvsBackend::do_verify(abi::Error* error) {
  if (!valid_) {
    drain_meanwhile();
    return sdk::fail(error, abi::Code::kNeedFull, {}, "the kernel state is unknown");
  }
  try {
    servers_.tick();
  } catch (const sdk::Failure&) {
    valid_ = false;  // the kernel state is unknown
    throw;
  }
  const auto drift = drift_.find();
  if (drift) {
    valid_ = false;
    return sdk::fail(error, abi::Code::kNeedFull, {}, *drift);
  }
  for (const std::string& clash : clashes_.find(wanted_.node_ports(), facts_.node_port_addresses)) {
    warn(log_id::kNodePortInUse, event_reasons::kNodePortInUse.reason, clash);
  }
  abi::ApplyResult unused{};
  report(unused);
  return abi::Code::kOk;
}

// Deadlines also pass while writes fail. After a failure the weights of real servers are unknown, so they are read
// first.
void IpvsBackend::drain_meanwhile() {
  if (servers_.draining() == 0) return;
  recorded_ = false;
  try {
    servers_.refresh();
    servers_.tick();
  } catch (const sdk::Failure&) {
    // The failing apply reports the reason.
  }
}

abi::Code IpvsBackend::do_claims(abi::StringSink& sink, abi::Error*) {
  for (const std::string& claim : claims_of(family())) sink.add(sdk::view(claim));
  return abi::Code::kOk;
}

abi::Code IpvsBackend::do_retire(const abi::Handover& handover, abi::Error* error) {
  const NewBackendClaims keep(handover.claims);
  // Another instance of this backend has adopted the state.
  if (keep.covers_everything(family())) return abi::Code::kOk;
  valid_ = recorded_ = false;
  if (handover.drain_seconds == 0 || keep.covers(servers_claim())) {
    retirement_.remove_all(keep);
    return abi::Code::kOk;
  }
  if (retirement_.step(keep)) return abi::Code::kOk;
  return sdk::fail(error, abi::Code::kRetry, {}, "draining: " + retirement_.waiting());
}

abi::Code IpvsBackend::do_cleanup(abi::Error*) {
  valid_ = recorded_ = false;
  retirement_.remove_all({});
  return abi::Code::kOk;
}

}  // namespace sluice::ipvs
