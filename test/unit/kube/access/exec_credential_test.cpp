// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/access/exec_credential.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "core/kube/decode/json_text.hpp"
#include "test/unit/kube/pem.hpp"

namespace sluice::kube {
namespace exec_credential_test {

constexpr const char* kV1 = "client.authentication.k8s.io/v1";

class ExecCredentialTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ExecCredentialTest);
  CPPUNIT_TEST(exec_info_has_the_version_and_is_not_interactive);
  CPPUNIT_TEST(exec_info_has_the_cluster_if_configured);
  CPPUNIT_TEST(a_token_with_expiry_is_read);
  CPPUNIT_TEST(a_certificate_is_read);
  CPPUNIT_TEST(errors_about_invalid_output_contain_no_secrets);
  CPPUNIT_TEST_SUITE_END();

  static ConnectionConfig config() {
    ConnectionConfig out;
    out.server = *parse_server_url("https://[fd00::1]:6443/base");
    out.exec.emplace();
    out.exec->api_version = kV1;
    return out;
  }
  static lib::Result<ExecCredential> parse(const std::string& status) {
    return parse_exec_credential(
        std::string(R"({"apiVersion":")") + kV1 + R"(","kind":"ExecCredential","status":)" + status + "}", kV1);
  }

  void exec_info_has_the_version_and_is_not_interactive() {
    CPPUNIT_ASSERT_EQUAL(std::string(R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",)"
                                     R"("spec":{"interactive":false}})"),
                         exec_info(config(), "CA"));
  }

  void exec_info_has_the_cluster_if_configured() {
    auto wanted = config();
    wanted.exec->provide_cluster_info = true;
    wanted.exec->cluster_config = R"({"audience":"x"})";
    wanted.tls_server_name = "api";
    wanted.proxy = *parse_proxy_url("http://u:S3CR3T@p:3128", "");
    CPPUNIT_ASSERT_EQUAL(
        std::string(R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{"cluster":)"
                    R"({"server":"https://[fd00::1]:6443/base","tls-server-name":"api",)"
                    R"("certificate-authority-data":"Q0E=","proxy-url":"http://p:3128","config":{"audience":"x"}},)"
                    R"("interactive":false}})"),
        exec_info(wanted, "CA"));
  }

  void a_token_with_expiry_is_read() {
    const auto got = parse(R"({"token":"t","expirationTimestamp":"2026-11-21T00:00:00Z"})");
    CPPUNIT_ASSERT_MESSAGE(got.status().message(), got.ok());
    CPPUNIT_ASSERT_EQUAL(std::string("t"), got->token);
    CPPUNIT_ASSERT(got->expires.has_value());
    CPPUNIT_ASSERT(!parse(R"({"token":"t","expirationTimestamp":null})")->expires.has_value());
  }

  void a_certificate_is_read() {
    const auto pem = test::make_pem();
    std::string certificate;
    std::string key;
    append_json_string(certificate, pem.certificate);
    append_json_string(key, pem.key);
    const auto got = parse(R"({"clientCertificateData":)" + certificate + R"(,"clientKeyData":)" + key + "}");
    CPPUNIT_ASSERT_MESSAGE(got.status().message(), got.ok());
    CPPUNIT_ASSERT_EQUAL(pem.certificate, got->certificate_pem);
    std::string other;
    append_json_string(other, test::make_pem().key);
    CPPUNIT_ASSERT_EQUAL(
        std::string("status.clientKeyData: the key does not belong to the certificate "
                    "status.clientCertificateData"),
        parse(R"({"clientCertificateData":)" + certificate + R"(,"clientKeyData":)" + other + "}").status().message());
  }

  void errors_about_invalid_output_contain_no_secrets() {
    const auto why = [](const std::string& json) { return parse_exec_credential(json, kV1).status().message(); };
    CPPUNIT_ASSERT_EQUAL(std::string("it is not JSON"), why("S3CR3T"));
    CPPUNIT_ASSERT_EQUAL(std::string("its kind is \"\""), why("{}"));
    CPPUNIT_ASSERT_EQUAL(std::string("its apiVersion is \"v2\", but the kubeconfig says ") + kV1,
                         why(R"({"kind":"ExecCredential","apiVersion":"v2"})"));
    for (const char* status :
         {"null", "{}", R"({"token":""})", R"({"clientKeyData":"S3CR3T"})", R"({"token":"S3CR3T\nX: y"})",
          R"({"token":"S3CR3T","expirationTimestamp":"S3CR3T"})", R"({"token":{"S3CR3T":1}})",
          R"({"clientCertificateData":"S3CR3T","clientKeyData":"S3CR3T"})"}) {
      const auto got = parse(status);
      CPPUNIT_ASSERT_MESSAGE(status, !got.ok());
      CPPUNIT_ASSERT_MESSAGE(got.status().message(), got.status().message().find("S3CR3T") == std::string::npos);
    }
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ExecCredentialTest);

}  // namespace exec_credential_test
}  // namespace sluice::kube
