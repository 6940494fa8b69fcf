// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The TCP relay without descriptors, above the connection limit, and without pipes.
#include <cppunit/extensions/HelperMacros.h>
#include <fcntl.h>
#include <sys/resource.h>

#include <mutex>
#include <optional>

#include "plugins/userspace/relay/pipe_pool.hpp"
#include "test/unit/skip.hpp"
#include "test/unit/userspace/relay/tcp_fixture.hpp"

namespace sluice::userspace {
namespace tcp_relay_shortage_test {

using namespace rig;

// Clang's check for undefined behavior reads an object through a pipe, and reports the object when no descriptors are left. A
// build with the address sanitizer may have that check in the relay alone.
#ifdef __has_feature
constexpr bool kNeedsDescriptors = __has_feature(address_sanitizer) || __has_feature(undefined_behavior_sanitizer);
#else
constexpr bool kNeedsDescriptors = false;
#endif

// Limits this process to `spare` more descriptors during its lifetime.
class FewDescriptors {
 public:
  explicit FewDescriptors(std::size_t spare) {
    CPPUNIT_ASSERT_EQUAL(0, getrlimit(RLIMIT_NOFILE, &before_));
    rlimit few = before_;
    few.rlim_cur = 200;
    CPPUNIT_ASSERT_EQUAL(0, setrlimit(RLIMIT_NOFILE, &few));
    for (;;) {
      lib::Fd one(fcntl(0, F_DUPFD_CLOEXEC, 0));
      if (!one) break;
      taken_.push_back(std::move(one));
    }
    CPPUNIT_ASSERT(taken_.size() > spare);
    taken_.resize(taken_.size() - spare);
  }
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
  std::vector<lib::Fd> taken_;
};

struct Reports {
  std::mutex mutex;
  std::vector<std::pair<bool, std::string>> all;
  std::size_t count() {
    const std::lock_guard<std::mutex> lock(mutex);
    return all.size();
  }
  Engine::Report callback() {
    return [this](bool begins, const std::string& sentence) {
      const std::lock_guard<std::mutex> lock(mutex);
      all.emplace_back(begins, sentence);
    };
  }
};

class TcpShortageTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(TcpShortageTest);
  CPPUNIT_TEST(without_descriptors_clients_wait_to_be_accepted);
  CPPUNIT_TEST(without_a_descriptor_for_the_dial_the_client_waits);
  CPPUNIT_TEST(the_last_descriptors_are_reserved);
  CPPUNIT_TEST(clients_above_the_limit_wait);
  CPPUNIT_TEST(pipes_are_kept_and_closed_when_not_needed);
  CPPUNIT_TEST(without_pipes_bytes_are_copied);
  CPPUNIT_TEST_SUITE_END();

  void exhaust_descriptors(std::size_t spare) {
    if (kNeedsDescriptors) {
      sluice::test::skip("the sanitizer needs descriptors of its own");
      return;
    }
    const lib::Fd listener = listening(abi::Family::kIpv4);
    Relayed relay({name_of(listener)});
    Reports reports;
    const std::uint64_t report = relay.engine->add_report(reports.callback());
    const lib::Fd client = new_socket(abi::Family::kIpv4);
    {
      const FewDescriptors few(spare);
      CPPUNIT_ASSERT_EQUAL(0, connect(client.get(), relay.front.get(), relay.front.size()));
      CPPUNIT_ASSERT(relay.becomes(&ThreadStatistics::pauses_descriptors, 1));
      CPPUNIT_ASSERT(relay.becomes(&ThreadStatistics::paused, 1));
      CPPUNIT_ASSERT_EQUAL(std::uint64_t{spare}, relay.sum(&ThreadStatistics::accepted));
    }
    const lib::Fd server = accepted(listener);
    write_all(client, "hello");
    CPPUNIT_ASSERT_EQUAL(std::string("hello"), read_exactly(server, 5));
    CPPUNIT_ASSERT(wait_until([&] { return reports.count() == 2; }));
    CPPUNIT_ASSERT(reports.all[0].first);
    CPPUNIT_ASSERT(reports.all[0].second.find("out of file descriptors for clients") != std::string::npos);
    CPPUNIT_ASSERT(!reports.all[1].first);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, relay.sum(&ThreadStatistics::pauses_descriptors));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, relay.sum(&ThreadStatistics::paused));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, relay.sum(&ThreadStatistics::dials_failed));
    relay.engine->remove_report(report);
  }
  void without_descriptors_clients_wait_to_be_accepted() { exhaust_descriptors(0); }
  void without_a_descriptor_for_the_dial_the_client_waits() { exhaust_descriptors(1); }

  // Writing rules and connections to the API server need some descriptors.
  void the_last_descriptors_are_reserved() {
    const lib::Fd listener = listening(abi::Family::kIpv4);
    const FewDescriptors few(170);
    Relayed relay({name_of(listener)});
    std::vector<lib::Fd> clients;
    // Each connection takes three: two in the relay, one in the client.
    while (relay.sum(&ThreadStatistics::paused) == 0) {
      clients.push_back(connected(relay.front));
      CPPUNIT_ASSERT(wait_until([&] {
        return relay.sum(&ThreadStatistics::dials) == clients.size() || relay.sum(&ThreadStatistics::paused) == 1;
      }));
      CPPUNIT_ASSERT(clients.size() < 100);
    }
    std::vector<lib::Fd> descriptors;
    for (int i = 0; i < 15; ++i) {
      descriptors.emplace_back(fcntl(0, F_DUPFD_CLOEXEC, 0));
      CPPUNIT_ASSERT(descriptors.back());
    }
    descriptors.clear();
    const std::uint64_t accepted_then = relay.sum(&ThreadStatistics::accepted);
    for (std::size_t i = 0; i < 10; ++i) clients.erase(clients.begin());
    clients.push_back(connected(relay.front));
    CPPUNIT_ASSERT(relay.becomes(&ThreadStatistics::accepted, accepted_then + 1));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, relay.sum(&ThreadStatistics::dials_failed));
  }

  void clients_above_the_limit_wait() {
    const lib::Fd listener = listening(abi::Family::kIpv4);
    RelaySettings settings = Relayed::one_thread();
    settings.max_connections = 2;
    Relayed relay({name_of(listener)}, settings);
    std::vector<lib::Fd> clients;
    for (int i = 0; i < 20; ++i) clients.push_back(connected(relay.front));
    for (lib::Fd& client : clients) {
      const lib::Fd server = accepted(listener);
      CPPUNIT_ASSERT(relay.sum(&ThreadStatistics::open) <= 2);
      write_all(server, "x");
      CPPUNIT_ASSERT_EQUAL(std::string("x"), read_exactly(client, 1));
      client.reset();
    }
    // Pauses less than a second (kQuiet) apart count once. A slow machine may exceed that.
    const std::uint64_t pauses = relay.sum(&ThreadStatistics::pauses_limit);
    CPPUNIT_ASSERT(pauses >= 1 && pauses < 10);
    CPPUNIT_ASSERT(relay.becomes(&ThreadStatistics::open, 0));
  }

  void pipes_are_kept_and_closed_when_not_needed() {
    const std::size_t before = open_descriptors();
    Counter open;
    {
      PipePool pool(65536, open);
      auto first = pool.take(0);
      auto second = pool.take(0);
      CPPUNIT_ASSERT(first != nullptr && second != nullptr);
      CPPUNIT_ASSERT(first->capacity >= 4096);
      CPPUNIT_ASSERT_EQUAL(std::uint64_t{2}, open.get());
      pool.give_back(std::move(first));
      pool.give_back(std::move(second));
      CPPUNIT_ASSERT_EQUAL(std::size_t{2}, pool.kept());
      pool.trim();
      // One of the pipes is needed from time to time.
      first = pool.take(0);
      pool.give_back(std::move(first));
      pool.trim();
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, pool.kept());
      first = pool.take(0);
      pool.discard(std::move(first));
      CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, open.get());
    }
    CPPUNIT_ASSERT_EQUAL(before, open_descriptors());
  }

  void without_pipes_bytes_are_copied() {
    const lib::Fd listener = listening(abi::Family::kIpv4);
    Relayed relay({name_of(listener)});
    const lib::Fd client = connected(relay.front);
    const lib::Fd server = accepted(listener);
    write_all(client, "x");
    CPPUNIT_ASSERT_EQUAL(std::string("x"), read_exactly(server, 1));
    if (kNeedsDescriptors) {
      sluice::test::skip("the sanitizer needs descriptors of its own");
      return;
    }
    const FewDescriptors none(0);
    const std::string much(std::size_t{4} << 20U, 'm');
    std::string got(much.size(), '\0');
    std::size_t sent = 0;
    std::size_t read = 0;
    CPPUNIT_ASSERT(wait_until([&] {
      const ssize_t out = send(client.get(), much.data() + sent, much.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (out > 0) sent += static_cast<std::size_t>(out);
      const ssize_t in = recv(server.get(), got.data() + read, got.size() - read, MSG_DONTWAIT);
      if (in > 0) read += static_cast<std::size_t>(in);
      return read == got.size();
    }));
    CPPUNIT_ASSERT(got == much);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, relay.sum(&ThreadStatistics::pipes));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(TcpShortageTest);

}  // namespace tcp_relay_shortage_test
}  // namespace sluice::userspace
