// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/access/credentials.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "core/kube/access/base64.hpp"
#include "core/kube/http/tls_context.hpp"
#include "core/kube/http/transport.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::kube {
namespace credentials_test {

class CredentialsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(CredentialsTest);
  CPPUNIT_TEST(server_urls_are_parsed);
  CPPUNIT_TEST(invalid_server_urls_are_rejected);
  CPPUNIT_TEST(a_rejected_token_file_is_read_again_at_once);
  CPPUNIT_TEST(configured_credentials_take_precedence_over_a_program);
  CPPUNIT_TEST(a_check_does_not_run_the_program);
  CPPUNIT_TEST(tokens_cannot_inject_headers);
  CPPUNIT_TEST(credentials_are_not_sent_over_plain_http);
  CPPUNIT_TEST(base64_is_encoded_and_decoded);
  CPPUNIT_TEST(queries_are_encoded);
  CPPUNIT_TEST(tls_error_codes_have_a_text);
  CPPUNIT_TEST_SUITE_END();

  void server_urls_are_parsed() {
    const auto shown = [](const std::string& text) {
      const auto url = parse_server_url(text);
      return url.ok() ? url->to_string() : url.status().message();
    };
    CPPUNIT_ASSERT_EQUAL(std::string("https://a.example:443"), shown("https://a.example"));
    CPPUNIT_ASSERT_EQUAL(std::string("http://a:80"), shown("http://a/"));
    CPPUNIT_ASSERT_EQUAL(std::string("http://10.0.0.1:8080"), shown("10.0.0.1:8080"));
    CPPUNIT_ASSERT_EQUAL(std::string("https://[fd00::1]:6443/k8s/clusters/c-1"),
                         shown("https://[fd00::1]:6443/k8s/clusters/c-1/"));
    CPPUNIT_ASSERT_EQUAL(std::string("https://[::1]:443"), shown("https://[::1]"));
  }

  void invalid_server_urls_are_rejected() {
    for (const char* text :
         {"", "https://", "https:///path", "unix:///run/x", "https://a:0", "https://a:65536", "https://a:x",
          "https://a:", "https://fd00::1:6443", "https://[fd00::1", "https://[::1]x", "https://[::1]:", "https://a b",
          "https://[fe80::1%eth0]", "https://a?x=1", "https://a#b", "https://u:p@a", "https://a\n"}) {
      CPPUNIT_ASSERT_MESSAGE(text, !parse_server_url(text).ok());
    }
  }

  void a_rejected_token_file_is_read_again_at_once() {
    test::TemporaryFolder folder;
    ConnectionConfig config;
    config.token.file = folder.write("token", "one\n");
    Credentials credentials(config);
    const auto used = credentials.load();
    CPPUNIT_ASSERT_EQUAL(std::string("Bearer one"), used->authorization);
    folder.write("token", "two");
    CPPUNIT_ASSERT_EQUAL(std::string("Bearer one"), credentials.load()->authorization);
    CPPUNIT_ASSERT(credentials.renewable());
    credentials.refused(*used);
    CPPUNIT_ASSERT_EQUAL(std::string("Bearer two"), credentials.load()->authorization);
    ConnectionConfig inline_token;
    inline_token.token.inline_content = "t";
    CPPUNIT_ASSERT(!Credentials(inline_token).renewable());
  }

  // The output of the program with these credentials.
  static ExecConfig program(const test::TemporaryFolder& folder, const std::string& status) {
    ExecConfig out;
    out.api_version = "client.authentication.k8s.io/v1";
    out.command = folder.write("program",
                               "#!/bin/sh\necho run >>\"$(dirname \"$0\")/runs\"\ncat <<'END'\n{\"kind\":"
                               "\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\","
                               "\"status\":" +
                                   status + "}\nEND\n");
    std::filesystem::permissions(out.command, std::filesystem::perms::owner_all);
    return out;
  }

  void configured_credentials_take_precedence_over_a_program() {
    test::TemporaryFolder folder;
    ConnectionConfig config;
    config.exec = program(folder, R"({"token":"from-program"})");
    CPPUNIT_ASSERT_EQUAL(std::string("Bearer from-program"), Credentials(config).load()->authorization);
    config.token.inline_content = "given";
    CPPUNIT_ASSERT_EQUAL(std::string("Bearer given"), Credentials(config).load()->authorization);
    config.token = {};
    config.username = "me";
    CPPUNIT_ASSERT_EQUAL("Basic " + base64_encode("me:"), Credentials(config).load()->authorization);
  }

  void a_check_does_not_run_the_program() {
    test::TemporaryFolder folder;
    ConnectionConfig config;
    config.exec = program(folder, R"({"token":"t"})");
    CPPUNIT_ASSERT(Credentials(config).check().ok());
    CPPUNIT_ASSERT_EQUAL(std::string(), folder.read("runs"));
    CPPUNIT_ASSERT(Credentials(config).load().ok());
    CPPUNIT_ASSERT_EQUAL(std::string("run\n"), folder.read("runs"));
    config.exec->command = folder.path("none");
    CPPUNIT_ASSERT(!Credentials(config).check().ok());
  }

  void tokens_cannot_inject_headers() {
    ConnectionConfig config;
    config.token.inline_content = "a\r\nX-Remote-User: admin";
    CPPUNIT_ASSERT(!Credentials(config).load().ok());
  }

  void credentials_are_not_sent_over_plain_http() {
    ConnectionConfig config;
    config.server.tls = false;
    config.token.inline_content = "t";
    config.username = "u";
    CPPUNIT_ASSERT(*Credentials(config).load() == ConnectionSecrets{});
  }

  void base64_is_encoded_and_decoded() {
    CPPUNIT_ASSERT_EQUAL(std::string("Zm9vYg=="), base64_encode("foob"));
    for (std::size_t size = 0; size < 40; ++size) {
      std::string bytes;
      for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(i * 37 + size);
      CPPUNIT_ASSERT_EQUAL(bytes, base64_decode(base64_encode(bytes)).value());
    }
    CPPUNIT_ASSERT_EQUAL(std::string("foo"), base64_decode("Zm\n9v ").value());
    for (const char* text : {"Zm9", "Zm9v!", "Z=9v", "=", "Zm9vYg"})
      CPPUNIT_ASSERT_MESSAGE(text, !base64_decode(text).ok());
  }

  void queries_are_encoded() {
    const Request request{"/api", {{"a", "x y&b=/\xc3\xa4"}, {"b", "-._~"}}, false};
    CPPUNIT_ASSERT_EQUAL(std::string("/api?a=x%20y%26b%3D%2F%C3%A4&b=-._~"), request.target());
    CPPUNIT_ASSERT_EQUAL(std::string("/api"), (Request{"/api", {}, false}).target());
  }

  void tls_error_codes_have_a_text() {
    CPPUNIT_ASSERT_EQUAL(std::string("certificate verify failed"), tls_error_text(0x0A000086));
    CPPUNIT_ASSERT(refuses_client_certificate(0x0A000415));  // alert certificate expired
    CPPUNIT_ASSERT(!refuses_client_certificate(0x0A000086));
    for (const unsigned long code : {0ul, 1ul, 104ul, 110ul, 125ul}) CPPUNIT_ASSERT(tls_error_text(code).empty());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(CredentialsTest);

}  // namespace credentials_test
}  // namespace sluice::kube
