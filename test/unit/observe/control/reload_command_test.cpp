// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// `sluicectl reload` against a real control socket and a reloader without a daemon.
#include "core/observe/control/reload_command.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <future>
#include <memory>

#include "test/unit/observe/socket_peer.hpp"
#include "test/unit/patience.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::observe {
namespace reload_command_test {

using nlohmann::json;

class ReloadCommandTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ReloadCommandTest);
  CPPUNIT_TEST(the_result_is_the_answer);
  CPPUNIT_TEST(after_the_timeout_the_reload_is_reported_as_running);
  CPPUNIT_TEST(invalid_timeouts_are_rejected);
  CPPUNIT_TEST_SUITE_END();

  const lib::SteadyClock clock_{};
  std::unique_ptr<test::TemporaryFolder> folder_;
  config::SettingsCell settings_{config::Settings()};
  std::function<void(config::Settings&, config::Problems&)> found_;
  std::unique_ptr<reload::Reloader> reloader_;
  std::unique_ptr<ControlServer> server_;

 public:
  void setUp() override {
    folder_ = std::make_unique<test::TemporaryFolder>();
    settings_.set(std::make_shared<const config::Settings>());
    found_ = [](config::Settings&, config::Problems&) {};
    reloader_ = std::make_unique<reload::Reloader>(
        settings_,
        [this](const config::Settings& running, config::Problems& problems) {
          config::Settings out = running;
          found_(out, problems);
          return out;
        },
        reload::ReloadHooks(), clock_);
    server_ = std::make_unique<ControlServer>(folder_->path("control.sock"));
    server_->on_slow("reload", reload_command(*reloader_));
    CPPUNIT_ASSERT(server_->start().ok());
    reloader_->start();
  }
  void tearDown() override {
    server_.reset();
    reloader_.reset();
    folder_.reset();
  }

 private:
  json ask(const json& question) {
    test::SocketPeer peer(folder_->path("control.sock"));
    peer.send(question.dump() + "\n");
    return json::parse(peer.line());
  }

 public:
  void the_result_is_the_answer() {
    json answer = ask({{"command", "reload"}});
    CPPUNIT_ASSERT_EQUAL_MESSAGE(answer.dump(), std::string("unchanged"),
                                 answer["result"]["result"].get<std::string>());
    CPPUNIT_ASSERT_EQUAL(std::string("sluicectl reload"), answer["result"]["trigger"].get<std::string>());
    found_ = [](config::Settings&, config::Problems& problems) { problems.error("file:1", "is wrong"); };
    answer = ask({{"command", "reload"}, {"timeout_seconds", 60}});
    CPPUNIT_ASSERT_EQUAL(std::string("failed"), answer["result"]["result"].get<std::string>());
    CPPUNIT_ASSERT_EQUAL(std::string("file:1: is wrong"), answer["result"]["sentences"][0].get<std::string>());
    found_ = [](config::Settings& settings, config::Problems&) { settings.kube_proxy_configuration += "x"; };
    answer = ask({{"command", "reload"}});
    CPPUNIT_ASSERT_EQUAL(std::string("success"), answer["result"]["result"].get<std::string>());
  }

  void after_the_timeout_the_reload_is_reported_as_running() {
    std::promise<void> go_on;
    const auto gone_on = go_on.get_future().share();
    found_ = [gone_on](config::Settings&, config::Problems&) { gone_on.wait(); };
    // The reload begins before the timeout, also on a busy machine.
    const auto timeout = std::chrono::ceil<std::chrono::seconds>(
        test::stretched_at_most(std::chrono::seconds(2), std::chrono::seconds(10)));
    const json answer = ask({{"command", "reload"}, {"timeout_seconds", timeout.count()}});
    go_on.set_value();
    CPPUNIT_ASSERT_EQUAL_MESSAGE(answer.dump(), std::string("running"), answer["result"]["result"].get<std::string>());
    CPPUNIT_ASSERT_EQUAL(std::string("reading the configuration"),
                         answer["result"]["in_progress"]["doing"].get<std::string>());
  }

  void invalid_timeouts_are_rejected() {
    for (const json& odd : {json(0), json(-1), json(1.5), json("10m"), json(100000), json(nullptr)}) {
      const json answer = ask({{"command", "reload"}, {"timeout_seconds", odd}});
      CPPUNIT_ASSERT_EQUAL(std::string("reload failed: timeout_seconds must be an integer from 1 to 86400"),
                           answer["error"].get<std::string>());
    }
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, reloader_->status().count);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ReloadCommandTest);

}  // namespace reload_command_test
}  // namespace sluice::observe
