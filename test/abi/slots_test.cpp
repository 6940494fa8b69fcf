// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The order of methods is part of the ABI. Tests the signature of each method (the assignment to a typed member pointer
// compiles), its slot in the table of virtual functions, and the number of slots of each interface. Tools that compare
// binaries do not see classes that are only pointed to.
//
// If this test fails, a released interface was changed. Add a new interface instead.
#include <cppunit/extensions/HelperMacros.h>

#include <cstring>

#include "sluice/abi/abi.hpp"

namespace sluice::abi {
namespace {

// Itanium C++ ABI, 2.3: a pointer to a virtual member function is 1 + the offset into the table; on ARM it is the
// offset, and the second word has the mark.
template <class Method>
std::size_t slot(Method method) {
  static_assert(sizeof(method) == 2 * sizeof(std::ptrdiff_t));
  std::ptrdiff_t words[2];
  std::memcpy(words, &method, sizeof(words));
#if defined(__aarch64__) || defined(__arm__)
  CPPUNIT_ASSERT_MESSAGE("not virtual", (words[1] & 1) == 1);
  return static_cast<std::size_t>(words[0]) / sizeof(void*);
#else
  CPPUNIT_ASSERT_MESSAGE("not virtual", (words[0] & 1) == 1);
  return static_cast<std::size_t>(words[0] - 1) / sizeof(void*);
#endif
}

// Adds a virtual method after those of the interface, whose slot is the number of methods.
class MoreBackend : public Backend {
 public:
  virtual void one_more() = 0;

 protected:
  ~MoreBackend() = default;
};
class MoreHost : public Host {
 public:
  virtual void one_more() = 0;

 protected:
  ~MoreHost() = default;
};
class MoreHostRelay : public HostRelay {
 public:
  virtual void one_more() = 0;

 protected:
  ~MoreHostRelay() = default;
};
class MorePreparation : public Preparation {
 public:
  virtual void one_more() = 0;

 protected:
  ~MorePreparation() = default;
};
class MoreInspection : public Inspection {
 public:
  virtual void one_more() = 0;

 protected:
  ~MoreInspection() = default;
};
class MoreInspectionRows : public InspectionRows {
 public:
  virtual void one_more() = 0;

 protected:
  ~MoreInspectionRows() = default;
};
class MoreInspectionSink : public InspectionSink {
 public:
  virtual void one_more() = 0;

 protected:
  ~MoreInspectionSink() = default;
};
class MoreStringSink : public StringSink {
 public:
  virtual void one_more() = 0;

 protected:
  ~MoreStringSink() = default;
};
class MoreAffinity : public Affinity {
 public:
  virtual void one_more() = 0;

 protected:
  ~MoreAffinity() = default;
};
class MoreAffinitySink : public AffinitySink {
 public:
  virtual void one_more() = 0;

 protected:
  ~MoreAffinitySink() = default;
};
class MoreHostMetrics : public HostMetrics {
 public:
  virtual void one_more() noexcept = 0;

 protected:
  ~MoreHostMetrics() = default;
};
class MoreMetricSeries : public MetricSeries {
 public:
  virtual void one_more() noexcept = 0;

 protected:
  ~MoreMetricSeries() = default;
};
class MoreHostStatus : public HostStatus {
 public:
  virtual void one_more() noexcept = 0;

 protected:
  ~MoreHostStatus() = default;
};
class MoreHostDescriptors : public HostDescriptors {
 public:
  virtual void one_more() = 0;

 protected:
  ~MoreHostDescriptors() = default;
};

class SlotsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(SlotsTest);
  CPPUNIT_TEST(backend_has_its_signatures_and_slots);
  CPPUNIT_TEST(host_has_its_signatures_and_slots);
  CPPUNIT_TEST(string_sink_has_its_signature_and_slot);
  CPPUNIT_TEST(host_relay_has_its_id_signature_and_slot);
  CPPUNIT_TEST(preparation_has_its_id_signature_and_slot);
  CPPUNIT_TEST(inspection_has_its_id_signature_and_slot);
  CPPUNIT_TEST(inspection_rows_have_their_id_signatures_and_slots);
  CPPUNIT_TEST(affinity_has_its_id_signatures_and_slots);
  CPPUNIT_TEST(host_descriptors_have_their_id_signatures_and_slots);
  CPPUNIT_TEST(host_metrics_have_their_id_signatures_and_slots);
  CPPUNIT_TEST(host_status_has_its_id_signature_and_slot);
  CPPUNIT_TEST(interfaces_are_one_pointer_and_have_no_virtual_destructor);
  CPPUNIT_TEST(types_are_standard_layout_and_trivially_copyable);
  CPPUNIT_TEST_SUITE_END();

  void backend_has_its_signatures_and_slots() {
    Code (Backend::*probe)(Error*) noexcept = &Backend::probe;
    Code (Backend::*apply)(const Transaction*, ApplyResult*, Error*) noexcept = &Backend::apply;
    Code (Backend::*verify)(Error*) noexcept = &Backend::verify;
    Code (Backend::*claims)(StringSink*, Error*) noexcept = &Backend::claims;
    Code (Backend::*retire)(const Handover*, Error*) noexcept = &Backend::retire;
    Code (Backend::*cleanup)(Error*) noexcept = &Backend::cleanup;
    void* (Backend::*extension)(StringView) noexcept = &Backend::extension;
    void (Backend::*release)() noexcept = &Backend::release;
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, slot(probe));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, slot(apply));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, slot(verify));
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, slot(claims));
    CPPUNIT_ASSERT_EQUAL(std::size_t{4}, slot(retire));
    CPPUNIT_ASSERT_EQUAL(std::size_t{5}, slot(cleanup));
    CPPUNIT_ASSERT_EQUAL(std::size_t{6}, slot(extension));
    CPPUNIT_ASSERT_EQUAL(std::size_t{7}, slot(release));
    CPPUNIT_ASSERT_EQUAL(std::size_t{8}, slot(&MoreBackend::one_more));
  }

  void host_has_its_signatures_and_slots() {
    void (Host::*log)(Severity, StringView) noexcept = &Host::log;
    std::int32_t (Host::*log_enabled)(Severity) noexcept = &Host::log_enabled;
    void (Host::*metric)(MetricKind, StringView, StringView, double) noexcept = &Host::metric;
    void (Host::*event)(Severity, StringView, StringView, const ServicePortKey*) noexcept = &Host::event;
    std::uint64_t (Host::*now)() noexcept = &Host::now;
    void (Host::*request_resync)(StringView) noexcept = &Host::request_resync;
    void (Host::*report_unhealthy)(StringView) noexcept = &Host::report_unhealthy;
    void (Host::*service_port_failed)(const ServicePortKey*, const Error*) noexcept = &Host::service_port_failed;
    void* (Host::*extension)(StringView) noexcept = &Host::extension;
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, slot(log));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, slot(log_enabled));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, slot(metric));
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, slot(event));
    CPPUNIT_ASSERT_EQUAL(std::size_t{4}, slot(now));
    CPPUNIT_ASSERT_EQUAL(std::size_t{5}, slot(request_resync));
    CPPUNIT_ASSERT_EQUAL(std::size_t{6}, slot(report_unhealthy));
    CPPUNIT_ASSERT_EQUAL(std::size_t{7}, slot(service_port_failed));
    CPPUNIT_ASSERT_EQUAL(std::size_t{8}, slot(extension));
    CPPUNIT_ASSERT_EQUAL(std::size_t{9}, slot(&MoreHost::one_more));
  }

  void string_sink_has_its_signature_and_slot() {
    void (StringSink::*add)(StringView) noexcept = &StringSink::add;
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, slot(add));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, slot(&MoreStringSink::one_more));
  }

  void host_relay_has_its_id_signature_and_slot() {
    void (HostRelay::*set_relay_ports)(const ServicePortKey*, ArrayView) noexcept = &HostRelay::set_relay_ports;
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, slot(set_relay_ports));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, slot(&MoreHostRelay::one_more));
    CPPUNIT_ASSERT(std::strcmp("sluice.host.relay/1", kHostRelay) == 0);
  }

  void preparation_has_its_id_signature_and_slot() {
    Code (Preparation::*prepare)(const NodeFacts*, Error*) noexcept = &Preparation::prepare;
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, slot(prepare));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, slot(&MorePreparation::one_more));
    CPPUNIT_ASSERT(std::strcmp("sluice.backend.preparation/1", kPreparation) == 0);
  }

  void inspection_has_its_id_signature_and_slot() {
    Code (Inspection::*services)(StringView, StringSink*, Error*) noexcept = &Inspection::services;
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, slot(services));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, slot(&MoreInspection::one_more));
    CPPUNIT_ASSERT(std::strcmp("sluice.backend.inspection/1", kInspection) == 0);
  }

  void inspection_rows_have_their_id_signatures_and_slots() {
    Code (InspectionRows::*inspect)(const InspectionQuery*, InspectionSink*, Error*) noexcept = &InspectionRows::inspect;
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, slot(inspect));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, slot(&MoreInspectionRows::one_more));
    CPPUNIT_ASSERT(std::strcmp("sluice.backend.inspection/2", kInspectionRows) == 0);
    std::int32_t (InspectionSink::*add)(ArrayView) noexcept = &InspectionSink::add;
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, slot(add));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, slot(&MoreInspectionSink::one_more));
  }

  void affinity_has_its_id_signatures_and_slots() {
    Code (Affinity::*out)(AffinitySink*, Error*) noexcept = &Affinity::export_clients;
    Code (Affinity::*in)(ArrayView, Error*) noexcept = &Affinity::import_clients;
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, slot(out));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, slot(in));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, slot(&MoreAffinity::one_more));
    CPPUNIT_ASSERT(std::strcmp("sluice.backend.affinity/1", kAffinity) == 0);
    void (AffinitySink::*add)(ArrayView) noexcept = &AffinitySink::add;
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, slot(add));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, slot(&MoreAffinitySink::one_more));
  }

  void host_descriptors_have_their_id_signatures_and_slots() {
    Code (HostDescriptors::*keep)(StringView, std::int32_t, Error*) noexcept = &HostDescriptors::keep;
    std::int32_t (HostDescriptors::*take)(StringView) noexcept = &HostDescriptors::take;
    void (HostDescriptors::*drop)(StringView) noexcept = &HostDescriptors::drop;
    void (HostDescriptors::*names)(StringSink*) noexcept = &HostDescriptors::names;
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, slot(keep));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, slot(take));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, slot(drop));
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, slot(names));
    CPPUNIT_ASSERT_EQUAL(std::size_t{4}, slot(&MoreHostDescriptors::one_more));
    CPPUNIT_ASSERT(std::strcmp("sluice.host.descriptors/1", kHostDescriptors) == 0);
  }

  void host_metrics_have_their_id_signatures_and_slots() {
    MetricSeries* (HostMetrics::*series)(StringView, ArrayView, Error*) noexcept = &HostMetrics::series;
    void (HostMetrics::*remove)(MetricSeries*) noexcept = &HostMetrics::remove;
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, slot(series));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, slot(remove));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, slot(&MoreHostMetrics::one_more));
    CPPUNIT_ASSERT(std::strcmp("sluice.host.metrics/1", kHostMetrics) == 0);
    void (MetricSeries::*add)(double) noexcept = &MetricSeries::add;
    void (MetricSeries::*set)(double) noexcept = &MetricSeries::set;
    void (MetricSeries::*observe)(double) noexcept = &MetricSeries::observe;
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, slot(add));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, slot(set));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, slot(observe));
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, slot(&MoreMetricSeries::one_more));
  }

  void host_status_has_its_id_signature_and_slot() {
    void (HostStatus::*set)(StringView, StringView, StringView) noexcept = &HostStatus::set;
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, slot(set));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, slot(&MoreHostStatus::one_more));
    CPPUNIT_ASSERT(std::strcmp("sluice.host.status/1", kHostStatus) == 0);
  }

  void interfaces_are_one_pointer_and_have_no_virtual_destructor() {
    CPPUNIT_ASSERT(sizeof(Backend) == sizeof(void*) && !std::has_virtual_destructor_v<Backend>);
    CPPUNIT_ASSERT(sizeof(Host) == sizeof(void*) && !std::has_virtual_destructor_v<Host>);
    CPPUNIT_ASSERT(sizeof(HostRelay) == sizeof(void*) && !std::has_virtual_destructor_v<HostRelay>);
    CPPUNIT_ASSERT(sizeof(Preparation) == sizeof(void*) && !std::has_virtual_destructor_v<Preparation>);
    CPPUNIT_ASSERT(sizeof(Inspection) == sizeof(void*) && !std::has_virtual_destructor_v<Inspection>);
    CPPUNIT_ASSERT(sizeof(InspectionRows) == sizeof(void*) && !std::has_virtual_destructor_v<InspectionRows>);
    CPPUNIT_ASSERT(sizeof(InspectionSink) == sizeof(void*) && !std::has_virtual_destructor_v<InspectionSink>);
    CPPUNIT_ASSERT(sizeof(Affinity) == sizeof(void*) && !std::has_virtual_destructor_v<Affinity>);
    CPPUNIT_ASSERT(sizeof(AffinitySink) == sizeof(void*) && !std::has_virtual_destructor_v<AffinitySink>);
    CPPUNIT_ASSERT(sizeof(HostDescriptors) == sizeof(void*) && !std::has_virtual_destructor_v<HostDescriptors>);
    CPPUNIT_ASSERT(sizeof(HostMetrics) == sizeof(void*) && !std::has_virtual_destructor_v<HostMetrics>);
    CPPUNIT_ASSERT(sizeof(HostStatus) == sizeof(void*) && !std::has_virtual_destructor_v<HostStatus>);
    CPPUNIT_ASSERT(sizeof(MetricSeries) == sizeof(void*) && !std::has_virtual_destructor_v<MetricSeries>);
    CPPUNIT_ASSERT(sizeof(StringSink) == sizeof(void*) && !std::has_virtual_destructor_v<StringSink>);
  }

  template <class... Types>
  static constexpr bool plain() {
    return ((std::is_standard_layout_v<Types> && std::is_trivially_copyable_v<Types>)&&...);
  }

  void types_are_standard_layout_and_trivially_copyable() {
    CPPUNIT_ASSERT((plain<StringView, ArrayView, Address, Prefix, Error, Option, ServicePortKey, Frontend, Endpoint,
                          ServicePort, NodeFacts, Transaction, ApplyResult, Handover, CreateArgs, AffinityClient, PluginEntry,
                          OptionSpec, MetricSpec, EndpointDetails, Annotation, InspectionQuery, InspectedTarget,
                          InspectedTargets, InspectedFrontend>()));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(SlotsTest);

}  // namespace
}  // namespace sluice::abi
