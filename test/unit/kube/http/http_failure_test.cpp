// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/http/http_failure.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <openssl/x509_vfy.h>

#include <cerrno>

#include "lib/rfc3339.hpp"
#include "test/unit/kube/pem.hpp"
#include "test/unit/sync/fake_clock.hpp"

namespace sluice::kube {
namespace http_failure_test {

constexpr int kVerifyFailed = 0x0A000086;
constexpr int kAlertExpired = 0x0A000415;
constexpr int kAlertRequired = 0x0A00045C;

class HttpFailureTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(HttpFailureTest);
  CPPUNIT_TEST(a_rejected_server_certificate_is_explained);
  CPPUNIT_TEST(expired_certificates_are_named_with_subject_and_expiry);
  CPPUNIT_TEST(a_rejected_client_certificate_is_named_with_its_expiry);
  CPPUNIT_TEST(a_closed_connection_hints_at_an_expired_client_certificate);
  CPPUNIT_TEST(errors_of_a_proxy_name_the_proxy);
  CPPUNIT_TEST(network_failures_are_explained);
  CPPUNIT_TEST(repeated_refusals_are_explained_without_further_connects);
  CPPUNIT_TEST_SUITE_END();

 public:
  void setUp() override {
    config_.server = *parse_server_url("https://10.0.0.1:6443");
    config_.ca.file = config_.ca.origin = "/etc/ca.crt";
  }

 private:
  lib::Status explain(int code, const std::string& words = "", bool answered = false) {
    route_.server = config_.server;
    route_.proxy = config_.proxy;
    return explain_failure({code, words, std::chrono::seconds(40)}, {config_, route_, material_, report_, connect_reason_, answered},
                           std::chrono::system_clock::now());
  }
  std::string sentence(int code, const std::string& words = "") { return explain(code, words).message(); }

  void a_rejected_server_certificate_is_explained() {
    const std::string begin = "no TLS connection with the API server https://10.0.0.1:6443: ";
    report_.set(X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, 0, "CN=api", {}, {});
    CPPUNIT_ASSERT_EQUAL(
        begin + "the server certificate is not signed by the CA of /etc/ca.crt; use the CA of this cluster",
        sentence(kVerifyFailed));
    CPPUNIT_ASSERT(explain(kVerifyFailed).code() == lib::StatusCode::denied);
    // The HTTP library compares the host name, and sets no error code.
    report_.set(X509_V_OK, 0, "CN=api", {}, {});
    config_.tls_server_name = "api.example";
    CPPUNIT_ASSERT(sentence(kVerifyFailed).find("is not made out to api.example") != std::string::npos);
    report_.clear();
    CPPUNIT_ASSERT_EQUAL(begin + "certificate verify failed", sentence(kVerifyFailed));
  }

  void expired_certificates_are_named_with_subject_and_expiry() {
    const auto end = *lib::parse_rfc3339("2026-01-02T03:04:05Z");
    report_.set(X509_V_ERR_CERT_HAS_EXPIRED, 0, "CN=api", {}, end);
    CPPUNIT_ASSERT(
        sentence(kVerifyFailed)
            .find("the certificate of the server (subject CN=api) has expired at 2026-01-02T03:04:05Z; renew it") !=
        std::string::npos);
    report_.set(X509_V_ERR_CERT_HAS_EXPIRED, 1, "CN=root", {}, end);
    CPPUNIT_ASSERT(sentence(kVerifyFailed).find("the CA certificate CN=root above the server's has expired at") !=
                   std::string::npos);
    report_.set(X509_V_ERR_CERT_NOT_YET_VALID, 0, "CN=api", end, {});
    CPPUNIT_ASSERT(
        sentence(kVerifyFailed).find("is not valid before 2026-01-02T03:04:05Z; correct this node's clock") !=
        std::string::npos);
  }

  void a_rejected_client_certificate_is_named_with_its_expiry() {
    CPPUNIT_ASSERT(sentence(kAlertRequired).find("it wants a client certificate") != std::string::npos);
    material_.certificate_pem = test::make_pem("old", std::chrono::seconds(-60)).certificate;
    material_.certificate_origin = "/etc/c.crt";
    const std::string said = sentence(kAlertExpired);
    CPPUNIT_ASSERT_MESSAGE(
        said,
        said.find("it rejects the client certificate /etc/c.crt (subject CN=old, expired at 20") != std::string::npos);
  }

  void a_closed_connection_hints_at_an_expired_client_certificate() {
    CPPUNIT_ASSERT_EQUAL(std::string("the API server https://10.0.0.1:6443 has closed the connection"), sentence(2));
    material_.certificate_pem = test::make_pem("old", std::chrono::seconds(-60)).certificate;
    material_.certificate_origin = "/etc/c.crt";
    for (const int code : {2, ECONNRESET}) {
      CPPUNIT_ASSERT(sentence(code).find("; it may be for the client certificate /etc/c.crt (subject CN=old") !=
                     std::string::npos);
      CPPUNIT_ASSERT(explain(code, "", true).message().find("client certificate") == std::string::npos);
    }
  }

  void errors_of_a_proxy_name_the_proxy() {
    config_.proxy = *parse_proxy_url("http://me:S3CR3T@10.0.0.9:3128", "proxy-url");
    const auto refused = explain(0, "Expected a 200 response from proxy, received: 407");
    CPPUNIT_ASSERT_EQUAL(
        std::string("the proxy http://10.0.0.9:3128 of proxy-url answers 407 when asked for the API server "
                    "https://10.0.0.1:6443; give it a user name and password as "
                    "http://user:password@host:port"),
        refused.message());
    CPPUNIT_ASSERT(refused.code() == lib::StatusCode::denied);
    CPPUNIT_ASSERT_EQUAL(std::string("the proxy http://10.0.0.9:3128 of proxy-url sent a broken HTTP answer"),
                         sentence(0, "Invalid HTTP status line during proxy connection"));
  }

  void network_failures_are_explained() {
    CPPUNIT_ASSERT_EQUAL(std::string("the API server https://10.0.0.1:6443 has sent nothing for 40 seconds"),
                         sentence(ETIMEDOUT));
    CPPUNIT_ASSERT_EQUAL(ETIMEDOUT, explain(ETIMEDOUT).os_errno());
    CPPUNIT_ASSERT_EQUAL(std::string("the API server https://10.0.0.1:6443 sent a broken HTTP answer (odd chunk)"),
                         sentence(0, "odd chunk"));
    CPPUNIT_ASSERT_EQUAL(
        std::string("the connection with the API server https://10.0.0.1:6443 failed: Connection reset by peer"),
        sentence(ECONNRESET));
    CPPUNIT_ASSERT_EQUAL(std::string("cannot reach the API server https://10.0.0.1:6443: it says why"),
                         sentence(-1, "it says why"));
  }

  // Each connect is an attempt for the server.
  void repeated_refusals_are_explained_without_further_connects() {
    for (int attempt = 0; attempt < 4; ++attempt) {
      CPPUNIT_ASSERT_EQUAL(std::string("cannot reach the API server https://10.0.0.1:6443: connect to 10.0.0.1:6443: "
                                       "Connection refused"),
                           sentence(EHOSTUNREACH));
    }
    CPPUNIT_ASSERT_EQUAL(1, connects_);
  }

  ConnectionConfig config_;
  HttpRoute route_;
  TlsMaterial material_;
  VerifyReport report_;
  test::FakeClock clock_;
  int connects_ = 0;
  ConnectReason connect_reason_{clock_, [this](const lib::IpAddress&, std::uint16_t) {
                                  ++connects_;
                                  return lib::errno_status("connect to 10.0.0.1:6443", ECONNREFUSED);
                                }};
};

CPPUNIT_TEST_SUITE_REGISTRATION(HttpFailureTest);

}  // namespace http_failure_test
}  // namespace sluice::kube
