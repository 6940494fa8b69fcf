// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/backend.hpp"

#include <chrono>
#include <map>
#include <utility>

#include "plugins/common/event_reasons.hpp"
#include "plugins/common/log_ids.hpp"
#include "plugins/userspace/cleanup.hpp"
#include "plugins/userspace/counter_rows.hpp"
#include "plugins/userspace/declared_metrics.hpp"
#include "plugins/userspace/drift_rows.hpp"
#include "plugins/userspace/explanation.hpp"
#include "plugins/userspace/inspection.hpp"
#include "plugins/userspace/limits.hpp"
#include "plugins/userspace/probe.hpp"
#include "plugins/userspace/relay/drain_process.hpp"
#include "plugins/userspace/relay/event_loop.hpp"
#include "sluice/sdk/sdk.hpp"

namespace sluice::userspace {
namespace {

using netfilter::add_problem;

constexpr const char* kNoSctp = "userspace mode relays TCP and UDP only; use another mode for SCTP";

ClaimFacts claim_facts(const PortalFacts& facts, const abi::NodeFacts& node) {
  ClaimFacts made;
  made.node_ports_match_all = facts.node_ports_match_all;
  made.node_port_addresses = facts.node_port_addresses;
  const auto local = sdk::range<abi::Address>(node.local_addresses);
  made.local_addresses.insert(local.begin(), local.end());
  return made;
}

}  // namespace

UserspaceBackend::UserspaceBackend(const abi::CreateArgs& args)
    : UserspaceBackend(args, read_settings(args.options, args.family),
                       std::make_unique<netfilter::NodeKernel>(args.family), true) {}

UserspaceBackend::UserspaceBackend(const abi::CreateArgs& args, Settings settings,
                                   std::unique_ptr<netfilter::Kernel> kernel)
    : UserspaceBackend(args, std::move(settings), std::move(kernel), false) {}

UserspaceBackend::UserspaceBackend(const abi::CreateArgs& args, Settings settings,
                                   std::unique_ptr<netfilter::Kernel> kernel, bool owns_node)
    : BackendBase(args),
      InspectionBase(args.family),
      settings_(std::move(settings)),
      state_dir_(sdk::text(args.state_dir)),
      beside_old_backend_(sdk::predecessor_serves(args)),
      owns_node_(owns_node),
      kernel_(std::move(kernel)),
      writer_(*kernel_, args.family, [this] { return host().now(); }),
      kept_(static_cast<abi::HostDescriptors*>(args.host->extension(sdk::view(abi::kHostDescriptors))), log()) {
  kernel_->set_deadline(deadline());
}

UserspaceBackend::~UserspaceBackend() {
  if (table_ != nullptr) {
    // Claims are released only after retirement. Otherwise the process may be ending, and the next one takes them over.
    if (retirement_ != nullptr) table_->release_claims();
    table_->leave_accept_queues();
    RelayedNow lost = relayed_->now();
    if (retirement_ == nullptr) continue_connections(lost);
    if (lost.any()) log().info(log_id::kRelayedConnectionsEnd, describe(lost) + " end with this backend");
    if (retirement_ == nullptr) {
      affinity_file_->keep();
      relayed_->record_lost(lost);  // the next process reports them
    } else {
      count_lost(metrics(), lost);
    }
  }
  if (engine_ != nullptr) engine_->remove_report(report_);
}

// The process ends: its connections continue in another one, if the settings say so.
void UserspaceBackend::continue_connections(RelayedNow& now) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(settings_.relay.stop_drain).count();
  if (seconds == 0 || now.connections == 0 || !can_be_outlived()) return;
  engine_->continue_at_end();
  table_->continue_connections();
  relayed_->connections_continue();
  log().info(log_id::kRelayedConnectionsContinue,
             describe({now.connections, 0}) + " continue in a process of their own for at most " +
                 std::to_string(seconds) + " s");
  now.connections = 0;
  // The file of relayed_ is gone.
  if (now.flows != 0) RelayedCount(1, state_dir_, family()).record_lost(now);
}

abi::Code UserspaceBackend::do_probe(abi::Error*) {
  probe_kernel(*kernel_, family());
  if (owns_node_) probe_socket_mark(family());
  return abi::Code::kOk;
}

abi::Code UserspaceBackend::do_apply(const abi::Transaction& transaction, const abi::NodeFacts& node,
                                     abi::ApplyResult& result, abi::Error* error) {
  const bool full = transaction.kind == abi::TransactionKind::kFull;
  PortalFacts facts = portal_facts(family(), settings_.listen_address, node);
  ClaimFacts claims = claim_facts(facts, node);
  if (!full) {
    if (!valid_ || transaction.base_generation != generation_) {
      return sdk::fail(error, abi::Code::kNeedFull, {}, "the delta builds on a generation that is not in the kernel");
    }
    if (!(facts == facts_) || table_->claims_depend_on(claim_facts_.local_addresses, claims.local_addresses)) {
      return sdk::fail(error, abi::Code::kNeedFull, {}, "node facts that all rules depend on changed");
    }
  }
  valid_ = false;
  if (retirement_ != nullptr && retirement_->begun()) {
    affinity_.set_table(nullptr);
    table_->release_claims();
    table_ = nullptr;
  }
  if (std::exchange(retirement_, nullptr) != nullptr) metrics_->resume();
  facts_ = std::move(facts);
  claim_facts_ = std::move(claims);
  start();
  ClientFacts clients = client_facts(family(), node);
  clients.possible = keeps_clients_;
  client_policy_->set(std::move(clients));
  // Until write() ends, the rules in the kernel match the previous mark; sockets carry both marks meanwhile.
  relay_mark_->fetch_or(facts_.relay_mark);
  Problems problems;
  std::vector<PortalId> removed;
  const std::vector<Portal> portals = serve(transaction, removed, problems);
  write(transaction, portals, removed, problems, result);
  relay_mark_->store(facts_.relay_mark);
  table_->finish(full);
  report_relay_ports(transaction);
  not_programmed_.note(transaction, problems);
  for (const std::string& name : gained_) {
    if (!problems.contains(name)) not_programmed_.mark_programmed(name);
  }
  metrics_->set_portals(table_->size(), table_->claims().held(), table_->claims().refusals());
  valid_ = true;
  generation_ = transaction.generation;
  return abi::Code::kOk;
}

void UserspaceBackend::start() {
  log_tools();
  for (const std::string& address : unusable_node_port_addresses(facts_)) {
    if (!reported_unusable_.insert(address).second) continue;
    log().error(
        log_id::kNodePortLoopbackUnsupported,
        "node port address ignored: " + address + ": the userspace backend does not serve node ports on loopback");
  }
  if (table_ != nullptr) return;
  std::map<PortalId, ProxyPorts> adopted = writer_.read_proxy_ports();
  if (engine_ == nullptr) start_engine();
  table_ = std::make_unique<ServiceTable>(family(), settings_, *engine_, *metrics_, kept_, relayed_, relay_mark_,
                                          client_policy_,
                                          beside_old_backend_ ? Takeover::kBesideOldBackend : Takeover::kAll);
  table_->prefer(std::move(adopted));
  table_->keep_affinity(affinity_file_, std::move(saved_affinity_));
  affinity_.set_table(table_.get());
}

void UserspaceBackend::start_engine() {
  if (owns_node_) raise_limits(log());
  report_lost();
  engine_ = Engine::shared(settings_.relay);
  relayed_ = std::make_shared<RelayedCount>(engine_->threads(), state_dir_, family());
  if (!relayed_->problem().empty()) {
    log().warning(log_id::kRelayedCountUnwritable,
                  "cannot write the count of relayed connections; the next process cannot report lost connections: " +
                      relayed_->problem());
  }
  // In a swap, the old backend exports what is current.
  if (beside_old_backend_) {
    AffinityFile::remove_all(state_dir_, family());
  } else {
    saved_affinity_ = std::make_unique<SavedAffinity>(state_dir_, family(), EventLoop::clock());
  }
  affinity_file_ = std::make_shared<AffinityFile>(state_dir_, family());
  metrics_ = std::make_unique<MetricsReporter>(metrics(), engine_, MetricsReporter::kInterval, beside_old_backend_);
  report_ = engine_->add_report([this](bool begins, const std::string& sentence) {
    if (!metrics_->is_leader()) return;  // the backend of the other family reports it
    if (!begins) {
      log().info(log_id::kRelayRecovered, sentence);
      return;
    }
    log().warning(log_id::kRelayHampered, sentence);
    host().event(abi::Severity::kWarning, sdk::view(event_reasons::kRelayHampered.reason), sdk::view(sentence),
                 nullptr);
  });
  probe_client_addresses();
  host_relay_ = static_cast<abi::HostRelay*>(host().extension(sdk::view(abi::kHostRelay)));
}

void UserspaceBackend::report_affinity_file() {
  const std::string problem = affinity_file_->problem();
  if (problem.empty() || std::exchange(affinity_unwritable_logged_, true)) return;
  log().warning(log_id::kAffinityFileUnwritable,
                "cannot write session affinity to the state directory; the next process begins without it: " + problem);
}

void UserspaceBackend::probe_client_addresses() {
  if (!owns_node_) return;
  const ClientAddressProblem problem = client_address_problem(family());
  keeps_clients_ = problem.missing.empty();
  for (const std::string_view need : kClientAddressNeeds) {
    metrics().series(metric::kClientAddressesHidden, {need}).set(need == problem.missing ? 1 : 0);
  }
  show_client_addresses(problem.missing);
  if (keeps_clients_) return;
  log().warning(log_id::kClientAddressHidden,
                "endpoints see the address of the node instead of the client's: " + problem.sentence);
}

// In the status of the daemon. `missing` is empty if endpoints see clients.
void UserspaceBackend::show_client_addresses(std::string_view missing) {
  auto* const status = static_cast<abi::HostStatus*>(host().extension(sdk::view(abi::kHostStatus)));
  if (status == nullptr) return;
  std::string value = "kept unless rules masquerade them";
  std::string remedy;
  if (!missing.empty()) {
    const std::string name(missing);
    value = "hidden, endpoints see the node: " + name + " is missing";
    remedy = name.starts_with("CAP_") ? "run the daemon with the capability " + name
                                      : "load the kernel module " + name + " and restart the daemon";
  }
  status->set(sdk::view("client addresses"), sdk::view(value), sdk::view(remedy));
}

// Reports the connections that were lost with an earlier process.
void UserspaceBackend::report_lost() {
  const RelayedNow lost = RelayedCount::take_lost(state_dir_, family());
  count_lost(metrics(), lost);
  if (!lost.any()) return;
  const std::string sentence = describe(lost) + " were lost when the previous process ended";
  log().warning(log_id::kRelayedConnectionsLost, sentence);
  host().event(abi::Severity::kWarning, sdk::view(event_reasons::kRelayedConnectionsLost.reason), sdk::view(sentence),
               nullptr);
}

void UserspaceBackend::log_tools() {
  if (std::exchange(tools_logged_, true)) return;
  log().info(log_id::kIptablesPrograms, "using " + netfilter::describe(kernel_->tools()));
  if (!kernel_->tools().warning.empty()) log().warning(log_id::kIptablesVariantConflict, kernel_->tools().warning);
}

std::vector<Portal> UserspaceBackend::serve(const abi::Transaction& transaction, std::vector<PortalId>& removed,
                                            Problems& problems) {
  const bool full = transaction.kind == abi::TransactionKind::kFull;
  table_->begin(full);
  gained_.clear();
  for (const auto& key : sdk::range<abi::ServicePortKey>(transaction.removed)) {
    removed.push_back(portal_id(key));
    table_->remove(removed.back());
  }
  const std::vector<abi::ServicePort> served = update(transaction, problems);
  if (full) {
    table_->remove_stale();
    if (const std::string problem = table_->saved_affinity_problem(); !problem.empty()) {
      log().warning(log_id::kAffinityFileRejected, "session affinity of the previous process ignored: " + problem);
    }
    table_->discard_preferred();
  }
  std::vector<Portal> portals;
  portals.reserve(served.size());
  const std::vector<PortalId> gained = table_->settle_claims(full);
  for (const abi::ServicePort& port : served) plan(port, portals, removed, problems);
  if (full) return portals;
  std::set<PortalId> named;
  for (const abi::ServicePort& port : served) named.insert(portal_id(port.key));
  for (const PortalId& id : gained) {
    const KeptServicePort* kept = named.contains(id) ? nullptr : table_->kept(id);
    if (kept == nullptr) continue;
    if (table_->has_ports_for(kept->view())) {
      gained_.push_back(id.first);
    } else {
      host().request_resync(sdk::view(id.first + " received a port that another Service released"));
    }
    plan(kept->view(), portals, removed, problems);
  }
  return portals;
}

// Returns the service ports that can be served, in the order of the transaction.
std::vector<abi::ServicePort> UserspaceBackend::update(const abi::Transaction& transaction, Problems& problems) {
  const auto given = sdk::range<abi::ServicePort>(transaction.service_ports);
  std::vector<abi::ServicePort> served;
  std::vector<abi::ServicePort> later;
  const auto update_one = [&](const abi::ServicePort& port) {
    deadline().check();
    const std::string problem = table_->update(port, claim_facts_);
    if (!problem.empty()) add_problem(problems, sdk::service_port_name(port.key), problem);
  };
  for (const abi::ServicePort& port : given) {
    const PortalId id = portal_id(port.key);
    if (port.key.protocol != abi::Protocol::kTcp && port.key.protocol != abi::Protocol::kUdp) {
      add_problem(problems, id.first, kNoSctp);
      continue;
    }
    served.push_back(port);
    // Service ports with a preferred port come first: a new one might receive that port.
    if (table_->prefers(id)) {
      update_one(port);
    } else {
      later.push_back(port);
    }
  }
  for (const abi::ServicePort& port : later) update_one(port);
  return served;
}

void UserspaceBackend::plan(const abi::ServicePort& port, std::vector<Portal>& portals, std::vector<PortalId>& removed,
                            Problems& problems) {
  const PortalId id = portal_id(port.key);
  try {
    portals.push_back(table_->plan(facts_, claim_facts_, port));
  } catch (const sdk::Failure& failure) {
    add_problem(problems, id.first, failure.what());
    removed.push_back(id);
    return;
  }
  const std::string conflicts = table_->conflicts(id);
  if (!conflicts.empty()) add_problem(problems, id.first, "not served there: " + conflicts);
}

void UserspaceBackend::write(const abi::Transaction& transaction, const std::vector<Portal>& portals,
                             const std::vector<PortalId>& removed, Problems& problems, abi::ApplyResult& result) {
  const bool full = transaction.kind == abi::TransactionKind::kFull;
  PortalWriter::Written written;
  try {
    written = full ? writer_.write_full(fixed_rules(facts_), portals) : writer_.write_delta(portals, removed);
  } catch (const sdk::Failure& failure) {
    result.kernel_writes = writer_.session().lines();
    note_tool_cost(failure.code() == abi::Code::kRetry && !deadline().cancelled(), result);
    throw;
  }
  note_tool_cost(false, result);
  result.kernel_writes = written.lines;
  result.objects_owned = written.rules;
  for (const auto& [name, why] : written.refused) add_problem(problems, name, why);
}

void UserspaceBackend::note_tool_cost(bool given_up, abi::ApplyResult& result) {
  result.kernel_nanoseconds = static_cast<std::uint64_t>(writer_.session().tool_time().count());
  lock_metrics_.report(writer_.session(), given_up);
}

// The daemon needs the UDP proxy ports to distinguish flows that end here from stale conntrack entries.
void UserspaceBackend::report_relay_ports(const abi::Transaction& transaction) {
  if (host_relay_ == nullptr) return;
  for (const abi::ServicePort& port : sdk::range<abi::ServicePort>(transaction.service_ports)) {
    if (port.key.protocol != abi::Protocol::kUdp) continue;
    const ProxyPorts ports = table_->ports(portal_id(port.key));
    std::vector<std::uint16_t> open;
    for (const std::uint16_t number : {ports.cluster, ports.local}) {
      if (number != 0) open.push_back(number);
    }
    host_relay_->set_relay_ports(&port.key, sdk::array(open.data(), open.size()));
  }
}

abi::Code UserspaceBackend::do_verify(abi::Error* error) {
  if (!valid_) return sdk::fail(error, abi::Code::kNeedFull, {}, "no rules have been written yet");
  table_->purge_affinity();
  report_affinity_file();
  const auto drift = writer_.find_drift();
  if (!drift) return abi::Code::kOk;
  valid_ = false;
  return sdk::fail(error, abi::Code::kNeedFull, {}, *drift);
}

abi::Code UserspaceBackend::do_claims(abi::StringSink& sink, abi::Error*) {
  for (const std::string& claim : portal_claims(family())) sink.add(sdk::view(claim));
  return abi::Code::kOk;
}

abi::Code UserspaceBackend::do_retire(const abi::Handover& handover, abi::Error* error) {
  std::vector<std::string> claims;
  for (const abi::StringView& claimed : sdk::range<abi::StringView>(handover.claims)) {
    claims.emplace_back(sdk::text(claimed));
  }
  valid_ = false;
  if (table_ == nullptr) {
    retire_leftovers(claims);
    return abi::Code::kOk;
  }
  if (retirement_ == nullptr) {
    retirement_ = std::make_unique<Retirement>(
        Retirement::Context{host(), host_relay_, log(), family(), writer_, *table_, *relayed_, *metrics_, metrics()});
  }
  if (retirement_->advance(claims, std::chrono::seconds(handover.drain_seconds))) return abi::Code::kOk;
  return sdk::fail(error, abi::Code::kRetry, {}, retirement_->remaining());
}

// Retires state of an earlier process, which has no established connections.
void UserspaceBackend::retire_leftovers(const std::vector<std::string>& claims) {
  for (const PortalWriter::Part part :
       {PortalWriter::Part::kDrops, PortalWriter::Part::kRedirects, PortalWriter::Part::kAll}) {
    remove_unclaimed(writer_, family(), claims, part);
  }
  if (claims_all(family(), claims)) return;
  kept_.drop_all_except({});
  AffinityFile::remove_all(state_dir_, family());
  report_lost();
}

abi::Code UserspaceBackend::do_cleanup(abi::Error*) {
  valid_ = false;
  if (const std::size_t ended = end_drain_processes(); ended != 0) {
    log().info(log_id::kRelayDrainEnded, "connections of earlier daemons ended; processes sluice-drain stopped: " +
                                             std::to_string(ended));
  }
  try {
    kernel_->tools();
  } catch (const sdk::Failure& failure) {
    log().warning(log_id::kCleanupSkipped, std::string("cleanup skipped: ") + failure.what());
    return abi::Code::kOk;
  }
  remove_unclaimed(writer_, family(), {});
  kept_.drop_all_except({});
  RelayedCount::take_lost(state_dir_, family());
  AffinityFile::remove_all(state_dir_, family());
  return abi::Code::kOk;
}

void* UserspaceBackend::do_extension(std::string_view id) {
  if (id == abi::kAffinity) return static_cast<abi::Affinity*>(&affinity_);
  return inspection_extension(id);
}

void UserspaceBackend::do_inspect(inspection::Answer& answer) {
  if (generation_ == 0 || table_ == nullptr) inspection::refuse_before_first_apply();
  userspace::inspect(writer_, *table_, facts_, answer);
}

void UserspaceBackend::do_count(inspection::CounterRows& rows) {
  if (generation_ == 0 || table_ == nullptr) inspection::refuse_before_first_apply();
  add_counters(*table_, rows);
}

void UserspaceBackend::do_find_drift(inspection::DriftRows& rows) {
  if (generation_ == 0 || table_ == nullptr) inspection::refuse_before_first_apply();
  add_drift(writer_, *table_, rows);
}

void UserspaceBackend::do_explain(inspection::Explanation& explanation) {
  if (generation_ == 0 || table_ == nullptr) inspection::refuse_before_first_apply();
  explain({writer_, *table_, settings_, *client_policy_}, explanation);
}

}  // namespace sluice::userspace
