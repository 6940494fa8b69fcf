// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/control/control_server.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <sys/stat.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "test/unit/observe/socket_peer.hpp"
#include "test/unit/patience.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::observe {
namespace control_server_test {

using namespace std::chrono_literals;
using nlohmann::json;
using test::SocketPeer;

const std::string kStatus = R"({"command":"status"})";
const std::string kAnswer = R"({"result":{"n":1}})";
const std::string kMalformed = R"({"error":"a request is one line such as {\"command\":\"status\"}"})";

class ControlServerTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ControlServerTest);
  CPPUNIT_TEST(a_request_is_answered_on_one_line);
  CPPUNIT_TEST(handlers_get_the_whole_request);
  CPPUNIT_TEST(a_client_may_send_many_requests);
  CPPUNIT_TEST(requests_may_come_together_or_in_parts);
  CPPUNIT_TEST(a_half_closed_client_is_still_answered);
  CPPUNIT_TEST(unknown_commands_list_the_known_ones);
  CPPUNIT_TEST(malformed_requests_are_error_answers);
  CPPUNIT_TEST(a_failing_handler_is_an_error_answer);
  CPPUNIT_TEST(answers_are_always_utf8);
  CPPUNIT_TEST(an_oversized_request_is_rejected);
  CPPUNIT_TEST(silent_clients_do_not_block_others);
  CPPUNIT_TEST(silent_clients_are_dropped);
  CPPUNIT_TEST(clients_that_do_not_read_do_not_block_others_and_are_dropped);
  CPPUNIT_TEST(a_flood_of_requests_waits_for_its_answers);
  CPPUNIT_TEST(a_long_answer_arrives_whole);
  CPPUNIT_TEST(clients_beyond_the_limit_are_rejected);
  CPPUNIT_TEST(a_disconnected_client_makes_room);
  CPPUNIT_TEST(other_users_are_rejected);
  CPPUNIT_TEST(only_the_owner_may_open_the_socket);
  CPPUNIT_TEST(the_socket_of_a_dead_daemon_is_replaced);
  CPPUNIT_TEST(a_socket_that_another_process_still_has_open_is_replaced);
  CPPUNIT_TEST(a_file_in_the_place_of_the_socket_is_kept);
  CPPUNIT_TEST(invalid_paths_are_errors);
  CPPUNIT_TEST(stopping_closes_clients_and_removes_the_socket);
  CPPUNIT_TEST(an_answer_may_come_later_from_another_thread);
  CPPUNIT_TEST(requests_after_a_slow_one_are_answered_in_order);
  CPPUNIT_TEST(an_answer_after_the_timeout_is_dropped);
  CPPUNIT_TEST(a_reply_destroyed_without_an_answer_is_an_error);
  CPPUNIT_TEST(a_disconnected_client_wants_no_answer);
  CPPUNIT_TEST(a_slow_handler_that_fails_is_an_error_answer);
  CPPUNIT_TEST(answers_after_the_end_of_the_server_are_ignored);
  CPPUNIT_TEST_SUITE_END();

  std::optional<test::TemporaryFolder> folder_;
  std::unique_ptr<ControlServer> server_;

  // Pending requests of the command "slow", which a test answers.
  std::mutex mutex_;
  std::condition_variable requested_;
  std::deque<ControlReply> replies_;  // under mutex_
  std::chrono::milliseconds timeout_ = 1h;

  ControlReply next_reply() {
    std::unique_lock lock(mutex_);
    CPPUNIT_ASSERT_MESSAGE("no request has arrived",
                           requested_.wait_for(lock, test::stretched(20s), [this] { return !replies_.empty(); }));
    ControlReply out = std::move(replies_.front());
    replies_.pop_front();
    return out;
  }

  std::string path() const { return folder_->path("control.sock"); }
  void start(ControlOptions options = {}) {
    server_ = std::make_unique<ControlServer>(path(), std::move(options));
    server_->on("status", [](const json&) { return json{{"n", 1}}; });
    server_->on("echo", [](const json& request) { return request; });
    server_->on("long", [](const json&) { return std::string(8u << 20, 'x'); });
    server_->on("bytes", [](const json&) { return std::string("a\xff\n"); });
    server_->on("fail", [](const json&) -> json { throw std::runtime_error("it is Monday"); });
    server_->on_slow("slow", [this](const json& request, ControlReply reply) {
      if (request.contains("bad")) throw std::runtime_error("no such thing");
      const std::lock_guard lock(mutex_);
      replies_.push_back(std::move(reply));
      requested_.notify_all();
      return ControlServer::Pending{timeout_, [] { return json("too late"); }};
    });
    const lib::Status started = server_->start();
    CPPUNIT_ASSERT_MESSAGE(started.message(), started.ok());
  }

 public:
  void setUp() override { folder_.emplace(); }
  void tearDown() override {
    server_.reset();
    replies_.clear();
    folder_.reset();
  }

  void a_request_is_answered_on_one_line() {
    start();
    CPPUNIT_ASSERT_EQUAL(kAnswer, SocketPeer(path()).ask(kStatus));
  }

  void handlers_get_the_whole_request() {
    start();
    CPPUNIT_ASSERT_EQUAL(std::string(R"({"result":{"command":"echo","more":[1,2]}})"),
                         SocketPeer(path()).ask(R"({"command":"echo","more":[1,2]})"));
  }

  void a_client_may_send_many_requests() {
    start();
    SocketPeer peer(path());
    for (int i = 0; i < 100; ++i) CPPUNIT_ASSERT_EQUAL(kAnswer, peer.ask(kStatus));
  }

  void requests_may_come_together_or_in_parts() {
    start();
    SocketPeer peer(path());
    CPPUNIT_ASSERT(peer.send(kStatus + "\n" + kStatus + "\n{\"comm"));
    CPPUNIT_ASSERT_EQUAL(kAnswer, peer.line());
    CPPUNIT_ASSERT_EQUAL(kAnswer, peer.line());
    CPPUNIT_ASSERT_EQUAL(kAnswer, peer.ask("and\":\"status\"}"));
  }

  void a_half_closed_client_is_still_answered() {
    start();
    SocketPeer peer(path());
    CPPUNIT_ASSERT(peer.send(kStatus + "\n" + kStatus + "\n"));
    peer.end_of_requests();
    CPPUNIT_ASSERT_EQUAL(kAnswer, peer.line());
    CPPUNIT_ASSERT_EQUAL(kAnswer, peer.line());
    CPPUNIT_ASSERT_EQUAL(std::string("closed"), peer.line());
  }

  void unknown_commands_list_the_known_ones() {
    start();
    CPPUNIT_ASSERT_EQUAL(
        std::string(R"({"error":"unknown command 'stats'; known: bytes, echo, fail, long, slow, status"})"),
        SocketPeer(path()).ask(R"({"command":"stats"})"));
  }

  void malformed_requests_are_error_answers() {
    start();
    SocketPeer peer(path());
    for (const std::string& bad :
         {std::string(), std::string("status"), std::string("{"), std::string("[]"), std::string("null"),
          std::string("{}"), std::string(R"({"command":7})"), std::string(R"({"command":"status"}})"),
          std::string("\0\x01\xff", 3), std::string(60'000, '['), std::string("\r")}) {
      CPPUNIT_ASSERT_EQUAL(kMalformed, peer.ask(bad));
    }
    CPPUNIT_ASSERT_EQUAL(kAnswer, peer.ask(kStatus + "\r"));
  }

  void a_failing_handler_is_an_error_answer() {
    start();
    SocketPeer peer(path());
    CPPUNIT_ASSERT_EQUAL(std::string(R"({"error":"fail failed: it is Monday"})"), peer.ask(R"({"command":"fail"})"));
    CPPUNIT_ASSERT_EQUAL(kAnswer, peer.ask(kStatus));
  }

  void answers_are_always_utf8() {
    start();
    SocketPeer peer(path());
    CPPUNIT_ASSERT(json::accept(peer.ask(R"({"command":"bytes"})")));
    CPPUNIT_ASSERT(json::accept(peer.ask("{\"command\":\"\xff\"}")));
  }

  void an_oversized_request_is_rejected() {
    ControlOptions options;
    options.request_limit = 100;
    start(options);
    const std::string refused = R"({"error":"the request is longer than 100 bytes"})";
    SocketPeer endless(path());
    endless.send(std::string(200, 'x'));
    CPPUNIT_ASSERT_EQUAL(refused, endless.line());
    CPPUNIT_ASSERT_EQUAL(std::string("closed"), endless.line());
    // An oversized request with an end does not close the connection.
    SocketPeer longer(path());
    CPPUNIT_ASSERT_EQUAL(refused, longer.ask(std::string(200, 'x')));
    CPPUNIT_ASSERT_EQUAL(kAnswer, longer.ask(kStatus));
  }

  void silent_clients_do_not_block_others() {
    start();
    SocketPeer silent(path());
    SocketPeer half(path());
    half.send("{\"command\"");
    CPPUNIT_ASSERT_EQUAL(kAnswer, SocketPeer(path()).ask(kStatus));
  }

  void silent_clients_are_dropped() {
    ControlOptions options;
    options.request_time = 1ms;
    start(options);
    SocketPeer(path()).wait_until_closed();
    options.request_time = 10s;
    options.idle_time = 1ms;
    start_again(options);
    SocketPeer idle(path());
    CPPUNIT_ASSERT_EQUAL(kAnswer, idle.ask(kStatus));
    idle.wait_until_closed();
  }

  void clients_that_do_not_read_do_not_block_others_and_are_dropped() {
    ControlOptions options;
    options.response_time = 200ms;
    start(options);
    SocketPeer lazy(path());
    CPPUNIT_ASSERT(lazy.send("{\"command\":\"long\"}\n"));
    CPPUNIT_ASSERT_EQUAL(kAnswer, SocketPeer(path()).ask(kStatus));
    lazy.wait_until_closed();
  }

  // While an answer waits, nothing more is read: the kernel's buffer fills, the server's does not.
  void a_flood_of_requests_waits_for_its_answers() {
    ControlOptions options;
    options.request_limit = 1000;
    start(options);
    SocketPeer peer(path());
    std::string flood;
    for (int i = 0; i < 500; ++i) flood += kStatus + "\n";
    CPPUNIT_ASSERT(peer.send(flood));
    for (int i = 0; i < 500; ++i) CPPUNIT_ASSERT_EQUAL(kAnswer, peer.line());
  }

  void a_long_answer_arrives_whole() {
    start();
    SocketPeer peer(path());
    CPPUNIT_ASSERT_EQUAL((std::size_t{8} << 20) + std::string(R"({"result":""})").size(),
                         peer.ask(R"({"command":"long"})").size());
    CPPUNIT_ASSERT_EQUAL(kAnswer, peer.ask(kStatus));
  }

  void clients_beyond_the_limit_are_rejected() {
    ControlOptions options;
    options.max_clients = 2;
    start(options);
    SocketPeer first(path());
    SocketPeer second(path());
    CPPUNIT_ASSERT_EQUAL(kAnswer, second.ask(kStatus));
    SocketPeer third(path());
    CPPUNIT_ASSERT_EQUAL(std::string(R"({"error":"too many clients; try again later"})"), third.line());
    CPPUNIT_ASSERT_EQUAL(std::string("closed"), third.line());
    CPPUNIT_ASSERT_EQUAL(kAnswer, first.ask(kStatus));
  }

  void a_disconnected_client_makes_room() {
    ControlOptions options;
    options.max_clients = 1;
    start(options);
    for (int i = 0; i < 50; ++i) {
      SocketPeer peer(path());
      CPPUNIT_ASSERT(peer.send(kStatus + "\n"));
      peer.end_of_requests();
      CPPUNIT_ASSERT_EQUAL(kAnswer, peer.line());
      // Closed by the server, so the next one surely finds room.
      CPPUNIT_ASSERT_EQUAL(std::string("closed"), peer.line());
    }
  }

  void other_users_are_rejected() {
    ControlOptions options;
    options.users = {::geteuid() + 1};
    start(options);
    SocketPeer peer(path());
    CPPUNIT_ASSERT_EQUAL(std::string(R"({"error":"only root may use the control socket"})"), peer.line());
    CPPUNIT_ASSERT_EQUAL(std::string("closed"), peer.line());
  }

  void only_the_owner_may_open_the_socket() {
    start();
    struct stat info {};
    CPPUNIT_ASSERT_EQUAL(0, ::stat(path().c_str(), &info));
    CPPUNIT_ASSERT_EQUAL(0600u, static_cast<unsigned>(info.st_mode & 0777));
  }

  void the_socket_of_a_dead_daemon_is_replaced() {
    test::bound_socket(path()).reset();
    CPPUNIT_ASSERT(std::filesystem::exists(path()));
    start();
    CPPUNIT_ASSERT_EQUAL(kAnswer, SocketPeer(path()).ask(kStatus));
  }

  // Such as a child of the dead daemon between fork and exec.
  void a_socket_that_another_process_still_has_open_is_replaced() {
    const lib::Fd left = test::bound_socket(path());
    CPPUNIT_ASSERT_EQUAL(0, ::listen(left.get(), 1));
    start();
    CPPUNIT_ASSERT_EQUAL(kAnswer, SocketPeer(path()).ask(kStatus));
  }

  void a_file_in_the_place_of_the_socket_is_kept() {
    folder_->write("control.sock", "precious");
    ControlServer server(path());
    CPPUNIT_ASSERT_EQUAL(
        "cannot create the control socket " + path() + ": the path exists and is not a socket; remove it",
        server.start().message());
    CPPUNIT_ASSERT_EQUAL(std::string("precious"), folder_->read("control.sock"));
  }

  void invalid_paths_are_errors() {
    CPPUNIT_ASSERT(ControlServer(folder_->path("none/control.sock")).start().code() == lib::StatusCode::not_found);
    CPPUNIT_ASSERT(ControlServer("/" + std::string(200, 'x')).start().code() == lib::StatusCode::invalid);
  }

  void stopping_closes_clients_and_removes_the_socket() {
    start();
    SocketPeer peer(path());
    CPPUNIT_ASSERT_EQUAL(kAnswer, peer.ask(kStatus));
    server_->stop();
    CPPUNIT_ASSERT_EQUAL(std::string("closed"), peer.line());
    CPPUNIT_ASSERT(!std::filesystem::exists(path()));
    server_->stop();
  }

 private:
  void start_again(const ControlOptions& options) {
    server_.reset();
    start(options);
  }

  void an_answer_may_come_later_from_another_thread() {
    start();
    SocketPeer peer(path());
    CPPUNIT_ASSERT(peer.send("{\"command\":\"slow\"}\n"));
    const ControlReply reply = next_reply();
    CPPUNIT_ASSERT_EQUAL(kAnswer, SocketPeer(path()).ask(kStatus));
    CPPUNIT_ASSERT(reply.wanted());
    reply.answer([] { return json("first"); });
    reply.answer([] { return json("second"); });
    CPPUNIT_ASSERT_EQUAL(std::string(R"({"result":"first"})"), peer.line());
    CPPUNIT_ASSERT_EQUAL(kAnswer, peer.ask(kStatus));
    // An answer that fails on the control thread.
    CPPUNIT_ASSERT(peer.send("{\"command\":\"slow\"}\n"));
    next_reply().answer([]() -> json { throw std::runtime_error("it is Monday"); });
    CPPUNIT_ASSERT_EQUAL(std::string(R"({"error":"it is Monday"})"), peer.line());
  }

  void requests_after_a_slow_one_are_answered_in_order() {
    start();
    SocketPeer peer(path());
    CPPUNIT_ASSERT(peer.send("{\"command\":\"slow\"}\n" + kStatus + "\n"));
    peer.end_of_requests();
    next_reply().answer([] { return json(1); });
    CPPUNIT_ASSERT_EQUAL(std::string(R"({"result":1})"), peer.line());
    CPPUNIT_ASSERT_EQUAL(kAnswer, peer.line());
    CPPUNIT_ASSERT_EQUAL(std::string("closed"), peer.line());
  }

  void an_answer_after_the_timeout_is_dropped() {
    timeout_ = 1ms;
    start();
    SocketPeer peer(path());
    CPPUNIT_ASSERT_EQUAL(std::string(R"({"result":"too late"})"), peer.ask("{\"command\":\"slow\"}"));
    const ControlReply reply = next_reply();
    CPPUNIT_ASSERT(!reply.wanted());
    reply.answer([] { return json("at last"); });
    CPPUNIT_ASSERT_EQUAL(kAnswer, peer.ask(kStatus));
  }

  void a_reply_destroyed_without_an_answer_is_an_error() {
    start();
    SocketPeer peer(path());
    CPPUNIT_ASSERT(peer.send("{\"command\":\"slow\"}\n"));
    next_reply();
    CPPUNIT_ASSERT_EQUAL(std::string(R"({"error":"request cancelled: the daemon is shutting down"})"), peer.line());
  }

  void a_disconnected_client_wants_no_answer() {
    ControlOptions options;
    options.max_clients = 1;
    start(options);
    {
      SocketPeer peer(path());
      CPPUNIT_ASSERT(peer.send("{\"command\":\"slow\"}\n"));
    }
    const ControlReply reply = next_reply();
    // There is room again once the server has noticed.
    CPPUNIT_ASSERT(test::wait_until([&] {
      SocketPeer(path()).ask(kStatus);
      return !reply.wanted();
    }));
    reply.answer([] { return json("too late"); });
    CPPUNIT_ASSERT_EQUAL(kAnswer, SocketPeer(path()).ask(kStatus));
  }

  void a_slow_handler_that_fails_is_an_error_answer() {
    start();
    SocketPeer peer(path());
    CPPUNIT_ASSERT_EQUAL(std::string(R"({"error":"slow failed: no such thing"})"),
                         peer.ask(R"({"command":"slow","bad":1})"));
    CPPUNIT_ASSERT_EQUAL(kAnswer, peer.ask(kStatus));
  }

  void answers_after_the_end_of_the_server_are_ignored() {
    start();
    SocketPeer peer(path());
    CPPUNIT_ASSERT(peer.send("{\"command\":\"slow\"}\n"));
    const ControlReply reply = next_reply();
    server_.reset();
    CPPUNIT_ASSERT(!reply.wanted());
    reply.answer([] { return json("too late"); });
    CPPUNIT_ASSERT_EQUAL(std::string("closed"), peer.line());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ControlServerTest);

}  // namespace control_server_test
}  // namespace sluice::observe
