// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/holder_server.hpp"

#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "test/unit/lifecycle/running_holder.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::lifecycle {
namespace holder_server_test {

using holding::Message;
using holding::Type;
using lib::Fd;
using namespace std::chrono_literals;

class HolderServerTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(HolderServerTest);
  CPPUNIT_TEST(a_message_is_decoded_as_it_was_encoded);
  CPPUNIT_TEST(a_longer_message_of_another_version_is_decoded);
  CPPUNIT_TEST(malformed_messages_are_rejected);
  CPPUNIT_TEST(the_next_daemon_receives_the_descriptors);
  CPPUNIT_TEST(a_descriptor_is_replaced_and_removed);
  CPPUNIT_TEST(the_last_removal_ends_the_holder);
  CPPUNIT_TEST(a_daemon_that_leaves_without_descriptors_ends_the_holder);
  CPPUNIT_TEST(a_daemon_that_left_before_it_was_served_ends_the_holder);
  CPPUNIT_TEST(the_end_message_ends_the_holder);
  CPPUNIT_TEST(it_ends_after_the_timeout_without_a_daemon);
  CPPUNIT_TEST(a_client_that_is_no_daemon_does_not_postpone_the_end);
  CPPUNIT_TEST(messages_of_a_killed_daemon_come_before_the_next_one);
  CPPUNIT_TEST(other_users_are_disconnected);
  CPPUNIT_TEST(a_malformed_message_ends_only_its_connection);
  CPPUNIT_TEST(unknown_types_and_surplus_descriptors_are_ignored);
  CPPUNIT_TEST(descriptors_beyond_the_limit_are_refused);
  CPPUNIT_TEST(a_client_that_does_not_read_is_disconnected);
  CPPUNIT_TEST(clients_beyond_the_limit_wait);
  CPPUNIT_TEST(a_newer_daemon_receives_the_version_of_the_holder);
  CPPUNIT_TEST(a_holder_that_stays_closes_everything_instead);
  CPPUNIT_TEST(the_socket_of_a_replacement_stays);
  CPPUNIT_TEST(a_path_that_is_too_long_is_an_error);
  CPPUNIT_TEST_SUITE_END();

  test::TemporaryFolder folder_;

  std::string path() const { return folder_.path("holder.sock"); }
  HolderServer::Options options() const { return {.path = path(), .timeout = 1min, .users = {::geteuid()}}; }

 public:
  void a_message_is_decoded_as_it_was_encoded() {
    Message message{.type = Type::store, .version = 7, .number = 5, .text = "s12"};
    const auto decoded = holding::decode(holding::encode(message));
    CPPUNIT_ASSERT(decoded && decoded->type == Type::store && decoded->version == 7 && decoded->number == 5);
    CPPUNIT_ASSERT_EQUAL(std::string("s12"), decoded->text);
  }

  void a_longer_message_of_another_version_is_decoded() {
    const auto decoded = holding::decode(holding::encode({.type = Type::hello, .version = 2}) + "more");
    CPPUNIT_ASSERT(decoded && decoded->version == 2);
    CPPUNIT_ASSERT_EQUAL(std::string(), decoded->text);
  }

  void malformed_messages_are_rejected() {
    const std::string whole = holding::encode({.type = Type::store, .text = "name"});
    for (std::size_t size = 0; size < whole.size(); ++size) CPPUNIT_ASSERT(!holding::decode(whole.substr(0, size)));
    std::string small = whole;
    small[0] = 3;  // less than the header
    CPPUNIT_ASSERT(!holding::decode(small));
    small[3] = '\xff';  // more than there is
    CPPUNIT_ASSERT(!holding::decode(small));
  }

  void the_next_daemon_receives_the_descriptors() {
    RunningHolder running(path());
    const Fd one = a_socket(), two = a_socket();
    {
      HolderClient daemon(path());
      CPPUNIT_ASSERT_EQUAL(0u, daemon.hello());
      daemon.store("s0", one.get());
      daemon.store("s1", two.get());
    }
    HolderClient next(path());
    CPPUNIT_ASSERT_EQUAL(2u, next.hello());
    auto taken = next.take();
    CPPUNIT_ASSERT_EQUAL(identity(one.get()), identity(taken.at("s0").get()));
    CPPUNIT_ASSERT_EQUAL(identity(two.get()), identity(taken.at("s1").get()));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, next.take().size());  // they stay
  }

  void a_descriptor_is_replaced_and_removed() {
    RunningHolder running(path());
    const Fd one = a_socket(), two = a_socket();
    HolderClient daemon(path());
    daemon.hello();
    daemon.store("a", one.get());
    daemon.store("b", one.get());
    daemon.store("a", two.get());
    daemon.remove("b");
    daemon.remove("none");
    auto taken = daemon.take();
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, taken.size());
    CPPUNIT_ASSERT_EQUAL(identity(two.get()), identity(taken.at("a").get()));
  }

  void the_last_removal_ends_the_holder() {
    RunningHolder running(path());
    HolderClient daemon(path());
    daemon.hello();
    daemon.store("a", a_socket().get());
    daemon.remove("a");
    CPPUNIT_ASSERT(daemon.at_end());
    CPPUNIT_ASSERT(running.wait_ended());
    CPPUNIT_ASSERT(!HolderClient(path()).connected());
    CPPUNIT_ASSERT(::access(path().c_str(), F_OK) != 0);
  }

  void a_daemon_that_leaves_without_descriptors_ends_the_holder() {
    RunningHolder running(path());
    HolderClient(path()).hello();
    CPPUNIT_ASSERT(running.wait_ended());
  }

  // The holder reads the first message of the daemon and its end at once.
  void a_daemon_that_left_before_it_was_served_ends_the_holder() {
    HolderServer::Options one = options();
    one.max_clients = 1;
    RunningHolder running(one);
    auto first = std::make_unique<HolderClient>(path());
    first->send({.type = Type::give});
    CPPUNIT_ASSERT(first->receive().type == Type::done);
    HolderClient(path()).send({.type = Type::hello, .number = 60'000});
    first.reset();
    CPPUNIT_ASSERT(running.wait_ended());
  }

  void the_end_message_ends_the_holder() {
    RunningHolder running(path());
    int ends[2];
    CPPUNIT_ASSERT_EQUAL(0, ::pipe(ends));
    const Fd reader(ends[0]);
    Fd writer(ends[1]);
    HolderClient daemon(path());
    daemon.hello();
    daemon.store("a", writer.get());
    writer.reset();
    HolderClient(path()).send({.type = Type::end});
    CPPUNIT_ASSERT(daemon.at_end());
    char byte = 0;
    CPPUNIT_ASSERT_EQUAL(ssize_t{0}, ::read(reader.get(), &byte, 1));  // the descriptor is closed
    CPPUNIT_ASSERT(running.wait_ended());
  }

  void it_ends_after_the_timeout_without_a_daemon() {
    RunningHolder running(path());
    {
      HolderClient daemon(path());
      daemon.hello(1);
      daemon.store("a", a_socket().get());
      std::this_thread::sleep_for(50ms);  // fixed time: longer than the timeout
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, daemon.take().size());
    }
    CPPUNIT_ASSERT(running.wait_ended());
  }

  void a_client_that_is_no_daemon_does_not_postpone_the_end() {
    auto mine = options();
    mine.timeout = 1ms;
    RunningHolder running(mine);
    HolderClient idle(path());
    CPPUNIT_ASSERT(running.wait_ended());
  }

  // The next daemon can come before the holder has read what a killed one sent.
  void messages_of_a_killed_daemon_come_before_the_next_one() {
    for (int round = 0; round < 20; ++round) {
      auto mine = options();
      mine.messages_at_once = 1;
      RunningHolder running(mine);
      {
        HolderClient killed(path());
        killed.hello();
        for (int i = 0; i < 100; ++i) killed.store(std::to_string(i), a_socket().get());
        killed.remove("7");
      }
      HolderClient next(path());
      CPPUNIT_ASSERT_EQUAL(99u, next.hello());
    }
  }

  void other_users_are_disconnected() {
    auto mine = options();
    mine.users = {::geteuid() + 1};
    mine.timeout = 500ms;
    RunningHolder running(mine);
    HolderClient client(path());
    CPPUNIT_ASSERT(client.connected());
    holding::send(client.socket(), holding::encode({.type = Type::hello}), -1);  // may fail already
    CPPUNIT_ASSERT(client.at_end());
    CPPUNIT_ASSERT(running.wait_ended());  // by its timeout
  }

  void a_malformed_message_ends_only_its_connection() {
    RunningHolder running(path());
    HolderClient daemon(path());
    daemon.hello();
    daemon.store("a", a_socket().get());
    for (const std::string& bytes : {std::string("x"), std::string(holding::kMaxMessage + 1, '\1')}) {
      HolderClient broken(path());
      broken.send_bytes(bytes, daemon.socket());
      CPPUNIT_ASSERT(broken.at_end());
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, daemon.take().size());
  }

  void unknown_types_and_surplus_descriptors_are_ignored() {
    RunningHolder running(path());
    HolderClient daemon(path());
    daemon.hello();
    const Fd mine = a_socket();
    daemon.send({.type = Type{999}, .text = "?"}, mine.get());
    daemon.send({.type = Type::remove, .text = "none"}, mine.get());
    daemon.send({.type = Type::done});
    CPPUNIT_ASSERT(daemon.take().empty());
  }

  void descriptors_beyond_the_limit_are_refused() {
    auto mine = options();
    mine.max_descriptors = 2;
    RunningHolder running(mine);
    HolderClient daemon(path());
    daemon.hello();
    const Fd socket = a_socket();
    for (const char* name : {"a", "b", "c", "a"}) daemon.store(name, socket.get());
    auto refused = daemon.receive();
    CPPUNIT_ASSERT(refused.type == Type::refused);
    CPPUNIT_ASSERT_EQUAL(std::string("c"), refused.text);
    for (const std::string& name : {std::string(), std::string(65, 'n')}) {
      daemon.store(name, socket.get());
      CPPUNIT_ASSERT(daemon.receive().type == Type::refused);
    }
    daemon.send({.type = Type::store, .text = "b"});  // without a descriptor
    CPPUNIT_ASSERT(daemon.receive().type == Type::refused);
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, daemon.take().size());
  }

  void a_client_that_does_not_read_is_disconnected() {
    auto mine = options();
    mine.patience = 50ms;
    RunningHolder running(mine);
    HolderClient daemon(path());
    daemon.hello();
    const Fd socket = a_socket();
    for (int i = 0; i < 2000; ++i) daemon.store(std::to_string(i), socket.get());
    HolderClient lazy(path());
    lazy.send({.type = Type::give});
    CPPUNIT_ASSERT_EQUAL(std::size_t{2000}, daemon.take().size());
    // The answers that are there, and the end.
    test::wait_until([&] {
      pollfd end{lazy.socket(), POLLRDHUP, 0};
      return ::poll(&end, 1, 0) == 1 && (end.revents & POLLRDHUP) != 0;
    });
    int answers = 0;
    for (holding::Message one; answers < 2001; ++answers) {
      bool lost_fd = false;
      if (holding::receive(lazy.socket(), one, lost_fd, 0) != holding::Received::message) break;
    }
    CPPUNIT_ASSERT(answers < 2001);
  }

  void clients_beyond_the_limit_wait() {
    auto mine = options();
    mine.max_clients = 1;
    RunningHolder running(mine);
    auto first = std::make_unique<HolderClient>(path());
    first->hello();
    first->store("a", a_socket().get());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, first->take().size());
    HolderClient second(path());
    first.reset();
    CPPUNIT_ASSERT_EQUAL(1u, second.hello());
  }

  void a_newer_daemon_receives_the_version_of_the_holder() {
    RunningHolder running(path());
    HolderClient daemon(path());
    daemon.send_bytes(holding::encode({.type = Type::hello, .version = 9, .number = 60'000}) + "more");
    const auto reply = daemon.receive();
    CPPUNIT_ASSERT(reply.type == Type::hello);
    CPPUNIT_ASSERT_EQUAL(holding::kVersion, reply.version);
    daemon.store("a", a_socket().get());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, daemon.take().size());
  }

  void a_holder_that_stays_closes_everything_instead() {
    auto mine = options();
    mine.stays = true;
    mine.timeout = 0ms;
    HolderServer server(mine);
    CPPUNIT_ASSERT(server.listen().ok());
    const pid_t process = ::fork();
    if (process == 0) {
      server.run();
      ::_exit(1);
    }
    for (const Type last : {Type::end, Type::remove, Type::give}) {
      {
        HolderClient daemon(path());
        CPPUNIT_ASSERT_EQUAL(0u, daemon.hello(1));
        daemon.store("a", a_socket().get());
        CPPUNIT_ASSERT_EQUAL(std::size_t{1}, daemon.take().size());
        // The third daemon leaves without a word.
        if (last != Type::give) {
          daemon.send({.type = last, .text = "a"});
          CPPUNIT_ASSERT(daemon.take().empty());
        }
      }
      CPPUNIT_ASSERT(test::wait_until([&] { return HolderClient(path()).take().empty(); }));
    }
    CPPUNIT_ASSERT_EQUAL(0u, HolderClient(path()).hello());
    CPPUNIT_ASSERT_EQUAL(pid_t{0}, ::waitpid(process, nullptr, WNOHANG));
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
  }

  void the_socket_of_a_replacement_stays() {
    auto first = std::make_unique<RunningHolder>(path());
    HolderClient daemon(path());
    daemon.hello();
    RunningHolder second(path());
    daemon.send({.type = Type::end});
    CPPUNIT_ASSERT(first->wait_ended());
    first.reset();
    CPPUNIT_ASSERT_EQUAL(0u, HolderClient(path()).hello());
  }

  void a_path_that_is_too_long_is_an_error() {
    auto mine = options();
    mine.path = folder_.path(std::string(120, 'p'));
    CPPUNIT_ASSERT(!HolderServer(mine).listen().ok());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(HolderServerTest);

}  // namespace holder_server_test
}  // namespace sluice::lifecycle
