// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/access/exec_plugin.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <filesystem>
#include <thread>
#include <vector>

#include "core/kube/access/certificates.hpp"
#include "lib/rfc3339.hpp"
#include "test/unit/kube/noted_observer.hpp"
#include "test/unit/kube/pem.hpp"
#include "test/unit/sync/fake_clock.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::kube {
namespace exec_plugin_test {

using namespace std::chrono_literals;

constexpr const char* kV1 = "client.authentication.k8s.io/v1";

class ExecPluginTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ExecPluginTest);
  CPPUNIT_TEST(a_credential_without_expiry_is_cached);
  CPPUNIT_TEST(a_credential_is_renewed_shortly_before_it_expires);
  CPPUNIT_TEST(a_rejected_credential_is_renewed_once);
  CPPUNIT_TEST(concurrent_callers_share_the_result_of_one_run);
  CPPUNIT_TEST(the_program_gets_arguments_and_environment);
  CPPUNIT_TEST(failures_contain_standard_error_but_never_standard_output);
  CPPUNIT_TEST(the_error_for_a_missing_program_has_the_install_hint);
  CPPUNIT_TEST(calls_are_reported_with_their_exit_status);
  CPPUNIT_TEST(certificates_are_reported_until_destruction);
  CPPUNIT_TEST_SUITE_END();

 public:
  void setUp() override {
    config_.exec.emplace();
    config_.exec->api_version = kV1;
    config_.exec->command = folder_.path("program");
    config_.exec->origin = "users[u].user.exec in config";
  }

 private:
  // Each token ends with the number of runs.
  void program(const std::string& script) {
    folder_.write("program", "#!/bin/sh\ncd \"$(dirname \"$0\")\"\necho run >>runs\nn=$(wc -l <runs)\n" + script);
    std::filesystem::permissions(folder_.path("program"), std::filesystem::perms::owner_all);
  }
  static std::string answer(const std::string& more = "") {
    return std::string("echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"") + kV1 +
           "\",\"status\":{\"token\":\"t'$n'\"" + more + "}}'\n";
  }
  ExecPlugin plugin() {
    return {config_, clock_, [this] { return now_; }, &noted_};
  }
  long runs() const {
    const std::string text = folder_.read("runs");
    return std::count(text.begin(), text.end(), '\n');
  }

  void a_credential_without_expiry_is_cached() {
    program(answer());
    auto plugin = this->plugin();
    for (int i = 0; i < 3; ++i) {
      const auto got = plugin.credential("", {});
      CPPUNIT_ASSERT_MESSAGE(got.status().message(), got.ok());
      CPPUNIT_ASSERT_EQUAL(std::string("t1"), got->token);
      now_ += 24h;
    }
    CPPUNIT_ASSERT_EQUAL(1L, runs());
  }

  void a_credential_is_renewed_shortly_before_it_expires() {
    program(answer(",\"expirationTimestamp\":\"" + lib::rfc3339(now_ + 1h, lib::Fraction::nanoseconds_or_none) + "\""));
    auto plugin = this->plugin();
    CPPUNIT_ASSERT_EQUAL(std::string("t1"), plugin.credential("", {})->token);
    now_ += 1h - 11s;
    CPPUNIT_ASSERT_EQUAL(std::string("t1"), plugin.credential("", {})->token);
    now_ += 1s;
    CPPUNIT_ASSERT_EQUAL(std::string("t2"), plugin.credential("", {})->token);
  }

  void a_rejected_credential_is_renewed_once() {
    program(answer());
    auto plugin = this->plugin();
    CPPUNIT_ASSERT_EQUAL(std::string("t1"), plugin.credential("", {})->token);
    // Three requests were in progress with the same token.
    for (int i = 0; i < 3; ++i) {
      plugin.refused("t1", "");
      CPPUNIT_ASSERT_EQUAL(std::string("t2"), plugin.credential("", {})->token);
    }
    CPPUNIT_ASSERT_EQUAL(2L, runs());
  }

  void concurrent_callers_share_the_result_of_one_run() {
    program("echo no >&2; exit 1\n");
    auto plugin = this->plugin();
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) threads.emplace_back([&] { CPPUNIT_ASSERT(!plugin.credential("", {}).ok()); });
    for (auto& thread : threads) thread.join();
    CPPUNIT_ASSERT_EQUAL(1L, runs());
    clock_.advance(1s);
    CPPUNIT_ASSERT(!plugin.credential("", {}).ok());
    CPPUNIT_ASSERT_EQUAL(2L, runs());
  }

  void the_program_gets_arguments_and_environment() {
    program("printf '%s|' \"$@\" \"$GIVEN\" \"${PATH:+path}\" \"$KUBERNETES_EXEC_INFO\" >seen\n" + answer());
    config_.exec->args = {"a b", ""};
    config_.exec->env = {{"GIVEN", "1"}, {"GIVEN", "2"}};
    CPPUNIT_ASSERT(plugin().credential("", {}).ok());
    CPPUNIT_ASSERT_EQUAL("a b||2|path|" + exec_info(config_, "") + "|", folder_.read("seen"));
  }

  void failures_contain_standard_error_but_never_standard_output() {
    const auto why = [&](const std::string& script) {
      program(script);
      return plugin().credential("", {}).status().message();
    };
    const std::string begin = "users[u].user.exec in config: the credential program " + folder_.path("program");
    CPPUNIT_ASSERT_EQUAL(begin + " failed with exit status 3; standard error: \"cannot log in\"",
                         why("echo S3CR3T; echo cannot >&2; echo 'log in' >&2; exit 3\n"));
    CPPUNIT_ASSERT_EQUAL(begin + " returned an invalid ExecCredential: it is not JSON", why("echo S3CR3T\n"));
    CPPUNIT_ASSERT_EQUAL(begin + " was killed by signal 9", why("kill -9 $$\n"));
  }

  void the_error_for_a_missing_program_has_the_install_hint() {
    config_.exec->command = "no-such-program";
    config_.exec->install_hint = "see https://example.org\n";
    CPPUNIT_ASSERT_EQUAL(std::string("users[u].user.exec in config: the credential program no-such-program is not "
                                     "there, or not executable; how to install it: see https://example.org"),
                         plugin().credential("", {}).status().message());
  }

  void calls_are_reported_with_their_exit_status() {
    const auto calls = [&](const std::string& script) {
      program(script);
      noted_.take();
      static_cast<void>(plugin().credential("", {}));
      return noted_.take();
    };
    const std::string end = "no certificate\n";
    CPPUNIT_ASSERT_EQUAL("no_error 0\n" + end + end, calls(answer()));
    CPPUNIT_ASSERT_EQUAL("plugin_execution_error 3\n" + end, calls("exit 3\n"));
    CPPUNIT_ASSERT_EQUAL("plugin_execution_error -1\n" + end, calls("kill -9 $$\n"));
    // The program succeeded, although its output is invalid.
    CPPUNIT_ASSERT_EQUAL("no_error 0\n" + end, calls("echo nonsense\n"));
    // Killed because it writes too much.
    CPPUNIT_ASSERT_EQUAL("plugin_execution_error -1\n" + end, calls("head -c 2000000 /dev/zero\n"));
    folder_.write("program", "no program\n");
    std::filesystem::permissions(folder_.path("program"), std::filesystem::perms::owner_all);
    static_cast<void>(plugin().credential("", {}));
    CPPUNIT_ASSERT_EQUAL("plugin_not_found_error 1\n" + end, noted_.take());
    config_.exec->command = "no-such-program";
    static_cast<void>(plugin().credential("", {}));
    CPPUNIT_ASSERT_EQUAL("plugin_not_found_error 1\n" + end, noted_.take());
  }

  void certificates_are_reported_until_destruction() {
    const auto hand_out = [&](const test::Pem& pem) {
      const auto in_json = [](std::string text) {
        for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 3) text.replace(at, 1, "\\\\n");
        return text;
      };
      program(answer(",\"clientCertificateData\":\"" + in_json(pem.certificate) + "\",\"clientKeyData\":\"" +
                     in_json(pem.key) + "\""));
    };
    const auto expires = [](const test::Pem& pem) {
      const auto at = certificate_facts(pem.certificate)->not_after.time_since_epoch();
      return "expires " + std::to_string(std::chrono::duration_cast<std::chrono::seconds>(at).count()) + "\n";
    };
    const auto one = test::make_pem("one");
    const auto two = test::make_pem("two");
    now_ = certificate_facts(one.certificate)->not_before + 30min;
    {
      auto plugin = this->plugin();
      hand_out(one);
      const auto first = plugin.credential("", {});
      CPPUNIT_ASSERT_MESSAGE(first.status().message(), first.ok());
      CPPUNIT_ASSERT_EQUAL("no_error 0\n" + expires(one), noted_.take());
      plugin.refused("", one.certificate);
      CPPUNIT_ASSERT(plugin.credential("", {}).ok());  // the same certificate again is not a rotation
      CPPUNIT_ASSERT_EQUAL("no_error 0\n" + expires(one), noted_.take());
      plugin.refused("", one.certificate);
      hand_out(two);
      CPPUNIT_ASSERT(plugin.credential("", {}).ok());
      CPPUNIT_ASSERT_EQUAL("no_error 0\nrotated after 1800\n" + expires(two), noted_.take());
    }
    CPPUNIT_ASSERT_EQUAL(std::string("no certificate\n"), noted_.take());
  }

  test::NotedObserver noted_;
  test::TemporaryFolder folder_;
  test::FakeClock clock_;
  std::chrono::system_clock::time_point now_ = *lib::parse_rfc3339("2026-11-21T00:00:00Z");
  ConnectionConfig config_;
};

CPPUNIT_TEST_SUITE_REGISTRATION(ExecPluginTest);

}  // namespace exec_plugin_test
}  // namespace sluice::kube
