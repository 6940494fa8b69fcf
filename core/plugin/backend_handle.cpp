// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/plugin/backend_handle.hpp"

#include <algorithm>
#include <cassert>
#include <system_error>

#include "config.h"
#include "core/base/log_messages.hpp"
#include "core/plugin/codes.hpp"
#include "core/plugin/row_sinks.hpp"
#include "lib/text.hpp"
#include "sluice/abi/preparation.hpp"
#include "sluice/sdk/error.hpp"
#include "sluice/sdk/option_table.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::plugin {

using lib::Status;
using lib::StatusCode;

// A method of abi::Backend and its documented timeout.
struct BackendHandle::Call {
  const char* name;
  std::chrono::seconds limit;

  static const Call create, probe, prepare, apply, verify, claims, services, inspect, retire, export_clients,
      import_clients, cleanup, release;
};

constinit const BackendHandle::Call BackendHandle::Call::create{"create", std::chrono::seconds(10)};
constinit const BackendHandle::Call BackendHandle::Call::probe{"probe", std::chrono::seconds(10)};
constinit const BackendHandle::Call BackendHandle::Call::prepare{"prepare", std::chrono::seconds(10)};
constinit const BackendHandle::Call BackendHandle::Call::apply{"apply", std::chrono::seconds(60)};
constinit const BackendHandle::Call BackendHandle::Call::verify{"verify", std::chrono::seconds(10)};
constinit const BackendHandle::Call BackendHandle::Call::claims{"claims", std::chrono::seconds(1)};
constinit const BackendHandle::Call BackendHandle::Call::services{"services", std::chrono::seconds(10)};
constinit const BackendHandle::Call BackendHandle::Call::inspect{"inspect", std::chrono::seconds(10)};
constinit const BackendHandle::Call BackendHandle::Call::retire{"retire", std::chrono::seconds(60)};
constinit const BackendHandle::Call BackendHandle::Call::export_clients{"export_clients", std::chrono::seconds(10)};
constinit const BackendHandle::Call BackendHandle::Call::import_clients{"import_clients", std::chrono::seconds(10)};
constinit const BackendHandle::Call BackendHandle::Call::cleanup{"cleanup", std::chrono::seconds(60)};
constinit const BackendHandle::Call BackendHandle::Call::release{"release", std::chrono::seconds(5)};

namespace {

// Converts a failure. An unknown code or a missing message is a failure of the backend, too.
Outcome outcome(abi::Code code, const abi::Error& error) {
  if (code == abi::Code::kOk) return {};
  Outcome out;
  out.code = code;
  out.object = one_line(bounded_text(error.object, sizeof(error.object)));
  out.message = one_line(bounded_text(error.message, sizeof(error.message)));
  out.os_errno = error.os_errno;
  if (code < abi::Code::kOk || code > abi::Code::kInternal) {
    out.code = abi::Code::kInternal;
    out.message = "the backend answered with the unknown code " + std::to_string(static_cast<int>(code)) +
                  (out.message.empty() ? "" : ": " + out.message);
  } else if (out.message.empty()) {
    out.message = "the backend gave no reason (code " + std::to_string(static_cast<int>(code)) + ")";
  }
  return out;
}

class LineList final : public abi::StringSink {
 public:
  ~LineList() = default;
  void add(abi::StringView text) noexcept override {
    try {
      lines_.push_back(one_line(sdk::text(text)));
    } catch (...) {
      complete_ = false;
    }
  }
  bool complete() const { return complete_; }
  std::vector<std::string> take() && { return std::move(lines_); }
  std::vector<std::string> sorted() && {
    lib::sort_unique(lines_);
    return std::move(lines_);
  }

 private:
  std::vector<std::string> lines_;
  bool complete_ = true;
};

class ClientList final : public abi::AffinitySink {
 public:
  ~ClientList() = default;
  // Skips expired bindings.
  void add(abi::ArrayView clients) noexcept override {
    try {
      for (const abi::AffinityClient& client : sdk::range<abi::AffinityClient>(clients)) {
        if (client.remaining_seconds == 0) continue;
        clients_.push_back({std::string(sdk::text(client.key.service_namespace)),
                            std::string(sdk::text(client.key.service_name)),
                            std::string(sdk::text(client.key.port_name)), client.key.protocol, client.client,
                            client.endpoint, client.endpoint_port, client.remaining_seconds});
      }
    } catch (...) {
      complete_ = false;
    }
  }
  bool complete() const { return complete_; }
  std::vector<BoundClient> take() && { return std::move(clients_); }

 private:
  std::vector<BoundClient> clients_;
  bool complete_ = true;
};

// The result refers to `client`.
abi::AffinityClient flat(const BoundClient& client) {
  abi::AffinityClient out{};
  out.key = {sdk::view(client.name_space), sdk::view(client.service), sdk::view(client.port_name), client.protocol, {}};
  out.client = client.client;
  out.endpoint = client.endpoint;
  out.endpoint_port = client.endpoint_port;
  out.remaining_seconds = client.remaining_seconds;
  return out;
}

Outcome no_affinity() {
  Outcome out;
  out.code = abi::Code::kUnsupported;
  out.message = "the backend does not support the export and import of session affinity";
  return out;
}

abi::Family abi_family(lib::Family family) {
  return family == lib::Family::ipv4 ? abi::Family::kIpv4 : abi::Family::kIpv6;
}

std::string backend_name(const Plugin& plugin, lib::Family family) {
  return plugin.id() + (family == lib::Family::ipv6 ? " (IPv6)" : " (IPv4)");
}

}  // namespace

Status Outcome::status(std::string_view backend, std::string_view call) const {
  if (ok()) return {};
  std::string text = "backend " + std::string(backend) + ": " + std::string(call);
  if (!object.empty()) text += " " + object;
  text += ": " + message;
  // The message of the backend may contain the text of the errno already.
  const std::string cause = os_errno != 0 ? std::generic_category().message(os_errno) : std::string();
  if (!cause.empty() && message.find(cause) == std::string::npos) text += ": " + cause;
  return {status_code(code), std::move(text), os_errno};
}

// Marks a call as running, and logs a warning if it exceeded its timeout.
class BackendHandle::CallTimer {
 public:
  CallTimer(BackendHandle& handle, const Call& call) : handle_(handle), call_(call), from_(handle.clock_.now()) {
    handle_.started_.store(from_, std::memory_order_relaxed);
    handle_.current_.store(&call_, std::memory_order_release);
  }
  CallTimer(const CallTimer&) = delete;
  CallTimer& operator=(const CallTimer&) = delete;
  ~CallTimer() {
    handle_.current_.store(nullptr, std::memory_order_release);
    const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(handle_.clock_.now() - from_);
    if (spent <= call_.limit) return;
    base::log(base::message::kBackendCallSlow,
              "backend " + handle_.name_ + ": " + call_.name + " took " + std::to_string(spent.count()) +
                  " ms, its limit is " + std::to_string(call_.limit.count()) + " s",
              {{"backend", handle_.name_}, {"call", call_.name}, {"milliseconds", spent.count()}});
  }

 private:
  BackendHandle& handle_;
  const Call& call_;
  const lib::Clock::Time from_;
};

template <class F>
Outcome BackendHandle::timed_call(const Call& call, F&& body) {
  assert_thread();
  abi::Error error = sdk::empty_error();
  abi::Code code;
  {
    const CallTimer timed(*this, call);
    code = body(&error);
  }
  return outcome(code, error);
}

BackendHandle::BackendHandle(std::shared_ptr<const Plugin> plugin, lib::Family family, HostObserver* observer,
                             MetricSink* metrics, const lib::Clock& clock,
                             std::shared_ptr<BackendDescriptors> descriptors)
    : plugin_(std::move(plugin)), family_(abi_family(family)), name_(backend_name(*plugin_, family)), clock_(clock),
      host_(plugin_->id(), observer,
            metrics == nullptr ? nullptr : metrics->open(plugin_->id(), family, plugin_->metrics()), clock,
            std::move(descriptors)) {}

BackendHandle::~BackendHandle() {
  if (backend_ == nullptr) return;
  assert_thread();
  const CallTimer timed(*this, Call::release);
  backend_->release();
}

// The error of an option begins with its place in the configuration.
Status BackendHandle::rejection(const Outcome& failed, const BackendSettings& settings, std::string_view name) {
  const auto place = settings.option_places.find(failed.object);
  if (failed.code != abi::Code::kInvalid || place == settings.option_places.end()) {
    return failed.status(name, Call::create.name);
  }
  return {StatusCode::invalid, place->second + ": " + failed.message, failed.os_errno};
}

lib::Result<std::unique_ptr<BackendHandle>> BackendHandle::create(std::shared_ptr<const Plugin> plugin,
                                                                  const BackendSettings& settings,
                                                                  HostObserver* observer, MetricSink* metrics,
                                                                  const lib::Clock& clock,
                                                                  std::shared_ptr<BackendDescriptors> descriptors) {
  if (!plugin->supports(settings.family)) {
    return Status{StatusCode::unsupported, "backend " + backend_name(*plugin, settings.family) +
                                               ": create: the plugin does not offer this IP family"};
  }
  std::unique_ptr<BackendHandle> handle(
      new BackendHandle(std::move(plugin), settings.family, observer, metrics, clock, std::move(descriptors)));

  std::vector<sdk::OptionValue> typed;  // `options` refers to it
  std::vector<abi::Option> options;
  if (const auto& declared = handle->plugin_->options()) {
    const auto problems = sdk::read_options(declared->specs(), settings.options, typed);
    if (!problems.empty()) {
      return rejection({abi::Code::kInvalid, problems.front().key, problems.front().text}, settings, handle->name_);
    }
    for (const sdk::OptionValue& one : typed) {
      options.push_back({sdk::view(one.key), sdk::view(one.text), one.type,
                         one.is_default ? std::uint32_t{abi::kOptionDefault} : 0, one.number});
    }
  } else {
    for (const auto& [key, value] : settings.options) options.push_back({sdk::view(key), sdk::view(value), {}, 0, 0});
  }
  abi::CreateArgs args{};
  args.struct_size = sizeof(args);
  args.family = handle->family_;
  args.host = &handle->host_;
  args.options = sdk::array(options.data(), options.size());
  args.state_dir = sdk::view(settings.state_dir);
  if (settings.predecessor_serves) args.flags |= abi::kCreatePredecessorServes;
  args.host_minor = abi::kMinor;
  args.host_features = kHostFeatures;
  args.host_version = sdk::view(PACKAGE_VERSION);

  abi::Backend* made = nullptr;
  abi::Error error = sdk::empty_error();
  abi::Code code;
  {
    const CallTimer timed(*handle, Call::create);
    code = handle->plugin_->entry().create(&args, &made, &error);
  }
  if (code != abi::Code::kOk) return rejection(outcome(code, error), settings, handle->name_);
  if (made == nullptr) {
    return Status{StatusCode::internal, "backend " + handle->name_ + ": create: it answered ok without a backend"};
  }
  handle->backend_ = made;
  handle->inspection_ = static_cast<abi::Inspection*>(made->extension(sdk::view(abi::kInspection)));
  handle->rows_ = static_cast<abi::InspectionRows*>(made->extension(sdk::view(abi::kInspectionRows)));
  handle->affinity_ = static_cast<abi::Affinity*>(made->extension(sdk::view(abi::kAffinity)));
  return handle;
}

Outcome BackendHandle::probe() {
  return timed_call(Call::probe, [&](abi::Error* error) { return backend_->probe(error); });
}

Outcome BackendHandle::prepare(const abi::NodeFacts& node) {
  return timed_call(Call::prepare, [&](abi::Error* error) {
    auto* const preparation = static_cast<abi::Preparation*>(backend_->extension(sdk::view(abi::kPreparation)));
    return preparation == nullptr ? abi::Code::kOk : preparation->prepare(&node, error);
  });
}

ApplyOutcome BackendHandle::apply(const abi::Transaction& transaction, const std::uint32_t* cancelled) {
  ApplyOutcome applied;
  if (transaction.kind == abi::TransactionKind::kDelta && !plugin_->has(abi::kFeatureDelta)) {
    applied.code = abi::Code::kInvalid;
    applied.message = "the plugin does not accept delta transactions";
    return applied;
  }
  host_.take_reports();
  abi::ApplyResult result{};
  result.struct_size = sizeof(result);
  abi::Transaction given = transaction;
  given.deadline = host_.now() + static_cast<std::uint64_t>(std::chrono::nanoseconds(Call::apply.limit).count());
  given.cancelled = cancelled;
  static_cast<Outcome&>(applied) =
      timed_call(Call::apply, [&](abi::Error* error) { return backend_->apply(&given, &result, error); });
  applied.kernel_writes = result.kernel_writes;
  applied.objects_owned = result.objects_owned;
  applied.kernel_time = std::chrono::nanoseconds(
      std::min<std::uint64_t>(result.kernel_nanoseconds, std::chrono::nanoseconds::max().count()));
  applied.reports = host_.take_reports();
  return applied;
}

Outcome BackendHandle::verify() {
  return timed_call(Call::verify, [&](abi::Error* error) { return backend_->verify(error); });
}

ClaimsOutcome BackendHandle::claims() {
  LineList sink;
  ClaimsOutcome claimed;
  static_cast<Outcome&>(claimed) =
      timed_call(Call::claims, [&](abi::Error* error) { return backend_->claims(&sink, error); });
  if (claimed.ok() && !sink.complete()) {
    claimed.code = abi::Code::kRetry;
    claimed.message = "out of memory while listing claims";
  }
  if (claimed.ok()) claimed.claims = std::move(sink).sorted();
  return claimed;
}

InspectionOutcome BackendHandle::inspect(const InspectionRequest& request) {
  InspectionOutcome out;
  // A request that was queued during a swap may come after retire().
  if (retires_) {
    out.code = abi::Code::kRetry;
    out.message = "the backend is retiring; try again";
    return out;
  }
  if (rows_ == nullptr) {
    inspect_lines(request, out);
    return out;
  }
  switch (request.kind) {
    case abi::InspectionKind::kInspectFrontends: {
      FrontendRows sink(family_, request.rows);
      if (!inspect_rows(request, sink, out)) break;
      out.lines = sink.take_lines();
      out.rows = sink.take_rows();
      break;
    }
    case abi::InspectionKind::kInspectCounters: {
      KeyedRows<abi::InspectedCounters, InspectedCounters> sink(family_, request.wants);
      if (inspect_rows(request, sink, out)) out.counters = sink.take();
      break;
    }
    case abi::InspectionKind::kInspectDrift: {
      KeyedRows<abi::InspectedDrift, InspectedDrift> sink(family_, request.wants);
      if (inspect_rows(request, sink, out)) out.drift = sink.take();
      break;
    }
    case abi::InspectionKind::kInspectExplanation: {
      StepRows sink(family_);
      if (!inspect_rows(request, sink, out)) break;
      out.steps = sink.take();
      if (has_one_verdict(out.steps)) break;
      out.code = abi::Code::kInternal;
      out.message = "the explanation of the backend does not end with its only verdict";
      break;
    }
  }
  return out;
}

// For a backend that has abi::Inspection only.
void BackendHandle::inspect_lines(const InspectionRequest& request, InspectionOutcome& out) {
  if (request.kind != abi::InspectionKind::kInspectFrontends) {
    out.code = abi::Code::kUnsupported;
    out.message = "the backend lists frontends only";
    return;
  }
  LineList lines;
  static_cast<Outcome&>(out) = timed_call(Call::services, [&](abi::Error* error) {
    return inspection_->services(sdk::view(request.name), &lines, error);
  });
  if (out.ok() && !lines.complete()) {
    out.code = abi::Code::kRetry;
    out.message = kNoMemoryForInspection;
  }
  if (out.ok()) out.lines = std::move(lines).take();
}

template <class Sink>
bool BackendHandle::inspect_rows(const InspectionRequest& request, Sink& sink, InspectionOutcome& out) {
  abi::InspectionQuery query{};
  query.struct_size = sizeof(query);
  query.kind = request.kind;
  query.name = sdk::view(request.name);
  abi::InspectedPacket packet = request.packet;
  packet.struct_size = sizeof(packet);
  if (request.kind == abi::InspectionKind::kInspectExplanation) query.packet = &packet;
  static_cast<Outcome&>(out) =
      timed_call(Call::inspect, [&](abi::Error* error) { return rows_->inspect(&query, &sink, error); });
  if (out.ok() && !sink.problem().empty()) {
    out.code = abi::Code::kRetry;
    out.message = sink.problem();
  }
  return out.ok();
}

Outcome BackendHandle::retire(const std::vector<std::string>& claims_of_successor, std::chrono::seconds drain) {
  std::vector<abi::StringView> claims;
  for (const std::string& claim : claims_of_successor) claims.push_back(sdk::view(claim));
  abi::Handover handover{};
  handover.struct_size = sizeof(handover);
  handover.drain_seconds =
      static_cast<std::uint32_t>(std::clamp<std::int64_t>(drain.count(), 0, std::int64_t{UINT32_MAX}));
  handover.claims = sdk::array(claims.data(), claims.size());
  retires_ = true;
  return timed_call(Call::retire, [&](abi::Error* error) { return backend_->retire(&handover, error); });
}

BoundClientsOutcome BackendHandle::export_clients() {
  BoundClientsOutcome bound;
  ClientList sink;
  static_cast<Outcome&>(bound) =
      affinity_ == nullptr ? no_affinity() : timed_call(Call::export_clients, [&](abi::Error* error) {
        return affinity_->export_clients(&sink, error);
      });
  if (bound.ok() && !sink.complete()) {
    bound.code = abi::Code::kRetry;
    bound.message = "out of memory while listing clients";
  }
  if (bound.ok()) bound.clients = std::move(sink).take();
  return bound;
}

Outcome BackendHandle::import_clients(const std::vector<BoundClient>& clients) {
  if (affinity_ == nullptr) return no_affinity();
  std::vector<abi::AffinityClient> views;
  views.reserve(clients.size());
  for (const BoundClient& client : clients) views.push_back(flat(client));
  return timed_call(Call::import_clients, [&](abi::Error* error) {
    return affinity_->import_clients(sdk::array(views.data(), views.size()), error);
  });
}

Outcome BackendHandle::cleanup() {
  return timed_call(Call::cleanup, [&](abi::Error* error) { return backend_->cleanup(error); });
}

std::string_view BackendHandle::in_progress() const {
  const Call* const call = current_.load(std::memory_order_acquire);
  return call == nullptr ? std::string_view() : std::string_view(call->name);
}

std::string_view BackendHandle::overdue() const {
  const Call* const call = current_.load(std::memory_order_acquire);
  if (call == nullptr || clock_.now() - started_.load(std::memory_order_relaxed) <= call->limit) return {};
  return call->name;
}

void BackendHandle::assert_thread() {
  if (thread_ == std::thread::id()) thread_ = std::this_thread::get_id();
  assert(thread_ == std::this_thread::get_id() && "a backend is called by one thread only");
}

}  // namespace sluice::plugin
