// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/services/inspection_document.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>

namespace sluice::observe {
namespace inspection_document_test {

using abi::InspectionKind;

class InspectionDocumentTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(InspectionDocumentTest);
  CPPUNIT_TEST(only_known_counters_have_values);
  CPPUNIT_TEST(drift_names_its_kind);
  CPPUNIT_TEST(steps_have_endpoints_and_a_verdict);
  CPPUNIT_TEST_SUITE_END();

  static plugin::InspectedKey key() { return {"shop", "cart", "http", "tcp"}; }

 public:
  void only_known_counters_have_values() {
    plugin::InspectionOutcome outcome;
    outcome.counters.resize(2);
    auto& frontend = outcome.counters[0];
    frontend.key = key();
    frontend.flags = abi::kCountedFrontend | abi::kCountedNodePort | abi::kCountedBothDirections | abi::kKnownConnections | abi::kKnownRefused;
    frontend.port = 30080;
    frontend.connections = 12;
    frontend.packets = 5;  // not known
    auto& target = outcome.counters[1];
    target.key = key();
    target.flags = abi::kCountedTarget | abi::kKnownPackets | abi::kKnownBytes | abi::kKnownReplyPackets |
                   abi::kKnownReplyBytes | abi::kKnownActive;
    target.target = "10.180.0.1";
    target.target_port = 80;
    target.packets = 1;
    target.bytes = 2;
    target.reply_packets = 3;
    target.reply_bytes = 4;
    target.active_connections = 5;
    CPPUNIT_ASSERT_EQUAL(
        std::string(R"([{"active_connections":null,"both_directions":true,"bytes":null,"connections":12,"endpoint":null,)"
                    R"("frontend":{"address":"","node_port":true,"port":30080},"packets":null,"port_name":"http",)"
                    R"("protocol":"tcp","refused":0,"reply_bytes":null,"reply_packets":null,"service":"shop/cart"},)"
                    R"({"active_connections":5,"both_directions":false,"bytes":2,"connections":null,"endpoint":{"address":"10.180.0.1",)"
                    R"("port":80},"frontend":null,"packets":1,"port_name":"http","protocol":"tcp","refused":null,)"
                    R"("reply_bytes":4,"reply_packets":3,"service":"shop/cart"}])"),
        inspected_rows(outcome, InspectionKind::kInspectCounters).dump());
  }

  void drift_names_its_kind() {
    plugin::InspectionOutcome outcome;
    for (const auto kind : {abi::DriftKind::kDriftMissing, abi::DriftKind::kDriftChanged, abi::DriftKind::kDriftExtra,
                            abi::DriftKind::kDriftForeign}) {
      outcome.drift.push_back({key(), kind, 1, "o", "w", "f"});
    }
    outcome.drift[3].key = {};
    const auto rows = inspected_rows(outcome, InspectionKind::kInspectDrift);
    CPPUNIT_ASSERT_EQUAL(std::string(R"({"count":1,"found":"f","kind":"Missing","object":"o","port_name":"http",)"
                                     R"("protocol":"tcp","service":"shop/cart","wanted":"w"})"),
                         rows[0].dump());
    CPPUNIT_ASSERT_EQUAL(std::string(R"("Changed" "Extra")"), rows[1]["kind"].dump() + " " + rows[2]["kind"].dump());
    CPPUNIT_ASSERT_EQUAL(std::string(R"({"count":1,"found":"f","kind":"Foreign","object":"o","port_name":null,)"
                                     R"("protocol":null,"service":null,"wanted":"w"})"),
                         rows[3].dump());
  }

  void steps_have_endpoints_and_a_verdict() {
    plugin::InspectionOutcome outcome;
    outcome.steps.resize(5);
    outcome.steps[0] = {"chain X",
                        "chooses",
                        "r",
                        {{"10.180.0.1", 80, abi::kTargetDraining, "", "gone"}},
                        abi::InspectedVerdict::kContinues,
                        abi::kStepCounted | abi::kStepMasquerades,
                        7,
                        8};
    for (std::uint32_t i = 1; i < 5; ++i) outcome.steps[i].verdict = static_cast<abi::InspectedVerdict>(i);
    const auto rows = inspected_rows(outcome, InspectionKind::kInspectExplanation);
    CPPUNIT_ASSERT_EQUAL(
        std::string(R"({"bytes":8,"effect":"chooses","endpoints":[{"address":"10.180.0.1","draining":true,)"
                    R"("object":"","port":80,"remarks":"gone"}],"masquerades":true,"object":"chain X","packets":7,)"
                    R"("remarks":"r","verdict":"Continues"})"),
        rows[0].dump());
    std::string verdicts;
    for (std::size_t i = 1; i < 5; ++i) verdicts += rows[i]["verdict"].get<std::string>() + " ";
    CPPUNIT_ASSERT_EQUAL(std::string("Served Rejected Dropped NotProxied "), verdicts);
    CPPUNIT_ASSERT(rows[1]["packets"].is_null() && !rows[1]["masquerades"].get<bool>());
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(InspectionDocumentTest);

}  // namespace inspection_document_test
}  // namespace sluice::observe
