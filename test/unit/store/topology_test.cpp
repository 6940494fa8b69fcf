// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Endpoint selection as a table: BEH 3.1, 3.2 and the cases of 12 D and E.
#include "core/store/topology.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>
#include <vector>

#include "core/model/endpoint_slice.hpp"

namespace sluice::store {
namespace topology_test {

// One endpoint as text: name, then flags: l local, r ready, s serving, t terminating,
// zX zone hint X, nX node hint X. Serving is implied by ready.
Candidate parse(const std::string& text) {
  Candidate out;
  std::vector<std::string_view> zones;
  std::vector<std::string_view> nodes;
  out.address[3] = static_cast<std::uint8_t>(text[0]);
  for (std::size_t i = 1; i < text.size(); ++i) {
    switch (text[i]) {
      case 'l': out.local = true; break;
      case 'r': out.ready = out.serving = true; break;
      case 's': out.serving = true; break;
      case 't': out.terminating = true; break;
      case 'z': zones.push_back(std::string_view(text).substr(++i, 1)); break;
      case 'n': nodes.push_back(std::string_view(text).substr(++i, 1)); break;
      default: CPPUNIT_FAIL("bad flag in " + text);
    }
  }
  out.zone_hints = model::pack_names(zones);
  out.node_hints = model::pack_names(nodes);
  return out;
}

struct Row {
  const char* what;
  std::vector<std::string> endpoints;
  const char* zone;
  const char* node;
  const char* cluster;  // names expected in the cluster list
  const char* local;    // names expected in the local list
  bool has_any;
};

const std::vector<Row> kRows = {
    {"case 14: neither ready nor serving+terminating", {"A", "Bs"}, "a", "N", "", "", false},
    {"case 33: ready beats terminating", {"Ar", "Bst"}, "a", "N", "A", "", true},
    {"case 34: only terminating ones", {"Alst", "Bst"}, "a", "N", "AB", "A", true},
    {"case 35: terminating and not serving", {"Alt", "Bt"}, "a", "N", "", "", false},
    {"case 36: local terminating, remote ready", {"Alst", "Br"}, "a", "N", "B", "A", true},
    {"case 37: local gone, remote ready", {"Alt", "Br"}, "a", "N", "B", "", true},
    {"case 39: remote terminating only", {"Ast"}, "a", "N", "A", "", true},
    {"case 41: ready and terminating is ready", {"Alrt", "Bst"}, "a", "N", "A", "A", true},
    {"case 43: zone hints, some for us", {"Arza", "Brzb"}, "a", "N", "A", "", true},
    {"case 43: zone hints, none for us", {"Arzb", "Brzc"}, "a", "N", "AB", "", true},
    {"case 44: one ready endpoint without hint", {"Arza", "Br"}, "a", "N", "AB", "", true},
    {"case 44: the one without hint is not ready", {"Arza", "Brzb", "C"}, "a", "N", "A", "", true},
    {"case 45: node without zone", {"Arza", "Brzb"}, "", "N", "AB", "", true},
    {"case 45: node without zone, node hints honoured", {"ArzanN", "BrzbnM"}, "", "N", "A", "", true},
    {"case 46: all node-hinted, one for us", {"ArzanN", "BrzanM"}, "a", "N", "A", "", true},
    {"case 46: node hints for others, zone hints for us", {"ArzanM", "BrzbnM"}, "a", "N", "A", "", true},
    {"case 47: node hints incomplete, zone hints complete", {"ArzanN", "Brza", "Crzb"}, "a", "N", "AB", "", true},
    {"case 48: several zone hints", {"Arzazb", "Brzb"}, "a", "N", "A", "", true},
    {"case 49: local list ignores hints", {"Alrzb", "Brza"}, "a", "N", "B", "A", true},
    {"case 51: hinted ones for us all terminating", {"Astza", "Brzb"}, "a", "N", "B", "", true},
    {"case 52: no ready endpoints, hints do not matter", {"Astza", "Bstzb"}, "a", "N", "AB", "", true},
    {"no endpoints", {}, "a", "N", "", "", false},
    {"empty own node name matches no hint", {"ArnN", "BrnM"}, "", "", "AB", "", true},
};

std::string names(const std::vector<Candidate>& candidates, bool Candidate::* list) {
  std::string out;
  for (const Candidate& c : candidates) {
    if (c.*list) out += static_cast<char>(c.address[3]);
  }
  return out;
}

class TopologyTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(TopologyTest);
  CPPUNIT_TEST(endpoints_are_selected_as_in_the_table);
  CPPUNIT_TEST(cluster_only_leaves_local_empty);
  CPPUNIT_TEST(local_only_counts_endpoints_elsewhere);
  CPPUNIT_TEST_SUITE_END();

  void endpoints_are_selected_as_in_the_table() {
    for (const Row& row : kRows) {
      std::vector<Candidate> candidates;
      for (const auto& text : row.endpoints) candidates.push_back(parse(text));
      const bool any = select_endpoints(candidates, {true, true, row.node, row.zone});
      CPPUNIT_ASSERT_EQUAL_MESSAGE(row.what, std::string(row.cluster), names(candidates, &Candidate::in_cluster));
      CPPUNIT_ASSERT_EQUAL_MESSAGE(row.what, std::string(row.local), names(candidates, &Candidate::in_local));
      CPPUNIT_ASSERT_EQUAL_MESSAGE(row.what, row.has_any, any);
    }
  }

  void cluster_only_leaves_local_empty() {
    std::vector<Candidate> candidates = {parse("Alr"), parse("Br")};
    CPPUNIT_ASSERT(select_endpoints(candidates, {true, false, "N", "a"}));
    CPPUNIT_ASSERT_EQUAL(std::string("AB"), names(candidates, &Candidate::in_cluster));
    CPPUNIT_ASSERT_EQUAL(std::string(), names(candidates, &Candidate::in_local));
  }

  // Case 28: nothing local is a DROP while something exists elsewhere, else a REJECT.
  void local_only_counts_endpoints_elsewhere() {
    std::vector<Candidate> elsewhere = {parse("Br")};
    CPPUNIT_ASSERT(select_endpoints(elsewhere, {false, true, "N", "a"}));
    CPPUNIT_ASSERT_EQUAL(std::string(), names(elsewhere, &Candidate::in_cluster));
    CPPUNIT_ASSERT_EQUAL(std::string(), names(elsewhere, &Candidate::in_local));
    std::vector<Candidate> none = {parse("Bt")};
    CPPUNIT_ASSERT(!select_endpoints(none, {false, true, "N", "a"}));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(TopologyTest);

}  // namespace topology_test
}  // namespace sluice::store
