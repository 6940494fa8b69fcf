// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Tests offset and type of every field of the ABI, and every enumeration value, at compile time. If it does not
// compile, a released struct or value was changed: structs grow at their end only, and values are never reused.
#include <cstddef>
#include <string_view>

#include "sluice/abi/abi.hpp"

namespace sluice::abi {
namespace {

// Whether a field has exactly this type, and not another one of the same size, and this offset.
template <class Type, class Struct, class Found>
constexpr bool is_at(Found Struct::*, std::size_t place, std::size_t wanted) {
  return std::is_same_v<Type, Found> && place == wanted;
}

// A growing struct is larger in a later minor. The tests of a release are compiled with the current headers, too.
constexpr bool is_size(std::size_t now, std::size_t here) {
#ifdef SLUICE_MAY_HAVE_GROWN
  return now >= here;
#else
  return now == here;
#endif
}

static_assert(sizeof(StringView) == 16 && alignof(StringView) == 8);
static_assert(is_at<const char*>(&StringView::data, offsetof(StringView, data), 0));
static_assert(is_at<std::uint64_t>(&StringView::size, offsetof(StringView, size), 8));

static_assert(sizeof(ArrayView) == 24 && alignof(ArrayView) == 8);
static_assert(is_at<const void*>(&ArrayView::data, offsetof(ArrayView, data), 0));
static_assert(is_at<std::uint64_t>(&ArrayView::count, offsetof(ArrayView, count), 8));
static_assert(is_at<std::uint32_t>(&ArrayView::stride, offsetof(ArrayView, stride), 16));
static_assert(is_at<std::uint32_t>(&ArrayView::reserved, offsetof(ArrayView, reserved), 20));

static_assert(sizeof(Address) == 16 && alignof(Address) == 1);
static_assert(is_at<std::uint8_t[16]>(&Address::bytes, offsetof(Address, bytes), 0));

static_assert(sizeof(Prefix) == 24 && alignof(Prefix) == 1);
static_assert(is_at<Address>(&Prefix::address, offsetof(Prefix, address), 0));
static_assert(is_at<std::uint8_t>(&Prefix::length, offsetof(Prefix, length), 16));
static_assert(is_at<std::uint8_t[7]>(&Prefix::reserved, offsetof(Prefix, reserved), 17));

static_assert(is_size(sizeof(Error), 768) && alignof(Error) == 4);
static_assert(is_at<std::uint32_t>(&Error::struct_size, offsetof(Error, struct_size), 0));
static_assert(is_at<std::int32_t>(&Error::os_errno, offsetof(Error, os_errno), 4));
static_assert(is_at<char[240]>(&Error::object, offsetof(Error, object), 8));
static_assert(is_at<char[520]>(&Error::message, offsetof(Error, message), 248));

static_assert(is_size(sizeof(Option), 48) && alignof(Option) == 8);
static_assert(is_at<StringView>(&Option::key, offsetof(Option, key), 0));
static_assert(is_at<StringView>(&Option::value, offsetof(Option, value), 16));
static_assert(is_at<OptionType>(&Option::value_type, offsetof(Option, value_type), 32));
static_assert(is_at<std::uint32_t>(&Option::flags, offsetof(Option, flags), 36));
static_assert(is_at<std::int64_t>(&Option::number, offsetof(Option, number), 40));

static_assert(is_size(sizeof(InspectionQuery), 32) && alignof(InspectionQuery) == 8);
static_assert(is_at<std::uint32_t>(&InspectionQuery::struct_size, offsetof(InspectionQuery, struct_size), 0));
static_assert(is_at<InspectionKind>(&InspectionQuery::kind, offsetof(InspectionQuery, kind), 4));
static_assert(is_at<StringView>(&InspectionQuery::name, offsetof(InspectionQuery, name), 8));
static_assert(is_at<const InspectedPacket*>(&InspectionQuery::packet, offsetof(InspectionQuery, packet), 24));

static_assert(is_size(sizeof(InspectedPacket), 48) && alignof(InspectedPacket) == 4);
static_assert(is_at<std::uint32_t>(&InspectedPacket::struct_size, offsetof(InspectedPacket, struct_size), 0));
static_assert(is_at<std::uint32_t>(&InspectedPacket::flags, offsetof(InspectedPacket, flags), 4));
static_assert(is_at<Address>(&InspectedPacket::client, offsetof(InspectedPacket, client), 8));
static_assert(is_at<Address>(&InspectedPacket::address, offsetof(InspectedPacket, address), 24));
static_assert(is_at<std::uint16_t>(&InspectedPacket::port, offsetof(InspectedPacket, port), 40));
static_assert(is_at<Protocol>(&InspectedPacket::protocol, offsetof(InspectedPacket, protocol), 42));
static_assert(is_at<std::uint8_t[5]>(&InspectedPacket::reserved, offsetof(InspectedPacket, reserved), 43));

static_assert(is_size(sizeof(InspectedTarget), 56) && alignof(InspectedTarget) == 8);
static_assert(is_at<Address>(&InspectedTarget::address, offsetof(InspectedTarget, address), 0));
static_assert(is_at<std::uint16_t>(&InspectedTarget::port, offsetof(InspectedTarget, port), 16));
static_assert(is_at<std::uint16_t>(&InspectedTarget::flags, offsetof(InspectedTarget, flags), 18));
static_assert(is_at<std::uint32_t>(&InspectedTarget::reserved, offsetof(InspectedTarget, reserved), 20));
static_assert(is_at<StringView>(&InspectedTarget::object, offsetof(InspectedTarget, object), 24));
static_assert(is_at<StringView>(&InspectedTarget::remarks, offsetof(InspectedTarget, remarks), 40));

static_assert(sizeof(InspectedTargets) == 56 && alignof(InspectedTargets) == 8);
static_assert(is_at<ArrayView>(&InspectedTargets::targets, offsetof(InspectedTargets, targets), 0));
static_assert(is_at<StringView>(&InspectedTargets::instead, offsetof(InspectedTargets, instead), 24));
static_assert(is_at<StringView>(&InspectedTargets::remarks, offsetof(InspectedTargets, remarks), 40));

static_assert(is_size(sizeof(InspectedFrontend), 328) && alignof(InspectedFrontend) == 8);
static_assert(is_at<ServicePortKey>(&InspectedFrontend::key, offsetof(InspectedFrontend, key), 0));
static_assert(is_at<Address>(&InspectedFrontend::address, offsetof(InspectedFrontend, address), 56));
static_assert(is_at<std::uint16_t>(&InspectedFrontend::port, offsetof(InspectedFrontend, port), 72));
static_assert(is_at<std::uint8_t[2]>(&InspectedFrontend::reserved, offsetof(InspectedFrontend, reserved), 74));
static_assert(is_at<std::uint32_t>(&InspectedFrontend::flags, offsetof(InspectedFrontend, flags), 76));
static_assert(is_at<ArrayView>(&InspectedFrontend::addresses, offsetof(InspectedFrontend, addresses), 80));
static_assert(is_at<std::uint32_t>(&InspectedFrontend::affinity_seconds, offsetof(InspectedFrontend, affinity_seconds), 104));
static_assert(is_at<std::uint32_t>(&InspectedFrontend::reserved2, offsetof(InspectedFrontend, reserved2), 108));
static_assert(is_at<InspectedTargets>(&InspectedFrontend::targets, offsetof(InspectedFrontend, targets), 112));
static_assert(is_at<InspectedTargets>(&InspectedFrontend::node_targets, offsetof(InspectedFrontend, node_targets), 168));
static_assert(is_at<StringView>(&InspectedFrontend::otherwise, offsetof(InspectedFrontend, otherwise), 224));
static_assert(is_at<ArrayView>(&InspectedFrontend::source_ranges, offsetof(InspectedFrontend, source_ranges), 240));
static_assert(is_at<StringView>(&InspectedFrontend::ranges_instead, offsetof(InspectedFrontend, ranges_instead), 264));
static_assert(is_at<StringView>(&InspectedFrontend::ranges_remarks, offsetof(InspectedFrontend, ranges_remarks), 280));
static_assert(is_at<StringView>(&InspectedFrontend::object, offsetof(InspectedFrontend, object), 296));
static_assert(is_at<StringView>(&InspectedFrontend::remarks, offsetof(InspectedFrontend, remarks), 312));

static_assert(is_size(sizeof(InspectedCounters), 152) && alignof(InspectedCounters) == 8);
static_assert(is_at<ServicePortKey>(&InspectedCounters::key, offsetof(InspectedCounters, key), 0));
static_assert(is_at<Address>(&InspectedCounters::address, offsetof(InspectedCounters, address), 56));
static_assert(is_at<Address>(&InspectedCounters::target, offsetof(InspectedCounters, target), 72));
static_assert(is_at<std::uint16_t>(&InspectedCounters::port, offsetof(InspectedCounters, port), 88));
static_assert(is_at<std::uint16_t>(&InspectedCounters::target_port, offsetof(InspectedCounters, target_port), 90));
static_assert(is_at<std::uint32_t>(&InspectedCounters::flags, offsetof(InspectedCounters, flags), 92));
static_assert(is_at<std::uint64_t>(&InspectedCounters::connections, offsetof(InspectedCounters, connections), 96));
static_assert(is_at<std::uint64_t>(&InspectedCounters::packets, offsetof(InspectedCounters, packets), 104));
static_assert(is_at<std::uint64_t>(&InspectedCounters::bytes, offsetof(InspectedCounters, bytes), 112));
static_assert(is_at<std::uint64_t>(&InspectedCounters::reply_packets, offsetof(InspectedCounters, reply_packets), 120));
static_assert(is_at<std::uint64_t>(&InspectedCounters::reply_bytes, offsetof(InspectedCounters, reply_bytes), 128));
static_assert(is_at<std::uint64_t>(&InspectedCounters::active_connections, offsetof(InspectedCounters, active_connections), 136));
static_assert(is_at<std::uint64_t>(&InspectedCounters::refused, offsetof(InspectedCounters, refused), 144));

static_assert(is_size(sizeof(InspectedDrift), 112) && alignof(InspectedDrift) == 8);
static_assert(is_at<ServicePortKey>(&InspectedDrift::key, offsetof(InspectedDrift, key), 0));
static_assert(is_at<DriftKind>(&InspectedDrift::kind, offsetof(InspectedDrift, kind), 56));
static_assert(is_at<std::uint32_t>(&InspectedDrift::count, offsetof(InspectedDrift, count), 60));
static_assert(is_at<StringView>(&InspectedDrift::object, offsetof(InspectedDrift, object), 64));
static_assert(is_at<StringView>(&InspectedDrift::wanted, offsetof(InspectedDrift, wanted), 80));
static_assert(is_at<StringView>(&InspectedDrift::found, offsetof(InspectedDrift, found), 96));

static_assert(is_size(sizeof(InspectedStep), 96) && alignof(InspectedStep) == 8);
static_assert(is_at<StringView>(&InspectedStep::object, offsetof(InspectedStep, object), 0));
static_assert(is_at<StringView>(&InspectedStep::effect, offsetof(InspectedStep, effect), 16));
static_assert(is_at<StringView>(&InspectedStep::remarks, offsetof(InspectedStep, remarks), 32));
static_assert(is_at<ArrayView>(&InspectedStep::targets, offsetof(InspectedStep, targets), 48));
static_assert(is_at<InspectedVerdict>(&InspectedStep::verdict, offsetof(InspectedStep, verdict), 72));
static_assert(is_at<std::uint32_t>(&InspectedStep::flags, offsetof(InspectedStep, flags), 76));
static_assert(is_at<std::uint64_t>(&InspectedStep::packets, offsetof(InspectedStep, packets), 80));
static_assert(is_at<std::uint64_t>(&InspectedStep::bytes, offsetof(InspectedStep, bytes), 88));

static_assert(is_size(sizeof(OptionSpec), 128) && alignof(OptionSpec) == 8);
static_assert(is_at<StringView>(&OptionSpec::key, offsetof(OptionSpec, key), 0));
static_assert(is_at<OptionType>(&OptionSpec::value_type, offsetof(OptionSpec, value_type), 16));
static_assert(is_at<OptionReload>(&OptionSpec::reload, offsetof(OptionSpec, reload), 20));
static_assert(is_at<StringView>(&OptionSpec::default_value, offsetof(OptionSpec, default_value), 24));
static_assert(is_at<std::int64_t>(&OptionSpec::minimum, offsetof(OptionSpec, minimum), 40));
static_assert(is_at<std::int64_t>(&OptionSpec::maximum, offsetof(OptionSpec, maximum), 48));
static_assert(is_at<std::uint32_t>(&OptionSpec::max_elements, offsetof(OptionSpec, max_elements), 56));
static_assert(is_at<std::uint32_t>(&OptionSpec::reserved, offsetof(OptionSpec, reserved), 60));
static_assert(is_at<StringView>(&OptionSpec::words, offsetof(OptionSpec, words), 64));
static_assert(is_at<StringView>(&OptionSpec::unit, offsetof(OptionSpec, unit), 80));
static_assert(is_at<StringView>(&OptionSpec::format, offsetof(OptionSpec, format), 96));
static_assert(is_at<StringView>(&OptionSpec::help, offsetof(OptionSpec, help), 112));

static_assert(is_size(sizeof(MetricSpec), 104) && alignof(MetricSpec) == 8);
static_assert(is_at<StringView>(&MetricSpec::name, offsetof(MetricSpec, name), 0));
static_assert(is_at<MetricType>(&MetricSpec::metric_type, offsetof(MetricSpec, metric_type), 16));
static_assert(is_at<std::uint32_t>(&MetricSpec::flags, offsetof(MetricSpec, flags), 20));
static_assert(is_at<StringView>(&MetricSpec::help, offsetof(MetricSpec, help), 24));
static_assert(is_at<StringView>(&MetricSpec::note, offsetof(MetricSpec, note), 40));
static_assert(is_at<ArrayView>(&MetricSpec::labels, offsetof(MetricSpec, labels), 56));
static_assert(is_at<ArrayView>(&MetricSpec::buckets, offsetof(MetricSpec, buckets), 80));

static_assert(sizeof(ServicePortKey) == 56 && alignof(ServicePortKey) == 8);
static_assert(is_at<StringView>(&ServicePortKey::service_namespace, offsetof(ServicePortKey, service_namespace), 0));
static_assert(is_at<StringView>(&ServicePortKey::service_name, offsetof(ServicePortKey, service_name), 16));
static_assert(is_at<StringView>(&ServicePortKey::port_name, offsetof(ServicePortKey, port_name), 32));
static_assert(is_at<Protocol>(&ServicePortKey::protocol, offsetof(ServicePortKey, protocol), 48));
static_assert(is_at<std::uint8_t[7]>(&ServicePortKey::reserved, offsetof(ServicePortKey, reserved), 49));

static_assert(is_size(sizeof(Frontend), 24) && alignof(Frontend) == 2);
static_assert(is_at<Address>(&Frontend::address, offsetof(Frontend, address), 0));
static_assert(is_at<std::uint16_t>(&Frontend::port, offsetof(Frontend, port), 16));
static_assert(is_at<FrontendKind>(&Frontend::kind, offsetof(Frontend, kind), 18));
static_assert(is_at<std::uint8_t[5]>(&Frontend::reserved, offsetof(Frontend, reserved), 19));

static_assert(is_size(sizeof(Endpoint), 24) && alignof(Endpoint) == 4);
static_assert(is_at<Address>(&Endpoint::address, offsetof(Endpoint, address), 0));
static_assert(is_at<std::uint16_t>(&Endpoint::port, offsetof(Endpoint, port), 16));
static_assert(is_at<std::uint16_t>(&Endpoint::flags, offsetof(Endpoint, flags), 18));
static_assert(is_at<std::uint32_t>(&Endpoint::reserved, offsetof(Endpoint, reserved), 20));

static_assert(is_size(sizeof(ServicePort), 240) && alignof(ServicePort) == 8);
static_assert(is_at<ServicePortKey>(&ServicePort::key, offsetof(ServicePort, key), 0));
static_assert(is_at<std::uint32_t>(&ServicePort::flags, offsetof(ServicePort, flags), 56));
static_assert(is_at<std::uint32_t>(&ServicePort::affinity_seconds, offsetof(ServicePort, affinity_seconds), 60));
static_assert(is_at<std::uint16_t>(&ServicePort::health_check_node_port,
              offsetof(ServicePort, health_check_node_port), 64));
static_assert(is_at<std::uint8_t[6]>(&ServicePort::reserved, offsetof(ServicePort, reserved), 66));
static_assert(is_at<ArrayView>(&ServicePort::frontends, offsetof(ServicePort, frontends), 72));
static_assert(is_at<ArrayView>(&ServicePort::source_ranges, offsetof(ServicePort, source_ranges), 96));
static_assert(is_at<ArrayView>(&ServicePort::endpoints, offsetof(ServicePort, endpoints), 120));
static_assert(is_at<StringView>(&ServicePort::service_uid, offsetof(ServicePort, service_uid), 144));
static_assert(is_at<StringView>(&ServicePort::app_protocol, offsetof(ServicePort, app_protocol), 160));
static_assert(is_at<std::uint64_t>(&ServicePort::session_key, offsetof(ServicePort, session_key), 176));
static_assert(is_at<ServiceType>(&ServicePort::service_type, offsetof(ServicePort, service_type), 184));
static_assert(is_at<std::uint32_t>(&ServicePort::reserved2, offsetof(ServicePort, reserved2), 188));
static_assert(is_at<ArrayView>(&ServicePort::annotations, offsetof(ServicePort, annotations), 192));
static_assert(is_at<ArrayView>(&ServicePort::endpoint_details, offsetof(ServicePort, endpoint_details), 216));

static_assert(is_size(sizeof(EndpointDetails), 72) && alignof(EndpointDetails) == 8);
static_assert(is_at<StringView>(&EndpointDetails::node_name, offsetof(EndpointDetails, node_name), 0));
static_assert(is_at<StringView>(&EndpointDetails::zone, offsetof(EndpointDetails, zone), 16));
static_assert(is_at<StringView>(&EndpointDetails::pod_name, offsetof(EndpointDetails, pod_name), 32));
static_assert(is_at<StringView>(&EndpointDetails::pod_uid, offsetof(EndpointDetails, pod_uid), 48));
static_assert(is_at<std::uint32_t>(&EndpointDetails::weight, offsetof(EndpointDetails, weight), 64));
static_assert(is_at<std::uint32_t>(&EndpointDetails::reserved, offsetof(EndpointDetails, reserved), 68));

static_assert(is_size(sizeof(Annotation), 32) && alignof(Annotation) == 8);
static_assert(is_at<StringView>(&Annotation::key, offsetof(Annotation, key), 0));
static_assert(is_at<StringView>(&Annotation::value, offsetof(Annotation, value), 16));

static_assert(is_size(sizeof(NodeFacts), 168) && alignof(NodeFacts) == 8);
static_assert(is_at<std::uint32_t>(&NodeFacts::struct_size, offsetof(NodeFacts, struct_size), 0));
static_assert(is_at<std::uint32_t>(&NodeFacts::flags, offsetof(NodeFacts, flags), 4));
static_assert(is_at<std::uint64_t>(&NodeFacts::version, offsetof(NodeFacts, version), 8));
static_assert(is_at<StringView>(&NodeFacts::name, offsetof(NodeFacts, name), 16));
static_assert(is_at<Address>(&NodeFacts::node_ip, offsetof(NodeFacts, node_ip), 32));
static_assert(is_at<std::uint32_t>(&NodeFacts::masquerade_mark, offsetof(NodeFacts, masquerade_mark), 48));
static_assert(is_at<LocalDetectorKind>(&NodeFacts::detector, offsetof(NodeFacts, detector), 52));
static_assert(is_at<Prefix>(&NodeFacts::detector_cidr, offsetof(NodeFacts, detector_cidr), 56));
static_assert(is_at<StringView>(&NodeFacts::detector_interface, offsetof(NodeFacts, detector_interface), 80));
static_assert(is_at<ArrayView>(&NodeFacts::node_port_addresses, offsetof(NodeFacts, node_port_addresses), 96));
static_assert(is_at<ArrayView>(&NodeFacts::local_addresses, offsetof(NodeFacts, local_addresses), 120));
static_assert(is_at<ArrayView>(&NodeFacts::service_cidrs, offsetof(NodeFacts, service_cidrs), 144));

static_assert(is_size(sizeof(Transaction), 96) && alignof(Transaction) == 8);
static_assert(is_at<std::uint32_t>(&Transaction::struct_size, offsetof(Transaction, struct_size), 0));
static_assert(is_at<TransactionKind>(&Transaction::kind, offsetof(Transaction, kind), 4));
static_assert(is_at<std::uint64_t>(&Transaction::base_generation, offsetof(Transaction, base_generation), 8));
static_assert(is_at<std::uint64_t>(&Transaction::generation, offsetof(Transaction, generation), 16));
static_assert(is_at<const NodeFacts*>(&Transaction::node, offsetof(Transaction, node), 24));
static_assert(is_at<ArrayView>(&Transaction::service_ports, offsetof(Transaction, service_ports), 32));
static_assert(is_at<ArrayView>(&Transaction::removed, offsetof(Transaction, removed), 56));
static_assert(is_at<std::uint64_t>(&Transaction::deadline, offsetof(Transaction, deadline), 80));
static_assert(is_at<const std::uint32_t*>(&Transaction::cancelled, offsetof(Transaction, cancelled), 88));

static_assert(is_size(sizeof(ApplyResult), 32) && alignof(ApplyResult) == 8);
static_assert(is_at<std::uint32_t>(&ApplyResult::struct_size, offsetof(ApplyResult, struct_size), 0));
static_assert(is_at<std::uint32_t>(&ApplyResult::reserved, offsetof(ApplyResult, reserved), 4));
static_assert(is_at<std::uint64_t>(&ApplyResult::kernel_writes, offsetof(ApplyResult, kernel_writes), 8));
static_assert(is_at<std::uint64_t>(&ApplyResult::objects_owned, offsetof(ApplyResult, objects_owned), 16));
static_assert(is_at<std::uint64_t>(&ApplyResult::kernel_nanoseconds, offsetof(ApplyResult, kernel_nanoseconds), 24));

static_assert(is_size(sizeof(Handover), 32) && alignof(Handover) == 8);
static_assert(is_at<std::uint32_t>(&Handover::struct_size, offsetof(Handover, struct_size), 0));
static_assert(is_at<std::uint32_t>(&Handover::drain_seconds, offsetof(Handover, drain_seconds), 4));
static_assert(is_at<ArrayView>(&Handover::claims, offsetof(Handover, claims), 8));

static_assert(is_size(sizeof(CreateArgs), 88) && alignof(CreateArgs) == 8);
static_assert(is_at<std::uint32_t>(&CreateArgs::struct_size, offsetof(CreateArgs, struct_size), 0));
static_assert(is_at<Family>(&CreateArgs::family, offsetof(CreateArgs, family), 4));
static_assert(is_at<std::uint8_t[3]>(&CreateArgs::reserved, offsetof(CreateArgs, reserved), 5));
static_assert(is_at<Host*>(&CreateArgs::host, offsetof(CreateArgs, host), 8));
static_assert(is_at<ArrayView>(&CreateArgs::options, offsetof(CreateArgs, options), 16));
static_assert(is_at<StringView>(&CreateArgs::state_dir, offsetof(CreateArgs, state_dir), 40));
static_assert(is_at<std::uint32_t>(&CreateArgs::flags, offsetof(CreateArgs, flags), 56));
static_assert(is_at<std::uint16_t>(&CreateArgs::host_minor, offsetof(CreateArgs, host_minor), 60));
static_assert(is_at<std::uint16_t>(&CreateArgs::reserved2, offsetof(CreateArgs, reserved2), 62));
static_assert(is_at<std::uint64_t>(&CreateArgs::host_features, offsetof(CreateArgs, host_features), 64));
static_assert(is_at<StringView>(&CreateArgs::host_version, offsetof(CreateArgs, host_version), 72));

static_assert(is_size(sizeof(AffinityClient), 96) && alignof(AffinityClient) == 8);
static_assert(is_at<ServicePortKey>(&AffinityClient::key, offsetof(AffinityClient, key), 0));
static_assert(is_at<Address>(&AffinityClient::client, offsetof(AffinityClient, client), 56));
static_assert(is_at<Address>(&AffinityClient::endpoint, offsetof(AffinityClient, endpoint), 72));
static_assert(is_at<std::uint16_t>(&AffinityClient::endpoint_port, offsetof(AffinityClient, endpoint_port), 88));
static_assert(is_at<std::uint8_t[2]>(&AffinityClient::reserved, offsetof(AffinityClient, reserved), 90));
static_assert(is_at<std::uint32_t>(&AffinityClient::remaining_seconds,
              offsetof(AffinityClient, remaining_seconds), 92));

static_assert(is_size(sizeof(PluginEntry), 136) && alignof(PluginEntry) == 8);
static_assert(is_at<std::uint32_t>(&PluginEntry::magic, offsetof(PluginEntry, magic), 0));
static_assert(is_at<std::uint16_t>(&PluginEntry::major, offsetof(PluginEntry, major), 4));
static_assert(is_at<std::uint16_t>(&PluginEntry::minor, offsetof(PluginEntry, minor), 6));
static_assert(is_at<std::uint32_t>(&PluginEntry::struct_size, offsetof(PluginEntry, struct_size), 8));
static_assert(is_at<std::uint32_t>(&PluginEntry::reserved, offsetof(PluginEntry, reserved), 12));
static_assert(is_at<std::uint64_t>(&PluginEntry::features, offsetof(PluginEntry, features), 16));
static_assert(is_at<std::uint64_t>(&PluginEntry::needs_host, offsetof(PluginEntry, needs_host), 24));
static_assert(is_at<const char*>(&PluginEntry::id, offsetof(PluginEntry, id), 32));
static_assert(is_at<const char*>(&PluginEntry::version, offsetof(PluginEntry, version), 40));
static_assert(is_at<const char*>(&PluginEntry::build, offsetof(PluginEntry, build), 48));
using Create = Code (*)(const CreateArgs*, Backend**, Error*) noexcept;
static_assert(is_at<Create>(&PluginEntry::create, offsetof(PluginEntry, create), 56));
static_assert(is_at<ArrayView>(&PluginEntry::options, offsetof(PluginEntry, options), 64));
static_assert(is_at<ArrayView>(&PluginEntry::metrics, offsetof(PluginEntry, metrics), 88));
static_assert(is_at<ArrayView>(&PluginEntry::annotation_prefixes, offsetof(PluginEntry, annotation_prefixes), 112));

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

static_assert(std::is_same_v<std::underlying_type_t<MetricType>, std::uint32_t>);
static_assert(static_cast<std::uint32_t>(MetricType::kCounter) == 1);
static_assert(static_cast<std::uint32_t>(MetricType::kGauge) == 2);
static_assert(static_cast<std::uint32_t>(MetricType::kHistogram) == 3);

static_assert(std::is_same_v<std::underlying_type_t<MetricFlag>, std::uint32_t>);
static_assert(kMetricByFamily == 0x1);
static_assert(kMetricPerService == 0x2);

static_assert(std::is_same_v<std::underlying_type_t<OptionType>, std::uint32_t>);
static_assert(static_cast<std::uint32_t>(OptionType::kUndeclared) == 0);
static_assert(static_cast<std::uint32_t>(OptionType::kText) == 1);
static_assert(static_cast<std::uint32_t>(OptionType::kBoolean) == 2);
static_assert(static_cast<std::uint32_t>(OptionType::kInteger) == 3);
static_assert(static_cast<std::uint32_t>(OptionType::kDuration) == 4);
static_assert(static_cast<std::uint32_t>(OptionType::kWord) == 5);

static_assert(std::is_same_v<std::underlying_type_t<OptionFlag>, std::uint32_t>);
static_assert(kOptionDefault == 0x1);

static_assert(std::is_same_v<std::underlying_type_t<OptionReload>, std::uint32_t>);
static_assert(static_cast<std::uint32_t>(OptionReload::kReplace) == 0);
static_assert(static_cast<std::uint32_t>(OptionReload::kRestart) == 1);

static_assert(std::is_same_v<std::underlying_type_t<ServiceType>, std::uint32_t>);
static_assert(static_cast<std::uint32_t>(ServiceType::kUnknownService) == 0);
static_assert(static_cast<std::uint32_t>(ServiceType::kClusterIpService) == 1);
static_assert(static_cast<std::uint32_t>(ServiceType::kNodePortService) == 2);
static_assert(static_cast<std::uint32_t>(ServiceType::kLoadBalancerService) == 3);

static_assert(std::is_same_v<std::underlying_type_t<InspectionKind>, std::uint32_t>);
static_assert(static_cast<std::uint32_t>(InspectionKind::kInspectFrontends) == 1);
static_assert(static_cast<std::uint32_t>(InspectionKind::kInspectCounters) == 2);
static_assert(static_cast<std::uint32_t>(InspectionKind::kInspectDrift) == 3);
static_assert(static_cast<std::uint32_t>(InspectionKind::kInspectExplanation) == 4);

static_assert(std::is_same_v<std::underlying_type_t<InspectedTargetFlag>, std::uint16_t>);
static_assert(kTargetUnknown == 0x1);
static_assert(kTargetDraining == 0x2);

static_assert(std::is_same_v<std::underlying_type_t<InspectedFlag>, std::uint32_t>);
static_assert(kInspectedNotWanted == 0x1);
static_assert(kInspectedNodePort == 0x2);
static_assert(kInspectedEveryAddress == 0x4);
static_assert(kInspectedMasqueraded == 0x8);
static_assert(kInspectedRejected == 0x10);
static_assert(kInspectedDropped == 0x20);
static_assert(kInspectedRestricted == 0x40);

static_assert(std::is_same_v<std::underlying_type_t<InspectedPacketFlag>, std::uint32_t>);
static_assert(kPacketOfNode == 0x1);
static_assert(kPacketOfPod == 0x2);

static_assert(std::is_same_v<std::underlying_type_t<InspectedCountersFlag>, std::uint32_t>);
static_assert(kCountedFrontend == 0x1);
static_assert(kCountedNodePort == 0x2);
static_assert(kCountedTarget == 0x4);
static_assert(kCountedBothDirections == 0x8);
static_assert(kKnownConnections == 0x100);
static_assert(kKnownPackets == 0x200);
static_assert(kKnownBytes == 0x400);
static_assert(kKnownReplyPackets == 0x800);
static_assert(kKnownReplyBytes == 0x1000);
static_assert(kKnownActive == 0x2000);
static_assert(kKnownRefused == 0x4000);

static_assert(std::is_same_v<std::underlying_type_t<DriftKind>, std::uint32_t>);
static_assert(static_cast<std::uint32_t>(DriftKind::kDriftMissing) == 1);
static_assert(static_cast<std::uint32_t>(DriftKind::kDriftChanged) == 2);
static_assert(static_cast<std::uint32_t>(DriftKind::kDriftExtra) == 3);
static_assert(static_cast<std::uint32_t>(DriftKind::kDriftForeign) == 4);

static_assert(std::is_same_v<std::underlying_type_t<InspectedVerdict>, std::uint32_t>);
static_assert(static_cast<std::uint32_t>(InspectedVerdict::kContinues) == 0);
static_assert(static_cast<std::uint32_t>(InspectedVerdict::kServed) == 1);
static_assert(static_cast<std::uint32_t>(InspectedVerdict::kRejected) == 2);
static_assert(static_cast<std::uint32_t>(InspectedVerdict::kDropped) == 3);
static_assert(static_cast<std::uint32_t>(InspectedVerdict::kNotProxied) == 4);

static_assert(std::is_same_v<std::underlying_type_t<InspectedStepFlag>, std::uint32_t>);
static_assert(kStepCounted == 0x1);
static_assert(kStepMasquerades == 0x2);

static_assert(std::is_same_v<std::underlying_type_t<Feature>, std::uint64_t>);
static_assert(kFeatureIpv4 == 0x1);
static_assert(kFeatureIpv6 == 0x2);
static_assert(kFeatureDelta == 0x4);
static_assert(kFeatureAffinity == 0x8);
static_assert(kFeatureServiceCidrs == 0x10);
static_assert(kFeatureOwnConnections == 0x20);
static_assert(kFeatureServiceDetails == 0x40);
static_assert(kFeatureEndpointDetails == 0x80);

static_assert(std::is_same_v<std::underlying_type_t<CreateFlag>, std::uint32_t>);
static_assert(kCreatePredecessorServes == 0x1);

static_assert(std::is_same_v<std::underlying_type_t<HostFeature>, std::uint64_t>);
static_assert(kHostFeatureNone == 0);

static_assert(kMagic == 0x30434C53);
static_assert(kMajor == 1);
static_assert(std::string_view(SLUICE_ABI_SECTION) == "sluice_abi");
static_assert(std::string_view(SLUICE_ABI_SYMBOL) == "sluice_plugin_entry");

}  // namespace
}  // namespace sluice::abi
