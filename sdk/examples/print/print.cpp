// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A backend that programs nothing: it writes each call as one line of JSON to the file of option `path` (or of
// SLUICE_PRINT_PATH, or to standard error). Use it to learn the API, to inspect the transactions of the daemon, and to
// record them in tests. The same calls produce the same bytes.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "sluice/sdk/sdk.hpp"

namespace {

namespace abi = sluice::abi;
namespace sdk = sluice::sdk;

std::string json_string(std::string_view text) {
  static const char* const kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out.append("\\").push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out.append("\\u00").push_back(kHex[c >> 4]);
      out.push_back(kHex[c & 15]);
    } else {
      out.push_back(c);
    }
  }
  return out + "\"";
}

// [a,b,…] of what `print` makes of each element.
template <class Elements, class Print>
std::string list(const Elements& elements, Print print) {
  std::string out = "[";
  for (const auto& element : elements) out.append(out.size() > 1 ? "," : "").append(print(element));
  return out + "]";
}

using FlagNames = std::vector<std::pair<std::uint32_t, const char*>>;

std::string flag_list(std::uint32_t flags, const FlagNames& names) {
  std::vector<const char*> set;
  for (const auto& [bit, name] : names) {
    if ((flags & bit) != 0) set.push_back(name);
  }
  return list(set, [](const char* name) { return json_string(name); });
}

const FlagNames kPortFlags = {{abi::kInternalPolicyLocal, "internalPolicyLocal"},
                              {abi::kExternalPolicyLocal, "externalPolicyLocal"},
                              {abi::kUsesClusterEndpoints, "usesClusterEndpoints"},
                              {abi::kUsesLocalEndpoints, "usesLocalEndpoints"},
                              {abi::kHasAnyEndpoint, "hasAnyEndpoint"},
                              {abi::kSessionAffinity, "sessionAffinity"}};
const FlagNames kEndpointFlags = {{abi::kEndpointInCluster, "cluster"}, {abi::kEndpointInLocal, "local"},
                                  {abi::kEndpointOnThisNode, "onThisNode"}, {abi::kEndpointReady, "ready"},
                                  {abi::kEndpointServing, "serving"}, {abi::kEndpointTerminating, "terminating"}};
const FlagNames kNodeFlags = {{abi::kNodePortsMatchAll, "nodePortsMatchAll"},
                              {abi::kNodePortsOnLocalhost, "nodePortsOnLocalhost"},
                              {abi::kMasqueradeAll, "masqueradeAll"},
                              {abi::kConntrackTcpLiberal, "conntrackTcpLiberal"}};

const char* detector_name(abi::LocalDetectorKind kind) {
  switch (kind) {
    case abi::LocalDetectorKind::kNone: return "none";
    case abi::LocalDetectorKind::kCidr: return "cidr";
    case abi::LocalDetectorKind::kBridgeInterface: return "bridgeInterface";
    case abi::LocalDetectorKind::kInterfaceNamePrefix: return "interfaceNamePrefix";
  }
  return "unknown";
}

const char* kind_name(abi::FrontendKind kind) {
  switch (kind) {
    case abi::FrontendKind::kClusterIp: return "clusterIP";
    case abi::FrontendKind::kExternalIp: return "externalIP";
    case abi::FrontendKind::kLoadBalancer: return "loadBalancer";
    case abi::FrontendKind::kNodePort: return "nodePort";
  }
  return "unknown";
}

const char* type_name(abi::ServiceType type) {
  switch (type) {
    case abi::ServiceType::kUnknownService: break;
    case abi::ServiceType::kClusterIpService: return "ClusterIP";
    case abi::ServiceType::kNodePortService: return "NodePort";
    case abi::ServiceType::kLoadBalancerService: return "LoadBalancer";
  }
  return "unknown";
}

constexpr abi::StringView kAnnotationPrefixes[] = {sdk::view("sluice.example.com/")};

constexpr abi::OptionSpec kOptions[] = {
    sdk::option::text("path", "", "the name of a file that can be created",
                      "File for the printed calls; empty means the variable SLUICE_PRINT_PATH, or standard error."),
};

constexpr abi::StringView kCall[] = {sdk::view("call")};
constexpr auto kCalls = sdk::counter("print_calls_total", "Number of calls by name.", "", sdk::array(kCall));
constexpr auto kPorts = sdk::gauge("print_service_ports", "Number of service ports in the last transaction.");
constexpr abi::MetricSpec kMetrics[] = {kCalls, kPorts};

class PrintBackend final : public sdk::BackendBase {
 public:
  explicit PrintBackend(const abi::CreateArgs& args) : BackendBase(args) {
    const sdk::Options options(args.options, sdk::array(kOptions));
    path_ = options.string("path");
    if (const char* from_environment = std::getenv("SLUICE_PRINT_PATH"); path_.empty() && from_environment != nullptr) {
      path_ = from_environment;
    }
    if (path_.empty()) return;
    file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    const int saved = errno;
    if (file_ < 0) throw sdk::Failure(abi::Code::kInvalid, path_, "open for appending: check option path", saved);
  }
  ~PrintBackend() override {
    if (file_ != STDERR_FILENO) close(file_);
  }

 private:
  abi::Code do_probe(abi::Error*) override { return print("probe"); }

  abi::Code do_apply(const abi::Transaction& transaction, const abi::NodeFacts& node, abi::ApplyResult& result,
                     abi::Error* error) override {
    const bool full = transaction.kind == abi::TransactionKind::kFull;
    if (!full && transaction.base_generation != generation_) {
      return sdk::fail(error, abi::Code::kNeedFull, "", "delta builds on another generation than the one applied");
    }
    std::string line = full ? ",\"kind\":\"full\"" : ",\"kind\":\"delta\"";
    if (!full) line += ",\"baseGeneration\":" + std::to_string(transaction.base_generation);
    line += ",\"generation\":" + std::to_string(transaction.generation);
    if (transaction.deadline != 0) line += ",\"deadline\":" + std::to_string(transaction.deadline);
    line += std::string(",\"cancellable\":") + (transaction.cancelled != nullptr ? "true" : "false");
    line += ",\"node\":" + printed(node);
    const auto ports = sdk::range<abi::ServicePort>(transaction.service_ports);
    line += ",\"servicePorts\":" + list(ports, [this](const abi::ServicePort& port) { return printed(port); });
    const auto removed = sdk::range<abi::ServicePortKey>(transaction.removed);
    line += ",\"removed\":" + list(removed, [](const auto& key) { return json_string(sdk::service_port_id(key)); });
    print("apply", line);
    applied_.add(1);
    ports_.set(static_cast<double>(ports.size()));
    generation_ = transaction.generation;
    result.kernel_writes = ports.size() + removed.size();
    return abi::Code::kOk;
  }

  abi::Code do_verify(abi::Error*) override { return print("verify"); }
  // The file stays the reader's: nothing of the node is owned, so nothing is claimed.
  abi::Code do_claims(abi::StringSink&, abi::Error*) override { return print("claims"); }
  abi::Code do_retire(const abi::Handover& handover, abi::Error*) override {
    const auto claims = sdk::range<abi::StringView>(handover.claims);
    return print("retire", ",\"drainSeconds\":" + std::to_string(handover.drain_seconds) + ",\"claims\":" +
                               list(claims, [](const abi::StringView& claim) { return json_string(sdk::text(claim)); }));
  }
  abi::Code do_cleanup(abi::Error*) override { return print("cleanup"); }

  std::string printed(const abi::NodeFacts& node) const {
    const auto address = [this](const abi::Address& a) { return json_string(sdk::to_string(a, family())); };
    const auto range = [this](const abi::Prefix& p) { return json_string(sdk::to_string(p, family())); };
    return "{\"version\":" + std::to_string(node.version) + ",\"name\":" + json_string(sdk::text(node.name)) +
           ",\"ip\":" + address(node.node_ip) + ",\"flags\":" + flag_list(node.flags, kNodeFlags) +
           ",\"masqueradeMark\":" + std::to_string(node.masquerade_mark) +
           ",\"detector\":" + json_string(detector_name(node.detector)) +
           ",\"detectorCIDR\":" + json_string(sdk::to_string(node.detector_cidr, family())) +
           ",\"detectorInterface\":" + json_string(sdk::text(node.detector_interface)) +
           ",\"nodePortAddresses\":" + list(sdk::range<abi::Address>(node.node_port_addresses), address) +
           ",\"localAddresses\":" + list(sdk::range<abi::Address>(node.local_addresses), address) +
           ",\"serviceCIDRs\":" + list(sdk::range<abi::Prefix>(node.service_cidrs), range) + "}";
  }

  std::string printed(const abi::ServicePort& port) const {
    return "{\"name\":" + json_string(sdk::service_port_name(port.key)) +
           ",\"protocol\":" + json_string(sdk::protocol_name(port.key.protocol)) +
           ",\"flags\":" + flag_list(port.flags, kPortFlags) +
           ",\"affinitySeconds\":" + std::to_string(port.affinity_seconds) +
           ",\"healthCheckNodePort\":" + std::to_string(port.health_check_node_port) + ",\"frontends\":" +
           list(sdk::frontends(port), [this](const abi::Frontend& f) {
             return "{\"kind\":" + json_string(kind_name(f.kind)) +
                    ",\"address\":" + json_string(sdk::host_port(f.address, family(), f.port)) + "}";
           }) + ",\"sourceRanges\":" +
           list(sdk::source_ranges(port),
                [this](const abi::Prefix& p) { return json_string(sdk::to_string(p, family())); }) +
           ",\"endpoints\":" + list(sdk::endpoints(port), [this](const abi::Endpoint& e) {
             return "{\"address\":" + json_string(sdk::host_port(e.address, family(), e.port)) +
                    ",\"flags\":" + flag_list(e.flags, kEndpointFlags) + "}";
           }) + printed_details(port) + "}";
  }

  // What the daemon passes because of the features and prefixes in the entry below.
  std::string printed_details(const abi::ServicePort& port) const {
    return ",\"serviceUID\":" + json_string(sdk::text(port.service_uid)) +
           ",\"serviceType\":" + json_string(type_name(port.service_type)) +
           ",\"sessionKey\":" + std::to_string(port.session_key) +
           ",\"appProtocol\":" + json_string(sdk::text(port.app_protocol)) + ",\"annotations\":" +
           list(sdk::range<abi::Annotation>(port.annotations), [](const abi::Annotation& a) {
             return json_string(std::string(sdk::text(a.key)).append("=").append(sdk::text(a.value)));
           }) + ",\"endpointDetails\":" +
           list(sdk::range<abi::EndpointDetails>(port.endpoint_details), [](const abi::EndpointDetails& e) {
             return "{\"node\":" + json_string(sdk::text(e.node_name)) + ",\"zone\":" + json_string(sdk::text(e.zone)) +
                    ",\"pod\":" + json_string(sdk::text(e.pod_name)) + ",\"podUID\":" + json_string(sdk::text(e.pod_uid)) +
                    ",\"weight\":" + std::to_string(e.weight) + "}";
           });
  }

  // One write for one line: both families may append to the same file.
  abi::Code print(const char* call, const std::string& fields = {}) {
    const std::string family_field = family() == abi::Family::kIpv6 ? ",\"family\":6" : ",\"family\":4";
    const std::string line = "{\"call\":" + json_string(call) + family_field + fields + "}\n";
    const ssize_t written = write(file_, line.data(), line.size());
    const int saved = written < 0 ? errno : 0;
    if (written == static_cast<ssize_t>(line.size())) return abi::Code::kOk;
    throw sdk::Failure(abi::Code::kRetry, path_, "write: the line is incomplete", saved);
  }

  std::string path_;
  int file_ = STDERR_FILENO;
  std::uint64_t generation_ = 0;
  sdk::Series applied_ = metrics().series(kCalls, {"apply"});
  sdk::Series ports_ = metrics().series(kPorts);
};

}  // namespace

SLUICE_PLUGIN_ENTRY = {
    abi::kMagic, abi::kMajor, abi::kMinor, sizeof(abi::PluginEntry), 0,
    abi::kFeatureIpv4 | abi::kFeatureIpv6 | abi::kFeatureDelta | abi::kFeatureAffinity | abi::kFeatureServiceDetails |
        abi::kFeatureEndpointDetails,
    abi::kHostFeatureNone, "print", "1.0.0", __VERSION__, &sdk::create<PrintBackend>,
    sdk::array(kOptions), sdk::array(kMetrics), sdk::array(kAnnotationPrefixes)};
