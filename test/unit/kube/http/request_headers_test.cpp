// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/http/request_headers.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

namespace sluice::kube {
namespace request_headers_test {

class RequestHeadersTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(RequestHeadersTest);
  CPPUNIT_TEST(impersonation_becomes_headers);
  CPPUNIT_TEST(the_request_names_the_accepted_types);
  CPPUNIT_TEST(impersonation_is_not_sent_over_plain_http);
  CPPUNIT_TEST(fields_that_no_header_can_carry_are_named);
  CPPUNIT_TEST_SUITE_END();

  static std::string shown(const ConnectionConfig& config) {
    std::string out;
    for (const auto& [name, value] : request_headers(Request{}, config, "1", "Bearer t")) {
      if (name != "Accept" && name != "User-Agent") out += name + ": " + value + "\n";
    }
    return out;
  }

  void impersonation_becomes_headers() {
    ConnectionConfig config;
    CPPUNIT_ASSERT_EQUAL(std::string("Authorization: Bearer t\n"), shown(config));
    config.impersonate = {"jane", "7", {"g1", "g2"}, {{"a/b c%", {"x", "y"}}}};
    CPPUNIT_ASSERT_EQUAL(std::string("Authorization: Bearer t\nImpersonate-User: jane\nImpersonate-Uid: 7\n"
                                     "Impersonate-Group: g1\nImpersonate-Group: g2\n"
                                     "Impersonate-Extra-a%2Fb%20c%25: x\nImpersonate-Extra-a%2Fb%20c%25: y\n"),
                         shown(config));
  }

  void the_request_names_the_accepted_types() {
    Request request;
    CPPUNIT_ASSERT_EQUAL(std::string("application/json"), request_headers(request, {}, "1", "").at(0).second);
    request.accept = "a/b";
    CPPUNIT_ASSERT_EQUAL(std::string("a/b"), request_headers(request, {}, "1", "").at(0).second);
  }

  void impersonation_is_not_sent_over_plain_http() {
    ConnectionConfig config;
    config.server.tls = false;
    config.impersonate.user = "jane";
    CPPUNIT_ASSERT(shown(config).find("Impersonate") == std::string::npos);
  }

  void fields_that_no_header_can_carry_are_named() {
    CPPUNIT_ASSERT(check_impersonation({"J\xc3\xa4ne", "", {"a b"}, {{"k\n", {"v"}}}}).ok());
    CPPUNIT_ASSERT(check_impersonation({"a\n", "", {}, {}}).message().starts_with("as holds"));
    CPPUNIT_ASSERT(check_impersonation({"a", "\r", {}, {}}).message().starts_with("as-uid holds"));
    CPPUNIT_ASSERT(check_impersonation({"a", "", {"\x7f"}, {}}).message().starts_with("as-groups holds"));
    CPPUNIT_ASSERT(check_impersonation({"a", "", {}, {{"k", {"\n"}}}}).message().starts_with("as-user-extra.k holds"));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(RequestHeadersTest);

}  // namespace request_headers_test
}  // namespace sluice::kube
