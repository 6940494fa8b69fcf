// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A backend that uses only the headers of the ABI, those of one minor, and logs all data that it receives. With a state
// directory it returns errors from most calls. If it is compiled with the headers of the next minor (SKEW_NEXT, see
// next.sh), it also uses new fields, and logs them in lines that begin with "next". It does not use the helpers of the
// SDK, because the test is about reading structs of other sizes.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "sluice/abi/abi.hpp"

namespace {

using namespace sluice::abi;

// Copies min(its own size, the given size) into a zeroed local.
template <class T>
T copied(const void* from, std::uint32_t size) {
  T out;
  std::memset(static_cast<void*>(&out), 0, sizeof(out));
  std::memcpy(static_cast<void*>(&out), from, size < sizeof(out) ? size : sizeof(out));
  return out;
}
template <class T>
T read(const T* from) {
  return copied<T>(from, from->struct_size);
}
template <class T>
std::vector<T> elements(const ArrayView& array) {
  std::vector<T> out;
  for (std::uint64_t i = 0; i < array.count; ++i) {
    out.push_back(copied<T>(static_cast<const char*>(array.data) + i * array.stride, array.stride));
  }
  return out;
}

std::string text(StringView view) { return std::string(view.data, view.size); }
StringView view(const std::string& text) { return {text.data(), text.size()}; }
std::string number(std::uint64_t value) { return std::to_string(value); }
std::string address(const Address& a) {
  std::string out;
  for (int i = 0; i < 4; ++i) out += (i == 0 ? "" : ".") + std::to_string(a.bytes[i]);
  return out;
}
std::string prefix(const Prefix& p) { return address(p.address) + "/" + number(p.length); }
std::string key(const ServicePortKey& k) {
  return text(k.service_namespace) + "/" + text(k.service_name) + ":" + text(k.port_name) + "/" +
         number(static_cast<std::uint8_t>(k.protocol));
}

// Fills a field of a struct of the caller, if the caller's struct is large enough.
template <class Struct, class Field>
void fill(Struct* to, const Field& field, std::size_t place) {
  if (to->struct_size >= place + sizeof(field)) std::memcpy(reinterpret_cast<char*>(to) + place, &field, sizeof(field));
}
#define FILL(to, field, value)                 \
  do {                                         \
    decltype((to)->field) made_ = (value);     \
    fill(to, made_, offsetof(std::remove_pointer_t<decltype(to)>, field)); \
  } while (false)

bool g_refuses = false;

Code fail(Error* error, Code code, const char* object, const char* message) {
  if (!g_refuses) return Code::kOk;
  FILL(error, os_errno, 11);
  std::snprintf(error->object, sizeof(error->object), "%s", object);
  std::snprintf(error->message, sizeof(error->message), "%s", message);
#ifdef SKEW_NEXT
  FILL(error, next_error, 7);
#endif
  return code;
}

class Plugin;
// One object per interface, so that no class has two bases.
struct Further final : Preparation {
  explicit Further(Plugin& plugin) : plugin_(plugin) {}
  Code prepare(const NodeFacts* node, Error* error) noexcept override;
  Plugin& plugin_;
};
struct Lines final : Inspection {
  explicit Lines(Plugin& plugin) : plugin_(plugin) {}
  Code services(StringView name, StringSink* lines, Error* error) noexcept override;
  Plugin& plugin_;
};
#if SKEW_MINOR >= 1
struct Rows final : InspectionRows {
  explicit Rows(Plugin& plugin) : plugin_(plugin) {}
  Code inspect(const InspectionQuery* query, InspectionSink* sink, Error* error) noexcept override;
  Plugin& plugin_;
};
#endif
struct Clients final : Affinity {
  explicit Clients(Plugin& plugin) : plugin_(plugin) {}
  Code export_clients(AffinitySink* sink, Error* error) noexcept override;
  Code import_clients(ArrayView clients, Error* error) noexcept override;
  Plugin& plugin_;
  std::vector<AffinityClient> kept_;
};
#ifdef SKEW_NEXT
struct Next final : BackendNext {
  explicit Next(Plugin& plugin) : plugin_(plugin) {}
  void send(StringView text) noexcept override;
  Plugin& plugin_;
};
#endif

class Plugin final : public Backend {
 public:
  explicit Plugin(const CreateArgs& args) : host_(args.host) {
    g_refuses = args.state_dir.size != 0;
    log("create: family " + number(static_cast<std::uint8_t>(args.family)) + ", state in " + text(args.state_dir) +
        ", flags " + number(args.flags) + ", version " + text(args.host_version) + ", features " +
        number(args.host_features));
    for (const Option& option : elements<Option>(args.options)) {
      log("create: option " + text(option.key) + " = " + text(option.value));
#ifdef SKEW_NEXT
      log("next: option " + number(option.next_option));
#endif
    }
#if SKEW_MINOR >= 1
    for (const Option& option : elements<Option>(args.options)) {
      if (static_cast<std::uint32_t>(option.value_type) == 0 && option.flags == 0 && option.number == 0) continue;
      log("since 1: option of type " + number(static_cast<std::uint32_t>(option.value_type)) + ", flags " +
          number(option.flags) + ", number " + number(static_cast<std::uint64_t>(option.number)));
    }
    const std::string metrics = kHostMetrics, declared = "skew_reads_total", family = "IPv4";
    const StringView label = view(family);
    if (auto* host_metrics = static_cast<HostMetrics*>(host_->extension(view(metrics)))) {
      MetricSeries* const series = host_metrics->series(view(declared), {&label, 1, sizeof(label), 0}, nullptr);
      series->add(2.5);
      series->set(3.5);
      series->observe(4.5);
      host_metrics->remove(series);
    }
    const std::string status = kHostStatus, fact = "a fact", value = "its value", remedy = "a remedy";
    if (auto* host_status = static_cast<HostStatus*>(host_->extension(view(status)))) {
      host_status->set(view(fact), view(value), view(remedy));
    }
#endif
    // The minor of the daemon determines which fields exist.
    log("next: this daemon has minor " + number(args.host_minor));
#ifdef SKEW_NEXT
    log("next: create " + number(args.next_createargs));
    if (args.host_minor < kMinor) log("next: an older daemon");
#endif
    debug_enabled_ = host_->log_enabled(Severity::kDebug) != 0;
    log(std::string("create: debug text is ") + (debug_enabled_ ? "kept" : "dropped") + ", now " +
        number(host_->now()));
    const std::string relay = kHostRelay, descriptors = kHostDescriptors, unknown = "com.example.unknown/1";
    relay_ = static_cast<HostRelay*>(host_->extension(view(relay)));
    descriptors_ = static_cast<HostDescriptors*>(host_->extension(view(descriptors)));
    log(std::string("create: unknown extension ") +
        (host_->extension(view(unknown)) == nullptr ? "is null" : "exists"));
#ifdef SKEW_NEXT
    const std::string next = kHostNext, words = "text of the plugin";
    if (auto* host = static_cast<HostNext*>(host_->extension(view(next)))) host->send(view(words));
#endif
  }

  Code probe(Error* error) noexcept override { return fail(error, Code::kUnsupported, "kernel", "probe says no"); }

  Code apply(const Transaction* from, ApplyResult* result, Error*) noexcept override {
    const Transaction transaction = read(from);
    const NodeFacts node = read(transaction.node);
    log("apply: kind " + number(static_cast<std::uint32_t>(transaction.kind)) + ", " +
        number(transaction.base_generation) + " to " + number(transaction.generation));
    log_node("apply", node);
#if SKEW_MINOR >= 1
    if (transaction.deadline != 0 || transaction.cancelled != nullptr) {
      log("since 1: deadline " + number(transaction.deadline) + ", cancelled " +
          number(transaction.cancelled == nullptr ? 0 : *transaction.cancelled));
    }
#endif
#ifdef SKEW_NEXT
    log("next: transaction " + number(transaction.next_transaction));
#endif
    for (const ServicePort& port : elements<ServicePort>(transaction.service_ports)) log_port(port);
    for (const ServicePortKey& gone : elements<ServicePortKey>(transaction.removed)) log("apply: removed " + key(gone));
    FILL(result, kernel_writes, 3u);
    FILL(result, objects_owned, 4u);
    FILL(result, kernel_nanoseconds, 5u);
#ifdef SKEW_NEXT
    FILL(result, next_applyresult, 6u);
#endif
    return Code::kOk;
  }

  Code verify(Error* error) noexcept override { return fail(error, Code::kNeedFull, "", "verify found drift"); }

  Code claims(StringSink* sink, Error*) noexcept override {
    const std::string claim = "com.example.skew/all";
    sink->add(view(claim));
    return Code::kOk;
  }

  Code retire(const Handover* from, Error*) noexcept override {
    const Handover handover = read(from);
    std::string line = "retire: " + number(handover.drain_seconds) + " s";
    for (const StringView& claim : elements<StringView>(handover.claims)) line += ", " + text(claim);
    log(line);
#ifdef SKEW_NEXT
    log("next: handover " + number(handover.next_handover));
#endif
    return g_refuses ? Code::kRetry : Code::kOk;
  }

  Code cleanup(Error* error) noexcept override { return fail(error, Code::kDenied, "net", "cleanup may not"); }

  void* extension(StringView id) noexcept override {
    const std::string name = text(id);
    if (name == kPreparation) return static_cast<Preparation*>(&further_);
    if (name == kInspection) return static_cast<Inspection*>(&lines_);
#if SKEW_MINOR >= 1
    if (name == kInspectionRows) return static_cast<InspectionRows*>(&rows_);
#endif
    if (name == kAffinity) return static_cast<Affinity*>(&clients_);
#ifdef SKEW_NEXT
    if (name == kBackendNext) return static_cast<BackendNext*>(&next_);
#endif
    return nullptr;
  }

  void release() noexcept override {
    log("release");
    delete this;
  }

  void log(const std::string& line) const noexcept { host_->log(Severity::kInfo, view(line)); }

  void log_node(const std::string& call, const NodeFacts& node) const {
    std::string line = call + ": node " + text(node.name) + " " + address(node.node_ip) + ", flags " + number(node.flags) +
                       ", version " + number(node.version) + ", mark " + number(node.masquerade_mark) + ", detector " +
                       number(static_cast<std::uint32_t>(node.detector)) + " " + prefix(node.detector_cidr) + " " +
                       text(node.detector_interface);
    for (const Address& one : elements<Address>(node.node_port_addresses)) line += ", node ports at " + address(one);
    for (const Address& one : elements<Address>(node.local_addresses)) line += ", local " + address(one);
    for (const Prefix& one : elements<Prefix>(node.service_cidrs)) line += ", services in " + prefix(one);
    log(line);
#ifdef SKEW_NEXT
    log("next: node " + number(node.next_nodefacts));
#endif
  }

 private:
  void log_port(const ServicePort& port) {
    const std::uint32_t known = kInternalPolicyLocal | kExternalPolicyLocal | kUsesClusterEndpoints |
                                kUsesLocalEndpoints | kHasAnyEndpoint | kSessionAffinity;
    log("apply: " + key(port.key) + ", flags " + number(port.flags & known) + ", affinity " +
        number(port.affinity_seconds) + ", health " + number(port.health_check_node_port));
#if SKEW_MINOR >= 1
    log_details(port);
#endif
#ifdef SKEW_NEXT
    log("next: port " + number(port.next_serviceport) + ((port.flags & kNextFlag) != 0 ? ", flagged" : ""));
#endif
    for (const Frontend& frontend : elements<Frontend>(port.frontends)) {
      switch (frontend.kind) {
        case FrontendKind::kClusterIp:
        case FrontendKind::kExternalIp:
        case FrontendKind::kLoadBalancer:
        case FrontendKind::kNodePort:
          log("apply: frontend " + number(static_cast<std::uint8_t>(frontend.kind)) + " " + address(frontend.address) +
              ":" + number(frontend.port));
#ifdef SKEW_NEXT
          log("next: frontend " + number(frontend.next_frontend));
#endif
          break;
#ifdef SKEW_NEXT
        case FrontendKind::kNextKind:
          log("next: a frontend of the next kind");
          break;
#endif
        default:
          break;  // ignore a kind that was added later
      }
    }
    for (const Prefix& range : elements<Prefix>(port.source_ranges)) log("apply: from " + prefix(range));
    for (const Endpoint& endpoint : elements<Endpoint>(port.endpoints)) {
      log("apply: endpoint " + address(endpoint.address) + ":" + number(endpoint.port) + ", flags " +
          number(endpoint.flags));
#ifdef SKEW_NEXT
      log("next: endpoint " + number(endpoint.next_endpoint));
#endif
    }
    Error why;
    std::memset(static_cast<void*>(&why), 0, sizeof(why));
    why.struct_size = sizeof(why);
    fail(&why, Code::kKernel, "shop/cart", "half of it");
    host_->service_port_failed(&port.key, &why);
    host_->service_port_failed(&port.key, nullptr);
    const std::string reason = "Reason", note = "a note", name = "skew_writes_total", labels = "a=\"b\"";
    host_->event(Severity::kWarning, view(reason), view(note), &port.key);
    host_->event(Severity::kInfo, view(reason), view(note), nullptr);
    host_->metric(MetricKind::kCounterAdd, view(name), view(labels), 1.5);
    host_->request_resync(view(reason));
    host_->report_unhealthy(view(note));
    const std::uint16_t ports[] = {1024, 1025};
    if (relay_ != nullptr) relay_->set_relay_ports(&port.key, {ports, 2, sizeof(ports[0]), 0});
    if (descriptors_ == nullptr) return;
    class Names final : public StringSink {
     public:
      explicit Names(const Plugin& plugin) : plugin_(plugin) {}
      void add(StringView name) noexcept override { plugin_.log("apply: kept " + text(name)); }

     private:
      const Plugin& plugin_;
    } names(*this);
    Error error;
    std::memset(static_cast<void*>(&error), 0, sizeof(error));
    error.struct_size = sizeof(error);
    const std::string kept = "listener";
    const Code code = descriptors_->keep(view(kept), 5, &error);
    log("apply: keep " + number(static_cast<std::uint64_t>(code)) + " " + error.message);
#ifdef SKEW_NEXT
    log("next: error of the host " + number(error.next_error));
#endif
    log("apply: take " + number(static_cast<std::uint64_t>(descriptors_->take(view(kept)))));
    descriptors_->names(&names);
    descriptors_->drop(view(kept));
  }

#if SKEW_MINOR >= 1
  void log_details(const ServicePort& port) {
    if (port.session_key != 0 || port.service_uid.size != 0 || port.app_protocol.size != 0) {
      log("since 1: uid " + text(port.service_uid) + ", protocol " + text(port.app_protocol) + ", session " +
          number(port.session_key) + ", type " + number(static_cast<std::uint32_t>(port.service_type)));
    }
    for (const Annotation& annotation : elements<Annotation>(port.annotations)) {
      log("since 1: annotation " + text(annotation.key) + " = " + text(annotation.value));
    }
    for (const EndpointDetails& endpoint : elements<EndpointDetails>(port.endpoint_details)) {
      log("since 1: endpoint on " + text(endpoint.node_name) + " in " + text(endpoint.zone) + ", pod " +
          text(endpoint.pod_name) + " " + text(endpoint.pod_uid) + ", weight " + number(endpoint.weight));
    }
  }
#endif

  Host* host_;
  HostRelay* relay_ = nullptr;
  HostDescriptors* descriptors_ = nullptr;
  bool debug_enabled_ = false;
  Further further_{*this};
  Lines lines_{*this};
#if SKEW_MINOR >= 1
  Rows rows_{*this};
#endif
  Clients clients_{*this};
#ifdef SKEW_NEXT
  Next next_{*this};
#endif
};

Code Further::prepare(const NodeFacts* node, Error* error) noexcept {
  plugin_.log_node("prepare", read(node));
  return fail(error, Code::kInvalid, "", "prepare failed");
}

Code Lines::services(StringView name, StringSink* lines, Error*) noexcept {
  const std::string line = "all there is of " + text(name);
  lines->add(view(line));
  return Code::kOk;
}

#if SKEW_MINOR >= 1
StringView literal(const char* of) { return {of, std::strlen(of)}; }

std::int32_t add_counters(InspectionSink& sink) {
  InspectedCounters row{};
  row.key = {literal("shop"), literal("cart"), literal("http"), Protocol::kTcp, {}};
  row.address.bytes[0] = 172;
  row.target.bytes[0] = 10;
  row.port = 80;
  row.target_port = 8080;
  row.flags = kCountedTarget | kKnownRefused;
  row.connections = 1;
  row.packets = 2;
  row.bytes = 3;
  row.reply_packets = 4;
  row.reply_bytes = 5;
  row.active_connections = 6;
  row.refused = 7;
#ifdef SKEW_NEXT
  row.next_inspectedcounters = 37;
#endif
  return sink.add({&row, 1, sizeof(row), 0});
}

std::int32_t add_drift(InspectionSink& sink) {
  InspectedDrift row{};
  row.key = {literal("shop"), literal("cart"), literal("http"), Protocol::kTcp, {}};
  row.kind = DriftKind::kDriftExtra;
  row.count = 2;
  row.object = literal("rule");
  row.wanted = literal("this");
  row.found = literal("that");
#ifdef SKEW_NEXT
  row.next_inspecteddrift = 38;
#endif
  return sink.add({&row, 1, sizeof(row), 0});
}

std::int32_t add_step(const InspectedPacket& packet, InspectionSink& sink) {
  InspectedTarget target{};
  target.address = packet.client;
  target.port = packet.port;
  InspectedStep row{};
  row.object = literal("chain");
  row.effect = literal("serves");
  row.remarks = literal("once");
  row.targets = {&target, 1, sizeof(target), 0};
  row.verdict = InspectedVerdict::kServed;
  row.flags = kStepCounted | packet.flags;
  row.packets = packet.address.bytes[0];
  row.bytes = static_cast<std::uint64_t>(packet.protocol);
#ifdef SKEW_NEXT
  row.next_inspectedstep = 39;
#endif
  return sink.add({&row, 1, sizeof(row), 0});
}

Code Rows::inspect(const InspectionQuery* given, InspectionSink* sink, Error*) noexcept {
  const InspectionQuery query = read(given);
  plugin_.log("since 1: inspection " + number(static_cast<std::uint32_t>(query.kind)) + " of " + text(query.name));
  if (query.kind == InspectionKind::kInspectCounters) return add_counters(*sink) != 0 ? Code::kOk : Code::kInternal;
  if (query.kind == InspectionKind::kInspectDrift) return add_drift(*sink) != 0 ? Code::kOk : Code::kInternal;
  if (query.kind == InspectionKind::kInspectExplanation) {
    const InspectedPacket packet = read(query.packet);
#ifdef SKEW_NEXT
    plugin_.log("next: packet " + number(packet.next_inspectedpacket));
#endif
    return add_step(packet, *sink) != 0 ? Code::kOk : Code::kInternal;
  }
  InspectedTarget target{};
  target.address.bytes[0] = 10;
  target.port = 8080;
  target.flags = kTargetDraining;
  target.object = literal("chain");
  target.remarks = literal("drains");
  InspectedFrontend row{};
  row.key = {literal("shop"), literal("cart"), literal("http"), Protocol::kTcp, {}};
  row.address.bytes[0] = 172;
  row.port = 80;
  row.flags = kInspectedMasqueraded;
  row.affinity_seconds = 60;
  row.targets = {{&target, 1, sizeof(target), 0}, literal("instead"), literal("list")};
  row.node_targets = {{&target, 1, sizeof(target), 0}, {}, {}};
  row.otherwise = literal("dropped");
  Prefix range{};
  range.length = 8;
  row.addresses = row.source_ranges = {&range, 1, sizeof(range), 0};
  row.ranges_instead = literal("no client");
  row.ranges_remarks = literal("open");
  row.object = literal("object");
  row.remarks = literal("no jump");
#ifdef SKEW_NEXT
  row.next_inspectedfrontend = 34;
#endif
  const std::int32_t more = sink->add({&row, 1, sizeof(row), 0});
  plugin_.log("since 1: more rows " + number(static_cast<std::uint32_t>(more)));
  return Code::kOk;
}
#endif

Code Clients::import_clients(ArrayView clients, Error*) noexcept {
  kept_ = elements<AffinityClient>(clients);
  for (AffinityClient& client : kept_) {
    plugin_.log("import: " + key(client.key) + " " + address(client.client) + " at " + address(client.endpoint) + ":" +
                number(client.endpoint_port) + " for " + number(client.remaining_seconds));
#ifdef SKEW_NEXT
    plugin_.log("next: client " + number(client.next_affinityclient));
    client.next_affinityclient = 9;
#endif
    client.remaining_seconds += 1;
  }
  return Code::kOk;
}

Code Clients::export_clients(AffinitySink* sink, Error*) noexcept {
  sink->add({kept_.data(), kept_.size(), sizeof(AffinityClient), 0});
  return Code::kOk;
}

#ifdef SKEW_NEXT
void Next::send(StringView words) noexcept { plugin_.log("next: received " + text(words)); }
#endif

Code create(const CreateArgs* args, Backend** out, Error*) noexcept {
  *out = new Plugin(read(args));
  return Code::kOk;
}

#if SKEW_MINOR >= 1
#define TEXT(literal) {literal, sizeof(literal) - 1}
constexpr OptionSpec kOptions[] = {{TEXT("c"), OptionType::kDuration, OptionReload::kRestart, TEXT("1s"), 5, 6000000000, 7, 0,
                                    TEXT("a|b"), TEXT("units"), TEXT("format"), TEXT("help")}};
constexpr StringView kLabels[] = {TEXT("family")};
constexpr double kBuckets[] = {0.5, 1.5};
constexpr MetricSpec kMetrics[] = {{TEXT("skew_reads_total"), MetricType::kHistogram, kMetricPerService, TEXT("help"),
                                    TEXT("note"), {kLabels, 1, sizeof(kLabels[0]), 0}, {kBuckets, 2, sizeof(double), 0}}};
constexpr StringView kPrefixes[] = {TEXT("skew.example.com/")};
#undef TEXT
#endif

}  // namespace

SLUICE_PLUGIN_ENTRY = {kMagic, kMajor, kMinor, sizeof(PluginEntry), 0, kFeatureIpv4 | kFeatureDelta | kFeatureAffinity,
                       kHostFeatureNone, "skew", "1.0.0", __VERSION__, &create,
#if SKEW_MINOR >= 1
                       {kOptions, 1, sizeof(kOptions[0]), 0}, {kMetrics, 1, sizeof(kMetrics[0]), 0},
                       {kPrefixes, 1, sizeof(kPrefixes[0]), 0},
#endif
#ifdef SKEW_NEXT
                       8,
#endif
};
