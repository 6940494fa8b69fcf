// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The place of every field of the ABI, and the number behind every name. Compiling is
// the test. A failure means that a released struct or value was changed: structs grow
// at their tail only, values are never reused.
#include <cstddef>

#include "sluice/abi/abi.hpp"

namespace sluice::abi {
namespace {

static_assert(sizeof(StringView) == 16);
static_assert(offsetof(StringView, data) == 0);
static_assert(offsetof(StringView, size) == 8);

static_assert(sizeof(ArrayView) == 24);
static_assert(offsetof(ArrayView, data) == 0);
static_assert(offsetof(ArrayView, count) == 8);
static_assert(offsetof(ArrayView, stride) == 16);
static_assert(offsetof(ArrayView, reserved) == 20);

static_assert(sizeof(Address) == 16);
static_assert(offsetof(Address, bytes) == 0);

static_assert(sizeof(Prefix) == 24);
static_assert(offsetof(Prefix, address) == 0);
static_assert(offsetof(Prefix, length) == 16);
static_assert(offsetof(Prefix, reserved) == 17);

static_assert(sizeof(Error) == 768);
static_assert(offsetof(Error, struct_size) == 0);
static_assert(offsetof(Error, os_errno) == 4);
static_assert(offsetof(Error, object) == 8);
static_assert(offsetof(Error, message) == 248);

static_assert(sizeof(Option) == 32);
static_assert(offsetof(Option, key) == 0);
static_assert(offsetof(Option, value) == 16);

static_assert(sizeof(ServicePortKey) == 56);
static_assert(offsetof(ServicePortKey, service_namespace) == 0);
static_assert(offsetof(ServicePortKey, service_name) == 16);
static_assert(offsetof(ServicePortKey, port_name) == 32);
static_assert(offsetof(ServicePortKey, protocol) == 48);
static_assert(offsetof(ServicePortKey, reserved) == 49);

static_assert(sizeof(Frontend) == 24);
static_assert(offsetof(Frontend, address) == 0);
static_assert(offsetof(Frontend, port) == 16);
static_assert(offsetof(Frontend, kind) == 18);
static_assert(offsetof(Frontend, reserved) == 19);

static_assert(sizeof(Endpoint) == 24);
static_assert(offsetof(Endpoint, address) == 0);
static_assert(offsetof(Endpoint, port) == 16);
static_assert(offsetof(Endpoint, flags) == 18);
static_assert(offsetof(Endpoint, reserved) == 20);

static_assert(sizeof(ServicePort) == 144);
static_assert(offsetof(ServicePort, key) == 0);
static_assert(offsetof(ServicePort, flags) == 56);
static_assert(offsetof(ServicePort, affinity_seconds) == 60);
static_assert(offsetof(ServicePort, health_check_node_port) == 64);
static_assert(offsetof(ServicePort, reserved) == 66);
static_assert(offsetof(ServicePort, frontends) == 72);
static_assert(offsetof(ServicePort, source_ranges) == 96);
static_assert(offsetof(ServicePort, endpoints) == 120);

static_assert(sizeof(NodeFacts) == 168);
static_assert(offsetof(NodeFacts, struct_size) == 0);
static_assert(offsetof(NodeFacts, flags) == 4);
static_assert(offsetof(NodeFacts, version) == 8);
static_assert(offsetof(NodeFacts, name) == 16);
static_assert(offsetof(NodeFacts, node_ip) == 32);
static_assert(offsetof(NodeFacts, masquerade_mark) == 48);
static_assert(offsetof(NodeFacts, detector) == 52);
static_assert(offsetof(NodeFacts, detector_cidr) == 56);
static_assert(offsetof(NodeFacts, detector_interface) == 80);
static_assert(offsetof(NodeFacts, node_port_addresses) == 96);
static_assert(offsetof(NodeFacts, local_addresses) == 120);
static_assert(offsetof(NodeFacts, service_cidrs) == 144);

static_assert(sizeof(Transaction) == 80);
static_assert(offsetof(Transaction, struct_size) == 0);
static_assert(offsetof(Transaction, kind) == 4);
static_assert(offsetof(Transaction, base_generation) == 8);
static_assert(offsetof(Transaction, generation) == 16);
static_assert(offsetof(Transaction, node) == 24);
static_assert(offsetof(Transaction, service_ports) == 32);
static_assert(offsetof(Transaction, removed) == 56);

static_assert(sizeof(ApplyResult) == 32);
static_assert(offsetof(ApplyResult, struct_size) == 0);
static_assert(offsetof(ApplyResult, reserved) == 4);
static_assert(offsetof(ApplyResult, kernel_writes) == 8);
static_assert(offsetof(ApplyResult, objects_owned) == 16);
static_assert(offsetof(ApplyResult, kernel_nanoseconds) == 24);

static_assert(sizeof(Handover) == 32);
static_assert(offsetof(Handover, struct_size) == 0);
static_assert(offsetof(Handover, drain_seconds) == 4);
static_assert(offsetof(Handover, claims) == 8);

static_assert(sizeof(CreateArgs) == 88);
static_assert(offsetof(CreateArgs, struct_size) == 0);
static_assert(offsetof(CreateArgs, family) == 4);
static_assert(offsetof(CreateArgs, reserved) == 5);
static_assert(offsetof(CreateArgs, host) == 8);
static_assert(offsetof(CreateArgs, options) == 16);
static_assert(offsetof(CreateArgs, state_dir) == 40);
static_assert(offsetof(CreateArgs, flags) == 56);
static_assert(offsetof(CreateArgs, host_minor) == 60);
static_assert(offsetof(CreateArgs, reserved2) == 62);
static_assert(offsetof(CreateArgs, host_features) == 64);
static_assert(offsetof(CreateArgs, host_version) == 72);

static_assert(sizeof(AffinityClient) == 96);
static_assert(offsetof(AffinityClient, key) == 0);
static_assert(offsetof(AffinityClient, client) == 56);
static_assert(offsetof(AffinityClient, endpoint) == 72);
static_assert(offsetof(AffinityClient, endpoint_port) == 88);
static_assert(offsetof(AffinityClient, reserved) == 90);
static_assert(offsetof(AffinityClient, remaining_seconds) == 92);

static_assert(sizeof(PluginEntry) == 64);
static_assert(offsetof(PluginEntry, magic) == 0);
static_assert(offsetof(PluginEntry, major) == 4);
static_assert(offsetof(PluginEntry, minor) == 6);
static_assert(offsetof(PluginEntry, struct_size) == 8);
static_assert(offsetof(PluginEntry, reserved) == 12);
static_assert(offsetof(PluginEntry, features) == 16);
static_assert(offsetof(PluginEntry, needs_host) == 24);
static_assert(offsetof(PluginEntry, id) == 32);
static_assert(offsetof(PluginEntry, version) == 40);
static_assert(offsetof(PluginEntry, build) == 48);
static_assert(offsetof(PluginEntry, create) == 56);

static_assert(std::is_same_v<std::underlying_type_t<Code>, std::int32_t>);
static_assert(static_cast<std::int32_t>(Code::kOk) == 0);
static_assert(static_cast<std::int32_t>(Code::kRetry) == 1);
static_assert(static_cast<std::int32_t>(Code::kNeedFull) == 2);
static_assert(static_cast<std::int32_t>(Code::kInvalid) == 3);
static_assert(static_cast<std::int32_t>(Code::kUnsupported) == 4);
static_assert(static_cast<std::int32_t>(Code::kDenied) == 5);
static_assert(static_cast<std::int32_t>(Code::kKernel) == 6);
static_assert(static_cast<std::int32_t>(Code::kInternal) == 7);

static_assert(std::is_same_v<std::underlying_type_t<Family>, std::uint8_t>);
static_assert(static_cast<std::uint8_t>(Family::kIpv4) == 4);
static_assert(static_cast<std::uint8_t>(Family::kIpv6) == 6);

static_assert(std::is_same_v<std::underlying_type_t<Protocol>, std::uint8_t>);
static_assert(static_cast<std::uint8_t>(Protocol::kTcp) == 6);
static_assert(static_cast<std::uint8_t>(Protocol::kUdp) == 17);
static_assert(static_cast<std::uint8_t>(Protocol::kSctp) == 132);

static_assert(std::is_same_v<std::underlying_type_t<FrontendKind>, std::uint8_t>);
static_assert(static_cast<std::uint8_t>(FrontendKind::kClusterIp) == 1);
static_assert(static_cast<std::uint8_t>(FrontendKind::kExternalIp) == 2);
static_assert(static_cast<std::uint8_t>(FrontendKind::kLoadBalancer) == 3);
static_assert(static_cast<std::uint8_t>(FrontendKind::kNodePort) == 4);

static_assert(std::is_same_v<std::underlying_type_t<EndpointFlag>, std::uint16_t>);
static_assert(kEndpointInCluster == 0x1);
static_assert(kEndpointInLocal == 0x2);
static_assert(kEndpointOnThisNode == 0x4);
static_assert(kEndpointReady == 0x8);
static_assert(kEndpointServing == 0x10);
static_assert(kEndpointTerminating == 0x20);

static_assert(std::is_same_v<std::underlying_type_t<ServicePortFlag>, std::uint32_t>);
static_assert(kInternalPolicyLocal == 0x1);
static_assert(kExternalPolicyLocal == 0x2);
static_assert(kUsesClusterEndpoints == 0x4);
static_assert(kUsesLocalEndpoints == 0x8);
static_assert(kHasAnyEndpoint == 0x10);
static_assert(kSessionAffinity == 0x20);

static_assert(std::is_same_v<std::underlying_type_t<LocalDetectorKind>, std::uint32_t>);
static_assert(static_cast<std::uint32_t>(LocalDetectorKind::kNone) == 0);
static_assert(static_cast<std::uint32_t>(LocalDetectorKind::kCidr) == 1);
static_assert(static_cast<std::uint32_t>(LocalDetectorKind::kBridgeInterface) == 2);
static_assert(static_cast<std::uint32_t>(LocalDetectorKind::kInterfaceNamePrefix) == 3);

static_assert(std::is_same_v<std::underlying_type_t<NodeFlag>, std::uint32_t>);
static_assert(kNodePortsMatchAll == 0x1);
static_assert(kNodePortsOnLocalhost == 0x2);
static_assert(kMasqueradeAll == 0x4);
static_assert(kConntrackTcpLiberal == 0x8);

static_assert(std::is_same_v<std::underlying_type_t<TransactionKind>, std::uint32_t>);
static_assert(static_cast<std::uint32_t>(TransactionKind::kFull) == 0);
static_assert(static_cast<std::uint32_t>(TransactionKind::kDelta) == 1);

static_assert(std::is_same_v<std::underlying_type_t<Severity>, std::int32_t>);
static_assert(static_cast<std::int32_t>(Severity::kError) == 0);
static_assert(static_cast<std::int32_t>(Severity::kWarning) == 1);
static_assert(static_cast<std::int32_t>(Severity::kInfo) == 2);
static_assert(static_cast<std::int32_t>(Severity::kDebug) == 3);

static_assert(std::is_same_v<std::underlying_type_t<MetricKind>, std::uint32_t>);
static_assert(static_cast<std::uint32_t>(MetricKind::kCounterAdd) == 0);
static_assert(static_cast<std::uint32_t>(MetricKind::kGaugeSet) == 1);
static_assert(static_cast<std::uint32_t>(MetricKind::kHistogramObserve) == 2);
static_assert(static_cast<std::uint32_t>(MetricKind::kCounterSet) == 3);

static_assert(std::is_same_v<std::underlying_type_t<Feature>, std::uint64_t>);
static_assert(kFeatureIpv4 == 0x1);
static_assert(kFeatureIpv6 == 0x2);
static_assert(kFeatureDelta == 0x4);
static_assert(kFeatureAffinity == 0x8);
static_assert(kFeatureServiceCidrs == 0x10);
static_assert(kFeatureOwnConnections == 0x20);

static_assert(std::is_same_v<std::underlying_type_t<CreateFlag>, std::uint32_t>);
static_assert(kCreatePredecessorServes == 0x1);

static_assert(std::is_same_v<std::underlying_type_t<HostFeature>, std::uint64_t>);
static_assert(kHostFeatureNone == 0);

static_assert(kMagic == 0x30434C53);

}  // namespace
}  // namespace sluice::abi
