// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// daemon FILE: a daemon that uses only the headers of the ABI, those of one minor. It makes a backend of a plugin,
// calls each method with every field set, and prints logs and results. If it is compiled with the headers of the next
// minor (SKEW_NEXT, see next.sh), it also sets new fields, and prints them in lines that begin with "next".
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "sluice/abi/abi.hpp"

namespace {

using namespace sluice::abi;

std::string text(StringView view) { return std::string(view.data, view.size); }
StringView view(const char* text) { return {text, std::strlen(text)}; }
void print(const std::string& line) { std::puts(line.c_str()); }
std::string number(std::uint64_t value) { return std::to_string(value); }
std::string key(const ServicePortKey& k) {
  return text(k.service_namespace) + "/" + text(k.service_name) + ":" + text(k.port_name);
}

template <class T>
T zeroed() {
  T out;
  std::memset(static_cast<void*>(&out), 0, sizeof(out));
  return out;
}
template <class T>
T sized() {
  T out = zeroed<T>();
  out.struct_size = sizeof(out);
  return out;
}
template <class T>
ArrayView array(const std::vector<T>& all) {
  return {all.data(), all.size(), sizeof(T), 0};
}

void print_error(const char* call, Code code, const Error& error) {
  print(std::string(call) + " answers " + number(static_cast<std::uint64_t>(code)) + ": " + error.object + ", " +
        error.message + ", " + number(static_cast<std::uint64_t>(error.os_errno)));
  if (error.struct_size != sizeof(error)) print(std::string(call) + " has changed the size of the error");
#ifdef SKEW_NEXT
  print("next: error " + number(error.next_error));
#endif
}

class Descriptors final : public HostDescriptors {
 public:
  Code keep(StringView name, std::int32_t fd, Error* error) noexcept override {
    print("host: keep " + text(name) + " " + number(static_cast<std::uint64_t>(fd)));
    std::snprintf(error->message, sizeof(error->message), "no room");
#ifdef SKEW_NEXT
    if (error->struct_size >= sizeof(Error)) error->next_error = 5;
#endif
    return Code::kRetry;
  }
  std::int32_t take(StringView) noexcept override { return 77; }
  void drop(StringView name) noexcept override { print("host: drop " + text(name)); }
  void names(StringSink* sink) noexcept override { sink->add(view("listener")); }
};

class Relayed final : public HostRelay {
 public:
  void set_relay_ports(const ServicePortKey* of, ArrayView ports) noexcept override {
    std::string line = "host: " + key(*of) + " relayed at";
    for (std::uint64_t i = 0; i < ports.count; ++i) {
      std::uint16_t port = 0;
      std::memcpy(&port, static_cast<const char*>(ports.data) + i * ports.stride, sizeof(port));
      line += " " + number(port);
    }
    print(line);
  }
};

#if SKEW_MINOR >= 1
class Series final : public MetricSeries {
 public:
  void add(double value) noexcept override { print("since 1: add " + std::to_string(value)); }
  void set(double value) noexcept override { print("since 1: set " + std::to_string(value)); }
  void observe(double value) noexcept override { print("since 1: observe " + std::to_string(value)); }
};

class Metrics final : public HostMetrics {
 public:
  MetricSeries* series(StringView name, ArrayView label_values, Error*) noexcept override {
    StringView label = zeroed<StringView>();
    std::memcpy(static_cast<void*>(&label), label_values.data, sizeof(label));
    print("since 1: series " + text(name) + " of " + text(label));
    return &series_;
  }
  void remove(MetricSeries* series) noexcept override {
    print(std::string("since 1: removed ") + (series == &series_ ? "it" : "another one"));
  }

 private:
  Series series_;
};

class StatusOfHost final : public HostStatus {
 public:
  void set(StringView name, StringView value, StringView remedy) noexcept override {
    print("since 1: status " + text(name) + ": " + text(value) + "; " + text(remedy));
  }
};
#endif

#ifdef SKEW_NEXT
class NextHost final : public HostNext {
 public:
  void send(StringView words) noexcept override { print("next: host received " + text(words)); }
};
#endif

class DaemonHost final : public Host {
 public:
  void log(Severity, StringView line) noexcept override { print(text(line)); }
  std::int32_t log_enabled(Severity severity) noexcept override { return severity != Severity::kDebug; }
  void metric(MetricKind kind, StringView name, StringView labels, double value) noexcept override {
    print("host: metric " + number(static_cast<std::uint32_t>(kind)) + " " + text(name) + "{" + text(labels) + "} " +
          std::to_string(value));
  }
  void event(Severity severity, StringView reason, StringView note, const ServicePortKey* regarding) noexcept override {
    print("host: event " + number(static_cast<std::uint64_t>(severity)) + " " + text(reason) + ", " + text(note) +
          ", " + (regarding == nullptr ? "node" : key(*regarding)));
  }
  std::uint64_t now() noexcept override { return 12345; }
  void request_resync(StringView reason) noexcept override { print("host: resync " + text(reason)); }
  void report_unhealthy(StringView reason) noexcept override { print("host: unhealthy " + text(reason)); }
  void service_port_failed(const ServicePortKey* of, const Error* error) noexcept override {
    print("host: not programmed " + key(*of) + ": " + (error == nullptr ? "no more" : error->message));
  }
  void* extension(StringView id) noexcept override {
    const std::string name = text(id);
    if (name == kHostRelay) return static_cast<HostRelay*>(&relayed_);
    if (name == kHostDescriptors) return static_cast<HostDescriptors*>(&kept_);
#if SKEW_MINOR >= 1
    if (name == kHostMetrics) return static_cast<HostMetrics*>(&metrics_);
    if (name == kHostStatus) return static_cast<HostStatus*>(&status_);
#endif
#ifdef SKEW_NEXT
    if (name == kHostNext) return static_cast<HostNext*>(&next_);
#endif
    return nullptr;
  }

 private:
  Relayed relayed_;
  Descriptors kept_;
#if SKEW_MINOR >= 1
  Metrics metrics_;
  StatusOfHost status_;
#endif
#ifdef SKEW_NEXT
  NextHost next_;
#endif
};

class Sink final : public StringSink {
 public:
  explicit Sink(const char* what) : what_(what) {}
  void add(StringView line) noexcept override { print(std::string(what_) + ": " + text(line)); }

 private:
  const char* what_;
};

class ClientSink final : public AffinitySink {
 public:
  void add(ArrayView clients) noexcept override {
    for (std::uint64_t i = 0; i < clients.count; ++i) {
      AffinityClient client = zeroed<AffinityClient>();
      std::memcpy(static_cast<void*>(&client), static_cast<const char*>(clients.data) + i * clients.stride,
                  clients.stride < sizeof(client) ? clients.stride : sizeof(client));
      print("export: " + key(client.key) + " for " + number(client.remaining_seconds));
#ifdef SKEW_NEXT
      print("next: exported " + number(client.next_affinityclient));
#endif
    }
  }
};

constexpr Address at(std::uint8_t last) { return {{10, 1, 2, last}}; }

NodeFacts node_facts(const std::vector<Address>& addresses, const std::vector<Prefix>& ranges) {
  NodeFacts node = sized<NodeFacts>();
  node.flags = kNodePortsOnLocalhost | kMasqueradeAll;
  node.version = 21;
  node.name = view("worker-1");
  node.node_ip = at(1);
  node.masquerade_mark = 0x4000;
  node.detector = LocalDetectorKind::kCidr;
  node.detector_cidr = ranges[0];
  node.detector_interface = view("cni0");
  node.node_port_addresses = array(addresses);
  node.local_addresses = array(addresses);
  node.service_cidrs = array(ranges);
#ifdef SKEW_NEXT
  node.next_nodefacts = 22;
#endif
  return node;
}

#if SKEW_MINOR >= 1
template <class T>
T element(const ArrayView& array, std::uint64_t index) {
  T value = zeroed<T>();
  std::memcpy(static_cast<void*>(&value), static_cast<const char*>(array.data) + index * array.stride,
              array.stride < sizeof(T) ? array.stride : sizeof(T));
  return value;
}

class RowSink final : public InspectionSink {
 public:
  explicit RowSink(InspectionKind kind) : kind_(kind) {}
  std::int32_t add(ArrayView rows) noexcept override {
    if (kind_ == InspectionKind::kInspectFrontends) {
      print_frontends(rows);
    } else if (kind_ == InspectionKind::kInspectCounters) {
      print_counters(element<InspectedCounters>(rows, 0));
    } else if (kind_ == InspectionKind::kInspectDrift) {
      print_drift(element<InspectedDrift>(rows, 0));
    } else {
      print_step(element<InspectedStep>(rows, 0));
    }
    return 1;
  }

 private:
  static void print_counters(const InspectedCounters& row) {
    print("since 1: counters " + key(row.key) + " " + number(row.address.bytes[0]) + ":" + number(row.port) + " " +
          number(row.target.bytes[0]) + ":" + number(row.target_port) + ", flags " + number(row.flags) + ", " +
          number(row.connections) + " " + number(row.packets) + " " + number(row.bytes) + " " +
          number(row.reply_packets) + " " + number(row.reply_bytes) + " " + number(row.active_connections) + " " +
          number(row.refused));
#ifdef SKEW_NEXT
    print("next: counters " + number(row.next_inspectedcounters));
#endif
  }
  static void print_drift(const InspectedDrift& row) {
    print("since 1: drift " + key(row.key) + " " + number(static_cast<std::uint32_t>(row.kind)) + ", " +
          number(row.count) + " " + text(row.object) + ": " + text(row.wanted) + ", " + text(row.found));
#ifdef SKEW_NEXT
    print("next: drift " + number(row.next_inspecteddrift));
#endif
  }
  static void print_step(const InspectedStep& row) {
    const auto target = element<InspectedTarget>(row.targets, 0);
    print("since 1: step " + text(row.object) + ": " + text(row.effect) + " (" + text(row.remarks) + "), target " +
          number(target.address.bytes[0]) + ":" + number(target.port) + ", verdict " +
          number(static_cast<std::uint32_t>(row.verdict)) + ", flags " + number(row.flags) + ", " + number(row.packets) +
          " " + number(row.bytes));
#ifdef SKEW_NEXT
    print("next: step " + number(row.next_inspectedstep));
#endif
  }
  static void print_frontends(ArrayView rows) {
    for (std::uint64_t i = 0; i < rows.count; ++i) {
      const auto row = element<InspectedFrontend>(rows, i);
      print("since 1: row " + key(row.key) + " " + number(row.address.bytes[0]) + ":" + number(row.port) + ", flags " +
            number(row.flags) + ", sticky " + number(row.affinity_seconds) + ", " + number(row.addresses.count) +
            " addresses, else " + text(row.otherwise) + ", for " + number(row.source_ranges.count) + " " +
            text(row.ranges_instead) + " " + text(row.ranges_remarks) + ", object " + text(row.object) + ", " +
            text(row.remarks));
      for (const InspectedTargets& list : {row.targets, row.node_targets}) {
        const auto target = element<InspectedTarget>(list.targets, 0);
        print("since 1: target " + number(target.address.bytes[0]) + ":" + number(target.port) + ", flags " +
              number(target.flags) + ", " + text(target.object) + " " + text(target.remarks) + ", " + text(list.instead) +
              " " + text(list.remarks));
      }
#ifdef SKEW_NEXT
      print("next: row " + number(row.next_inspectedfrontend));
#endif
    }
  }

  const InspectionKind kind_;
};

void print_declarations(const PluginEntry& entry) {
  for (std::uint64_t i = 0; i < entry.options.count; ++i) {
    const auto option = element<OptionSpec>(entry.options, i);
    print("since 1: option " + text(option.key) + ", type " + number(static_cast<std::uint32_t>(option.value_type)) +
          ", reload " + number(static_cast<std::uint32_t>(option.reload)) + ", default " + text(option.default_value) +
          ", " + std::to_string(option.minimum) + " to " + std::to_string(option.maximum) + ", at most " +
          number(option.max_elements) + ", words " + text(option.words) + ", " + text(option.unit) + ", " +
          text(option.format) + ", " + text(option.help));
  }
  for (std::uint64_t i = 0; i < entry.metrics.count; ++i) {
    const auto metric = element<MetricSpec>(entry.metrics, i);
    print("since 1: metric " + text(metric.name) + ", type " + number(static_cast<std::uint32_t>(metric.metric_type)) +
          ", flags " + number(metric.flags) + ", " + text(metric.help) + ", " + text(metric.note) + ", " +
          text(element<StringView>(metric.labels, 0)) + ", " + std::to_string(element<double>(metric.buckets, 1)));
  }
  for (std::uint64_t i = 0; i < entry.annotation_prefixes.count; ++i) {
    print("since 1: annotations of " + text(element<StringView>(entry.annotation_prefixes, i)));
  }
}
#endif

void serve(Backend& backend) {
  const ServicePortKey cart{view("shop"), view("cart"), view("http"), Protocol::kTcp, {}};
  const ServicePortKey gone{view("shop"), view("gone"), view(""), Protocol::kUdp, {}};
  const std::vector<Address> addresses{at(1), at(2)};
  const std::vector<Prefix> ranges{{at(0), 24, {}}};
  const NodeFacts node = node_facts(addresses, ranges);

  std::vector<Frontend> frontends;
  for (const FrontendKind kind : {FrontendKind::kClusterIp, FrontendKind::kLoadBalancer, FrontendKind::kNodePort}) {
    Frontend frontend = zeroed<Frontend>();
    frontend.address = at(static_cast<std::uint8_t>(40 + frontends.size()));
    frontend.port = static_cast<std::uint16_t>(80 + frontends.size());
    frontend.kind = kind;
#ifdef SKEW_NEXT
    frontend.next_frontend = 23;
#endif
    frontends.push_back(frontend);
  }
  std::vector<Endpoint> endpoints;
  for (std::uint8_t i = 0; i < 3; ++i) {
    Endpoint endpoint = zeroed<Endpoint>();
    endpoint.address = at(static_cast<std::uint8_t>(60 + i));
    endpoint.port = static_cast<std::uint16_t>(8080 + i);
    endpoint.flags = static_cast<std::uint16_t>(kEndpointInCluster | (i == 0 ? kEndpointInLocal : 0));
#ifdef SKEW_NEXT
    endpoint.next_endpoint = 24;
#endif
    endpoints.push_back(endpoint);
  }
  ServicePort port = zeroed<ServicePort>();
  port.key = cart;
  port.flags = kHasAnyEndpoint | kSessionAffinity | kExternalPolicyLocal;
  port.affinity_seconds = 600;
  port.health_check_node_port = 31000;
#ifdef SKEW_NEXT
  port.flags |= kNextFlag;
  port.next_serviceport = 25;
  Frontend later = zeroed<Frontend>();
  later.kind = FrontendKind::kNextKind;
  frontends.push_back(later);
#endif
  port.frontends = array(frontends);
  port.source_ranges = array(ranges);
  port.endpoints = array(endpoints);
#if SKEW_MINOR >= 1
  std::vector<EndpointDetails> details;
  for (const Endpoint& endpoint : endpoints) {
    EndpointDetails one = zeroed<EndpointDetails>();
    one.node_name = view("worker-2");
    one.zone = view("zone-a");
    one.pod_name = view("cart-0");
    one.pod_uid = view("uid-of-pod");
    one.weight = endpoint.port;
    details.push_back(one);
  }
  Annotation annotation = zeroed<Annotation>();
  annotation.key = view("skew.example.com/a");
  annotation.value = view("b");
  const std::vector<Annotation> annotations{annotation, annotation};
  port.service_uid = view("uid-of-service");
  port.app_protocol = view("http");
  port.session_key = 31;
  port.service_type = ServiceType::kLoadBalancerService;
  port.annotations = array(annotations);
  port.endpoint_details = array(details);
#endif
  const std::vector<ServicePort> ports{port, port};
  const std::vector<ServicePortKey> removed{gone};
  Transaction transaction = sized<Transaction>();
  transaction.kind = TransactionKind::kDelta;
  transaction.base_generation = 4;
  transaction.generation = 5;
  transaction.node = &node;
  transaction.service_ports = array(ports);
  transaction.removed = array(removed);
#if SKEW_MINOR >= 1
  const std::uint32_t cancelled = 33;
  transaction.deadline = 32;
  transaction.cancelled = &cancelled;
#endif
#ifdef SKEW_NEXT
  transaction.next_transaction = 26;
#endif

  Error error = sized<Error>();
  const auto check = [&error](const char* call, Code code) {
    print_error(call, code, error);
    error = sized<Error>();
  };
  check("probe", backend.probe(&error));
  Sink claims("claims");
  check("claims", backend.claims(&claims, &error));
  if (auto* preparation = static_cast<Preparation*>(backend.extension(view(kPreparation)))) {
    check("prepare", preparation->prepare(&node, &error));
  }
  auto* affinity = static_cast<Affinity*>(backend.extension(view(kAffinity)));
  AffinityClient client = zeroed<AffinityClient>();
  client.key = cart;
  client.client = at(90);
  client.endpoint = at(60);
  client.endpoint_port = 8080;
  client.remaining_seconds = 300;
#ifdef SKEW_NEXT
  client.next_affinityclient = 27;
#endif
  const std::vector<AffinityClient> clients{client, client};
  if (affinity != nullptr) check("import", affinity->import_clients(array(clients), &error));
  ApplyResult result = sized<ApplyResult>();
  check("apply", backend.apply(&transaction, &result, &error));
  print("result: " + number(result.kernel_writes) + " " + number(result.objects_owned) + " " +
        number(result.kernel_nanoseconds) + (result.struct_size == sizeof(result) ? "" : ", of another size"));
#ifdef SKEW_NEXT
  print("next: result " + number(result.next_applyresult));
#endif
  check("verify", backend.verify(&error));
  if (auto* inspection = static_cast<Inspection*>(backend.extension(view(kInspection)))) {
    Sink lines("services");
    check("services", inspection->services(view("shop/cart"), &lines, &error));
  }
#if SKEW_MINOR >= 1
  if (auto* inspection = static_cast<InspectionRows*>(backend.extension(view(kInspectionRows)))) {
    InspectedPacket packet = sized<InspectedPacket>();
    packet.flags = kPacketOfPod;
    packet.client.bytes[0] = 10;
    packet.address.bytes[0] = 172;
    packet.port = 80;
    packet.protocol = Protocol::kUdp;
#ifdef SKEW_NEXT
    packet.next_inspectedpacket = 36;
#endif
    for (const auto kind : {InspectionKind::kInspectFrontends, InspectionKind::kInspectCounters,
                            InspectionKind::kInspectDrift, InspectionKind::kInspectExplanation}) {
      InspectionQuery query = sized<InspectionQuery>();
      query.kind = kind;
      query.name = view("shop/cart");
      if (kind == InspectionKind::kInspectExplanation) query.packet = &packet;
      RowSink rows(kind);
      print("since 1: inspect " + number(static_cast<std::uint32_t>(inspection->inspect(&query, &rows, &error))));
    }
  }
#endif
  ClientSink sink;
  if (affinity != nullptr) check("export", affinity->export_clients(&sink, &error));
#ifdef SKEW_NEXT
  if (auto* next = static_cast<BackendNext*>(backend.extension(view(kBackendNext))))
    next->send(view("text of the daemon"));
#endif
  print(std::string("unknown extension ") +
        (backend.extension(view("com.example.unknown/1")) == nullptr ? "is null" : "exists"));
  const std::vector<StringView> kept{view("nft/ip/kube-proxy"), view("ipset/KUBE-*")};
  Handover handover = sized<Handover>();
  handover.drain_seconds = 30;
  handover.claims = array(kept);
#ifdef SKEW_NEXT
  handover.next_handover = 28;
#endif
  check("retire", backend.retire(&handover, &error));
  check("cleanup", backend.cleanup(&error));
}

}  // namespace

int main(int argc, char** argv) {
  void* const library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (library == nullptr) {
    print(argc == 2 ? dlerror() : "usage: daemon FILE");
    return 2;
  }
  const void* const symbol = dlsym(library, SLUICE_ABI_SYMBOL);
  PluginEntry entry = zeroed<PluginEntry>();
  std::uint32_t size = 0;
  std::memcpy(&size, static_cast<const char*>(symbol) + offsetof(PluginEntry, struct_size), sizeof(size));
  std::memcpy(static_cast<void*>(&entry), symbol, size < sizeof(entry) ? size : sizeof(entry));
  if (entry.magic != kMagic || entry.major != kMajor) return 3;
  print("entry: " + std::string(entry.id) + " " + entry.version + ", features " + number(entry.features) + ", needs " +
        number(entry.needs_host));
#if SKEW_MINOR >= 1
  print_declarations(entry);
#endif
#ifdef SKEW_NEXT
  print("next: entry " + number(entry.next_pluginentry));
#endif
  DaemonHost host;
  std::vector<Option> options;
  for (const char* name : {"a.b[0]", "c"}) {
    Option option = zeroed<Option>();
    option.key = view(name);
    option.value = view("value");
#if SKEW_MINOR >= 1
    option.value_type = OptionType::kDuration;
    option.flags = kOptionDefault;
    option.number = 34;
#endif
#ifdef SKEW_NEXT
    option.next_option = 29;
#endif
    options.push_back(option);
  }
  CreateArgs args = sized<CreateArgs>();
  args.family = Family::kIpv4;
  args.host = &host;
  args.options = array(options);
  args.state_dir = view("/run/state");
  args.flags = kCreatePredecessorServes;
  args.host_minor = kMinor;
  args.host_features = 0;
  args.host_version = view("9.9.9");
#ifdef SKEW_NEXT
  args.next_createargs = 30;
#endif
  Backend* backend = nullptr;
  Error error = sized<Error>();
  const Code code = entry.create(&args, &backend, &error);
  print_error("create", code, error);
  if (backend == nullptr) return 4;
  serve(*backend);
  backend->release();
  return dlclose(library);
}
