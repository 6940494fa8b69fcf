// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/backend.hpp"

#include <linux/netfilter.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <optional>
#include <random>
#include <utility>

#include "lib/text.hpp"
#include "plugins/common/log_ids.hpp"
#include "plugins/common/netfilter/rule_text.hpp"
#include "plugins/common/netlink/error.hpp"
#include "plugins/nftables/claims.hpp"
#include "plugins/nftables/counter_rows.hpp"
#include "plugins/nftables/drift_rows.hpp"
#include "plugins/nftables/explanation.hpp"
#include "plugins/nftables/inspection.hpp"
#include "plugins/nftables/probe.hpp"
#include "plugins/nftables/refusal_text.hpp"
#include "plugins/nftables/wanted_listing.hpp"
#include "sluice/sdk/sdk.hpp"

namespace sluice::nftables {
namespace {

constexpr char kNoAffinityId[] =
    " other service ports have session affinity and there is no number left for it: it is not served; remove "
    "sessionAffinity from Services that do not need it";

// A saved listing is compared with the kernel's table this long after the first apply, in nanoseconds.
constexpr std::uint64_t kCheckAfter = 60'000'000'000;

using netfilter::add_problem;

PortId port_id(const abi::ServicePortKey& key) { return {sdk::service_port_name(key), key.protocol}; }

// A random start, so that ids used by an earlier process are unlikely to be reused soon.
std::uint32_t any_affinity_id(std::uint32_t most) { return std::random_device()() % most; }

}  // namespace

NftablesBackend::NftablesBackend(const abi::CreateArgs& args) : NftablesBackend(args, open_table(args.family)) {}

NftablesBackend::NftablesBackend(const abi::CreateArgs& args, Table table)
    : BackendBase(args),
      InspectionBase(args.family),
      settings_(read_settings(args.options)),
      model_({args.family, settings_.lists_frontends(), table.affinity_ids, any_affinity_id(table.affinity_ids)}),
      traffic_(args.family),
      metrics_(metrics()),
      resync_throttle_(host()),
      table_(std::move(table)),
      writer_(*table_.kernel, table_.chunk, [this] { return host().now(); }),
      listing_file_(sdk::text(args.state_dir), args.family, log()),
      read_ahead_(*table_.kernel, listing_file_),
      offload_(settings_.offload_interfaces, *table_.kernel, table_.interfaces),
      old_backend_serves_(sdk::predecessor_serves(args)) {
  writer_.set_deadline(deadline());
}

NftablesBackend::~NftablesBackend() {
  resync_throttle_.stop();
  read_ahead_.forget();
  try {
    save_listing();
  } catch (const std::exception& failure) {
    log().debug(std::string("the listing of the table was not saved: ") + failure.what());
  }
}

// For the next process. The kernel's table equals the model if each write succeeded and no other process has changed
// the table since it was compared. A saved listing that has not been checked is not saved again.
void NftablesBackend::save_listing() {
  if (!valid_ || (check_at_ && !read_ahead_.checked())) return;
  if (!listing_file_.is_available() || writer_.has_leftovers()) return;
  const std::optional<TableState> state = table_.kernel->state();
  if (!state || !table_.watch->finish()) return;
  listing_file_.save(*state, wanted_listing(facts_.table, model_));
}

// Everything else relies on the saved listing until the table is read. As the daemon already serves, this has time.
void NftablesBackend::check_saved_listing() {
  if (check_at_ && read_ahead_.checked()) check_at_.reset();
  if (!check_at_ || host().now() < *check_at_) return;
  check_at_ = host().now() + kCheckAfter;
  read_ahead_.check(wanted_listing(facts_.table, model_), [this](const std::string& difference) {
    resync_throttle_.request("the table differs from the listing that an earlier process saved: " + difference);
  });
}

abi::Code NftablesBackend::do_probe(abi::Error*) {
  read_ahead_.forget();
  probe_table(*table_.kernel, family(), settings_);
  read_ahead_.start();
  return abi::Code::kOk;
}

NftablesBackend::Facts NftablesBackend::read_facts(const abi::NodeFacts& node) const {
  Facts facts;
  facts.table.layout = layout_facts(family(), node, settings_.counters, settings_.offloads());
  facts.table.affinity_clients = settings_.affinity_clients;
  facts.node_ip = node.node_ip;
  for (const abi::Address& address : sdk::range<abi::Address>(node.node_port_addresses)) {
    if (!netfilter::is_loopback(family(), address)) facts.table.node_port_ips.push_back(address);
  }
  std::sort(facts.table.node_port_ips.begin(), facts.table.node_port_ips.end());
  return facts;
}

void NftablesBackend::log_unusable_addresses(const abi::NodeFacts& node) {
  for (const abi::Address& address : sdk::range<abi::Address>(node.node_port_addresses)) {
    const std::string text = sdk::to_string(address, family());
    if (!netfilter::is_loopback(family(), address) || !unusable_addresses_.insert(text).second) continue;
    log().error(log_id::kNodePortLoopbackUnsupported,
                "node ports cannot be served on the loopback address " + text +
                    ": nftables mode does not support it; the address is ignored");
  }
}

abi::Code NftablesBackend::do_apply(const abi::Transaction& transaction, const abi::NodeFacts& node,
                                    abi::ApplyResult& result, abi::Error* error) {
  read_ahead_.wait();
  const bool full = transaction.kind == abi::TransactionKind::kFull;
  Facts facts = read_facts(node);
  if (!full) {
    if (!valid_ || transaction.base_generation != generation_) {
      return sdk::fail(error, abi::Code::kNeedFull, {}, "the delta builds on a generation that is not in the kernel");
    }
    if (!(facts.table.layout == facts_.table.layout && facts.node_ip == facts_.node_ip)) {
      return sdk::fail(error, abi::Code::kNeedFull, {}, "facts about the node changed that everything depends on");
    }
  }
  valid_ = false;
  model_written_ = false;
  retirement_.forget();
  log_unusable_addresses(node);
  std::swap(facts_, facts);
  const std::uint64_t written = table_.kernel->statistics().writes;
  const std::chrono::nanoseconds waited = writer_.waited();
  const auto note_cost = [&] {
    result.kernel_writes = table_.kernel->statistics().writes - written;
    result.kernel_nanoseconds = static_cast<std::uint64_t>((writer_.waited() - waited).count());
    metrics_.report_kernel(table_.kernel->statistics());
  };
  Problems problems;
  try {
    if (full) {
      write_full(transaction, problems);
    } else {
      write_delta(transaction, facts.table, problems);
    }
  } catch (const sdk::Failure&) {
    note_cost();
    if (!deadline().cancelled()) metrics_.sync_failed();
    throw;
  }
  note_cost();
  not_programmed_.note(transaction, problems);
  report_gained();
  report();
  result.objects_owned = model_.elements() + facts_.table.node_port_ips.size() + model_.chains().size();
  valid_ = true;
  model_written_ = true;
  old_backend_serves_ = false;
  generation_ = transaction.generation;
  return abi::Code::kOk;
}

void NftablesBackend::write_full(const abi::Transaction& transaction, Problems& problems) {
  const std::uint64_t begin = host().now();
  ids_requested_ = false;
  // Before the table is listed, so that no change is missed.
  table_.watch->start([this](const std::string& sentence) { resync_throttle_.request(sentence); });
  const bool drifted = resync_throttle_.begin();
  table_.watch->rearm();
  std::optional<Listing> ready = read_ahead_.take();
  Listing listing = ready ? std::move(*ready) : writer_.list();
  listing_file_.remove();  // valid for one start
  check_at_.reset();
  if (listing.saved) {
    check_at_ = begin + kCheckAfter;
    metrics_.saved_listing_used();
    log().info("the table is as an earlier process saved it, and is not read back");
  }
  model_.start_over(listing.exists && has_our_shape(facts_.table, listing) ? &listing : nullptr);
  write_order_.clear();
  no_local_endpoints_.clear();
  plan(transaction, problems);
  model_.take_gained();
  // A new table gets the imported clients with the last batch, as all affinity ids are known before it is written.
  Writer::NewTable new_table{old_backend_serves_, {}};
  if (!imported_clients_.empty()) new_table.clients = imported_clients_.find(model_, settings_.affinity_clients);
  note_refused(writer_.write_all(facts_.table, model_, write_order_, listing, &new_table), problems);
  imported_clients_.forget();
  add_clients(new_table.clients);
  update_offload();
  // Limits the CPU time of repairs; the first drift is repaired at once.
  if (drifted) resync_throttle_.pause_after(host().now() - begin);
}

void NftablesBackend::write_delta(const abi::Transaction& transaction, const TableFacts& before, Problems& problems) {
  plan(transaction, problems);
  note_refused(writer_.write_changes(before, facts_.table, model_, write_order_), problems);
}

// The writer has already removed them from the model.
void NftablesBackend::note_refused(const Writer::Refused& refused, Problems& problems) {
  for (const auto& [name, why] : refused) {
    add_problem(problems, name, why);
    for (const abi::Protocol protocol : {abi::Protocol::kTcp, abi::Protocol::kUdp, abi::Protocol::kSctp}) {
      forget_derived({name, protocol});
    }
  }
}

void NftablesBackend::forget(const PortId& id) {
  model_.remove(id);
  forget_derived(id);
}

void NftablesBackend::forget_derived(const PortId& id) {
  write_order_.remove(id);
  no_local_endpoints_.remove(id);
}

void NftablesBackend::plan(const abi::Transaction& transaction, Problems& problems) {
  for (const auto& key : sdk::range<abi::ServicePortKey>(transaction.removed)) forget(port_id(key));
  for (const abi::ServicePort& port : sdk::range<abi::ServicePort>(transaction.service_ports)) {
    deadline().check();
    const PortId id = port_id(port.key);
    try {
      ServicePlan made = plan_service(family(), facts_.node_ip, port);
      for (const std::string& why : made.problems) add_problem(problems, id.first, why);
      no_local_endpoints_.put(id, port, made);
      write_order_.put(id, made);
      model_.put(id, std::move(made));
    } catch (const sdk::Failure& failure) {
      add_problem(problems, id.first, failure.what());
      forget(id);
    }
  }
  const Model::Unserved unserved = model_.settle();
  for (const PortId& id : unserved.without_ids) {
    add_problem(problems, id.first, std::to_string(table_.affinity_ids) + kNoAffinityId);
    forget_derived(id);
  }
  for (const Model::Conflict& conflict : unserved.conflicts) {
    add_problem(problems, conflict.loser,
                to_string(family(), conflict.key) + " belongs to Service port " + conflict.owner +
                    "; give one of them another port or address");
  }
}

void NftablesBackend::update_offload() {
  if (!settings_.offloads()) return;
  std::string problem;
  try {
    const OffloadInterfaces::Result result = offload_.reconcile();
    metrics_.report_offload(result.count);
    problem = result.problem;
  } catch (const sdk::Failure& failure) {
    problem = failure.what();
  }
  if (!problem.empty() && problem != offload_problem_) {
    log().warning(log_id::kOffloadInterfaceRefused, "an interface cannot be offloaded: " + problem);
  }
  offload_problem_ = problem;
}

void NftablesBackend::report_gained() {
  for (const PortId& id : model_.take_gained()) {
    not_programmed_.request_retry(id.first, "an address and port that another Service had");
  }
}

void NftablesBackend::report() {
  metrics_.report_objects(model_.elements() + facts_.table.node_port_ips.size(), model_.chains().size(),
                          no_local_endpoints_);
  metrics_.report_kernel(table_.kernel->statistics());
}

abi::Code NftablesBackend::do_verify(abi::Error* error) {
  read_ahead_.wait();
  if (!valid_) return sdk::fail(error, abi::Code::kNeedFull, {}, "what is in the kernel is not known");
  if (const auto change = resync_throttle_.pending()) {
    valid_ = false;
    return sdk::fail(error, abi::Code::kNeedFull, {}, *change);
  }
  if (model_.has_ids_again() && !std::exchange(ids_requested_, true)) {
    host().request_resync(sdk::view("session affinity ids are available again for service ports that had none"));
  }
  try {
    if (!writer_.remove_unused(model_)) metrics_.cleanup_failed();
  } catch (const sdk::Failure&) {
    valid_ = false;
    metrics_.cleanup_failed();
    throw;
  }
  update_offload();
  if (settings_.counters) {
    const auto owner = [this](const FrontendKey& frontend) { return model_.owner(frontend).value_or(std::string_view()); };
    metrics_.report_traffic(traffic_.take(table_.kernel->traffic(), owner));
  }
  report();
  check_saved_listing();
  return abi::Code::kOk;
}

abi::Code NftablesBackend::do_claims(abi::StringSink& sink, abi::Error*) {
  sink.add(sdk::view(table_claim(family())));
  return abi::Code::kOk;
}

// Connections live on in conntrack: only packets in flight need time.
abi::Code NftablesBackend::do_retire(const abi::Handover& handover, abi::Error* error) {
  using Step = netfilter::Retirement::Step;
  valid_ = false;
  resync_throttle_.stop();
  if (is_claimed(handover.claims, family())) return abi::Code::kOk;
  const Step step = retirement_.next(handover.drain_seconds, host().now());
  if (step == Step::kWait || (step == Step::kClose && remove_entry_chains())) {
    if (step == Step::kClose) retirement_.closed(host().now());
    return sdk::fail(error, abi::Code::kRetry, {}, "packets on their way are given time");
  }
  remove_table();
  retirement_.forget();
  return abi::Code::kOk;
}

// Removes filter and NAT chains in one transaction, so that a packet which passed one of them meets the chains of the
// new backend next. Masquerading stays. Throws sdk::Failure if the kernel refuses for a reason other than a missing
// chain: nothing has changed then.
bool NftablesBackend::remove_entry_chains() {
  read_ahead_.forget();
  LayoutFacts facts;
  facts.family = family();
  Batch batch;
  for (ChainSpec& spec : fixed_chains(facts)) {
    if (spec.is_base && spec.hook.hook != NF_INET_POST_ROUTING) batch.remove_chains.push_back(std::move(spec.name));
  }
  const std::vector<Refusal> refusals = table_.kernel->commit(batch);
  const auto failed = std::find_if(refusals.begin(), refusals.end(), [](const Refusal& one) { return one.error != ENOENT; });
  if (failed != refusals.end()) {
    metrics_.cleanup_failed();
    throw sdk::Failure(netlink::code_of(failed->error), std::string("table ") + kTableName, refusal_text(*failed),
                       failed->error);
  }
  return refusals.empty();
}

abi::Code NftablesBackend::do_cleanup(abi::Error*) {
  valid_ = false;
  resync_throttle_.stop();
  remove_table();
  return abi::Code::kOk;
}

void NftablesBackend::remove_table() {
  read_ahead_.forget();
  listing_file_.remove();
  try {
    table_.kernel->delete_table();
  } catch (const sdk::Failure& failure) {
    if (failure.code() == abi::Code::kUnsupported) return;  // the kernel has no nf_tables
    metrics_.cleanup_failed();
    throw;
  }
}

void* NftablesBackend::do_extension(std::string_view id) {
  if (id == abi::kAffinity) return static_cast<abi::Affinity*>(this);
  return inspection_extension(id);
}

// Failures are only logged: serving does not depend on these clients.
void NftablesBackend::add_clients(const std::vector<RememberedClient>& clients) {
  const Writer::SkippedClients skipped = writer_.add_clients(clients);
  if (skipped.count == 0) return;
  log().warning(log_id::kAffinityNotImported,
                std::to_string(skipped.count) + " clients with session affinity were not imported: " + skipped.why);
}

void NftablesBackend::do_export(abi::AffinitySink& sink) {
  read_ahead_.forget();
  export_affinity(model_, table_.kernel->clients(), sink);
}

void NftablesBackend::do_import(const abi::ArrayView& clients) {
  imported_clients_.add(clients);
  if (!valid_) return;
  read_ahead_.wait();
  const auto found = imported_clients_.find(model_, settings_.affinity_clients);
  imported_clients_.forget();
  add_clients(found);
}

void NftablesBackend::begin_inspection() {
  if (generation_ == 0) inspection::refuse_before_first_apply();
  read_ahead_.forget();
}

Listing NftablesBackend::inspected_table() {
  begin_inspection();
  return writer_.list();
}

void NftablesBackend::do_inspect(inspection::Answer& answer) {
  nftables::inspect(inspected_table(), model_, family(), answer);
}

// Without the option, the rules of an offload may use the same sets, which then count only part of the packets.
void NftablesBackend::do_count(inspection::CounterRows& rows) {
  begin_inspection();
  if (settings_.counters) add_counters(table_.kernel->traffic(), model_, rows);
}

void NftablesBackend::do_find_drift(inspection::DriftRows& rows) {
  Listing listing = inspected_table();
  if (!model_written_) {
    throw sdk::Failure(abi::Code::kRetry, {},
                       "the last transaction failed, so there is nothing to compare the kernel with until its retry succeeds");
  }
  writer_.hide_leftovers(listing);
  find_drift(std::move(listing), facts_.table, model_, rows);
  if (settings_.offloads()) find_drift(offload_.compare(), rows);
}

void NftablesBackend::do_explain(inspection::Explanation& steps) {
  const Listing listing = inspected_table();
  const abi::Address& address = steps.packet().address;
  const bool to_this_node = netfilter::is_loopback(family(), address) || lib::contains(table_.addresses(), address);
  explain(listing, facts_.table, model_, to_this_node, steps);
}

}  // namespace sluice::nftables
