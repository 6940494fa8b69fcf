// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/access/proxy.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <map>

namespace sluice::kube {
namespace proxy_test {

class ProxyTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ProxyTest);
  CPPUNIT_TEST(urls_are_parsed);
  CPPUNIT_TEST(errors_about_invalid_urls_contain_no_password);
  CPPUNIT_TEST(the_scheme_of_the_server_selects_the_variable);
  CPPUNIT_TEST(upper_case_takes_precedence_and_the_scheme_is_optional);
  CPPUNIT_TEST(loopback_never_uses_a_proxy);
  CPPUNIT_TEST(no_proxy_names_exceptions);
  CPPUNIT_TEST(an_invalid_proxy_is_an_error_only_if_it_applies);
  CPPUNIT_TEST_SUITE_END();

  std::string chosen(const std::string& server, std::map<std::string, std::string> variables) {
    const auto proxy =
        proxy_from_environment(*parse_server_url(server), [&](const std::string& name) { return variables[name]; });
    if (!proxy) return proxy.status().message();
    return *proxy ? (*proxy)->to_string() : "direct";
  }

  void urls_are_parsed() {
    const auto full = parse_proxy_url("HTTP://me%40x:p%3A%2fw@[fd00::1]:3128/", "here");
    CPPUNIT_ASSERT_MESSAGE(full.status().message(), full.ok());
    CPPUNIT_ASSERT_EQUAL(std::string("http://[fd00::1]:3128"), full->to_string());
    CPPUNIT_ASSERT_EQUAL(std::string("me@x"), full->username);
    CPPUNIT_ASSERT_EQUAL(std::string("p:/w"), full->password);
    CPPUNIT_ASSERT_EQUAL(std::string("http://p.example:80"), parse_proxy_url("http://p.example", "here")->to_string());
  }

  void errors_about_invalid_urls_contain_no_password() {
    for (const char* url : {"", "p:3128", "ftp://p", "http://", "http://u:S3CR3T%zz@p", "http://u:S3CR3T@p:0",
                            "socks5://u:S3CR3T@p", "https://u:S3CR3T@p", "http://u:S3CR3T@[::1"}) {
      const auto got = parse_proxy_url(url, "field proxy-url");
      CPPUNIT_ASSERT_MESSAGE(url, !got.ok());
      const std::string sentence = got.status().message();
      CPPUNIT_ASSERT_MESSAGE(sentence, sentence.starts_with("field proxy-url: "));
      CPPUNIT_ASSERT_MESSAGE(sentence, sentence.find("S3CR3T") == std::string::npos);
    }
  }

  void the_scheme_of_the_server_selects_the_variable() {
    const std::map<std::string, std::string> both{{"HTTPS_PROXY", "http://s:1"}, {"HTTP_PROXY", "http://p:2"}};
    CPPUNIT_ASSERT_EQUAL(std::string("http://s:1"), chosen("https://a", both));
    CPPUNIT_ASSERT_EQUAL(std::string("http://p:2"), chosen("http://a", both));
    CPPUNIT_ASSERT_EQUAL(std::string("direct"), chosen("https://a", {{"HTTP_PROXY", "http://p:2"}}));
  }

  void upper_case_takes_precedence_and_the_scheme_is_optional() {
    CPPUNIT_ASSERT_EQUAL(std::string("http://low:1"), chosen("https://a", {{"https_proxy", "low:1"}}));
    CPPUNIT_ASSERT_EQUAL(std::string("http://up:80"),
                         chosen("https://a", {{"https_proxy", "low:1"}, {"HTTPS_PROXY", "up"}}));
    CPPUNIT_ASSERT_EQUAL(std::string("direct"), chosen("https://a", {{"https_proxy", "low:1"}, {"no_proxy", "a"}}));
  }

  void loopback_never_uses_a_proxy() {
    for (const char* server : {"https://localhost:6443", "https://127.0.0.1", "https://127.9.9.9", "https://[::1]"}) {
      CPPUNIT_ASSERT_EQUAL(std::string("direct"), chosen(server, {{"HTTPS_PROXY", "http://p"}}));
    }
  }

  void no_proxy_names_exceptions() {
    const auto direct = [&](const std::string& server, const std::string& no_proxy) {
      return chosen(server, {{"HTTPS_PROXY", "http://p"}, {"NO_PROXY", no_proxy}}) == "direct";
    };
    CPPUNIT_ASSERT(direct("https://api.example", "*"));
    CPPUNIT_ASSERT(direct("https://api.example", "other, EXAMPLE ,x"));
    CPPUNIT_ASSERT(direct("https://API.example", "api.example"));
    CPPUNIT_ASSERT(!direct("https://api.example", "pi.example"));
    CPPUNIT_ASSERT(direct("https://api.example", ".example"));
    CPPUNIT_ASSERT(!direct("https://example", ".example"));
    CPPUNIT_ASSERT(direct("https://api.example", "*.example"));
    CPPUNIT_ASSERT(direct("https://api.example:6443", "api.example:6443"));
    CPPUNIT_ASSERT(!direct("https://api.example:6443", "api.example:443"));
    CPPUNIT_ASSERT(direct("https://api.example", "api.example:443"));
    CPPUNIT_ASSERT(direct("https://10.1.2.3", "10.1.0.0/16"));
    CPPUNIT_ASSERT(!direct("https://10.2.2.3", "10.1.0.0/16"));
    CPPUNIT_ASSERT(!direct("https://api.example", "0.0.0.0/0"));
    CPPUNIT_ASSERT(direct("https://10.1.2.3:6443", "10.1.2.3"));
    CPPUNIT_ASSERT(!direct("https://10.1.2.3:6443", "10.1.2.3:443"));
    CPPUNIT_ASSERT(!direct("https://10.1.2.3", "0.1.2.3"));
    CPPUNIT_ASSERT(direct("https://[fd00::1]:6443", "fd00::/8"));
    CPPUNIT_ASSERT(direct("https://[fd00::1]:6443", "[fd00:0::1]:6443"));
    CPPUNIT_ASSERT(direct("https://[fd00::1]:6443", "fd00::1"));
    CPPUNIT_ASSERT(!direct("https://a", ",:443,"));
  }

  void an_invalid_proxy_is_an_error_only_if_it_applies() {
    const std::map<std::string, std::string> socks{{"HTTPS_PROXY", "socks5://p"}, {"NO_PROXY", "a"}};
    CPPUNIT_ASSERT_EQUAL(std::string("direct"), chosen("https://a", socks));
    CPPUNIT_ASSERT_EQUAL(
        std::string("the environment variable HTTPS_PROXY: proxies of scheme socks5 are not supported, "
                    "only http is; name an HTTP proxy"),
        chosen("https://b", socks));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ProxyTest);

}  // namespace proxy_test
}  // namespace sluice::kube
