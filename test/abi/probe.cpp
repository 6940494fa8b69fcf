// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// For abidw: a library whose debug information describes the whole ABI. Structs and enumerations are parameters.
// Compilers omit interfaces that are only pointed to, so each has a derived class here, whose first method is not
// inline, so that its table of virtual functions is in this file.
#include "sluice/abi/abi.hpp"

namespace sluice::abi {

class ProbeHost final : public Host {
 public:
  void log(Severity, StringView) noexcept override;
  std::int32_t log_enabled(Severity) noexcept override;
  void metric(MetricKind, StringView, StringView, double) noexcept override;
  void event(Severity, StringView, StringView, const ServicePortKey*) noexcept override;
  std::uint64_t now() noexcept override;
  void request_resync(StringView) noexcept override;
  void report_unhealthy(StringView) noexcept override;
  void service_port_failed(const ServicePortKey*, const Error*) noexcept override;
  void* extension(StringView) noexcept override;
};
void ProbeHost::log(Severity, StringView) noexcept {}
std::int32_t ProbeHost::log_enabled(Severity) noexcept { return 0; }
void ProbeHost::metric(MetricKind, StringView, StringView, double) noexcept {}
void ProbeHost::event(Severity, StringView, StringView, const ServicePortKey*) noexcept {}
std::uint64_t ProbeHost::now() noexcept { return 0; }
void ProbeHost::request_resync(StringView) noexcept {}
void ProbeHost::report_unhealthy(StringView) noexcept {}
void ProbeHost::service_port_failed(const ServicePortKey*, const Error*) noexcept {}
void* ProbeHost::extension(StringView) noexcept { return nullptr; }

class ProbeBackend final : public Backend {
 public:
  Code probe(Error*) noexcept override;
  Code apply(const Transaction*, ApplyResult*, Error*) noexcept override;
  Code verify(Error*) noexcept override;
  Code claims(StringSink*, Error*) noexcept override;
  Code retire(const Handover*, Error*) noexcept override;
  Code cleanup(Error*) noexcept override;
  void* extension(StringView) noexcept override;
  void release() noexcept override;
};
Code ProbeBackend::probe(Error*) noexcept { return Code::kOk; }
Code ProbeBackend::apply(const Transaction*, ApplyResult*, Error*) noexcept { return Code::kOk; }
Code ProbeBackend::verify(Error*) noexcept { return Code::kOk; }
Code ProbeBackend::claims(StringSink*, Error*) noexcept { return Code::kOk; }
Code ProbeBackend::retire(const Handover*, Error*) noexcept { return Code::kOk; }
Code ProbeBackend::cleanup(Error*) noexcept { return Code::kOk; }
void* ProbeBackend::extension(StringView) noexcept { return nullptr; }
void ProbeBackend::release() noexcept {}

class ProbeStringSink final : public StringSink {
 public:
  void add(StringView) noexcept override;
};
void ProbeStringSink::add(StringView) noexcept {}

class ProbePreparation final : public Preparation {
 public:
  Code prepare(const NodeFacts*, Error*) noexcept override;
};
Code ProbePreparation::prepare(const NodeFacts*, Error*) noexcept { return Code::kOk; }

class ProbeInspection final : public Inspection {
 public:
  Code services(StringView, StringSink*, Error*) noexcept override;
};
Code ProbeInspection::services(StringView, StringSink*, Error*) noexcept { return Code::kOk; }

class ProbeInspectionSink final : public InspectionSink {
 public:
  std::int32_t add(ArrayView) noexcept override;
};
std::int32_t ProbeInspectionSink::add(ArrayView) noexcept { return 1; }

class ProbeInspectionRows final : public InspectionRows {
 public:
  Code inspect(const InspectionQuery*, InspectionSink*, Error*) noexcept override;
};
Code ProbeInspectionRows::inspect(const InspectionQuery*, InspectionSink*, Error*) noexcept { return Code::kOk; }

class ProbeAffinitySink final : public AffinitySink {
 public:
  void add(ArrayView) noexcept override;
};
void ProbeAffinitySink::add(ArrayView) noexcept {}

class ProbeAffinity final : public Affinity {
 public:
  Code export_clients(AffinitySink*, Error*) noexcept override;
  Code import_clients(ArrayView, Error*) noexcept override;
};
Code ProbeAffinity::export_clients(AffinitySink*, Error*) noexcept { return Code::kOk; }
Code ProbeAffinity::import_clients(ArrayView, Error*) noexcept { return Code::kOk; }

class ProbeHostRelay final : public HostRelay {
 public:
  void set_relay_ports(const ServicePortKey*, ArrayView) noexcept override;
};
void ProbeHostRelay::set_relay_ports(const ServicePortKey*, ArrayView) noexcept {}

class ProbeHostDescriptors final : public HostDescriptors {
 public:
  Code keep(StringView, std::int32_t, Error*) noexcept override;
  std::int32_t take(StringView) noexcept override;
  void drop(StringView) noexcept override;
  void names(StringSink*) noexcept override;
};
Code ProbeHostDescriptors::keep(StringView, std::int32_t, Error*) noexcept { return Code::kOk; }
std::int32_t ProbeHostDescriptors::take(StringView) noexcept { return -1; }
void ProbeHostDescriptors::drop(StringView) noexcept {}
void ProbeHostDescriptors::names(StringSink*) noexcept {}

void probe_interfaces(Host*, Backend*, StringSink*, Preparation*, Inspection*, AffinitySink*, Affinity*, HostRelay*,
                      HostDescriptors*, InspectionSink*, InspectionRows*) {}
void probe_implementations(ProbeHost*, ProbeBackend*, ProbeStringSink*, ProbePreparation*, ProbeInspection*,
                           ProbeAffinitySink*, ProbeAffinity*, ProbeHostRelay*, ProbeHostDescriptors*, ProbeInspectionSink*,
                           ProbeInspectionRows*) {}
void probe_structs(StringView, ArrayView, Address, Prefix, ServicePortKey, Error*, Option*, Frontend*, Endpoint*,
                   ServicePort*, NodeFacts*, Transaction*, ApplyResult*, Handover*, CreateArgs*, AffinityClient*,
                   PluginEntry*, InspectionQuery*, InspectedTarget*, InspectedTargets, InspectedFrontend*) {}
void probe_enumerations(InspectionKind, InspectedTargetFlag, InspectedFlag, Code, Family, Protocol, FrontendKind, LocalDetectorKind, TransactionKind, Severity,
                        MetricKind) {}
// The ABI passes flags as numbers; this function uses their enumerations.
void probe_flags(EndpointFlag, ServicePortFlag, NodeFlag, CreateFlag, Feature, HostFeature) {}

}  // namespace sluice::abi
