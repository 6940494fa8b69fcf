// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The count of connections lost with a killed process.
#include "plugins/userspace/relay/relayed_count.hpp"

#include <cppunit/extensions/HelperMacros.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "test/unit/patience.hpp"
#include "test/unit/userspace/backend_rig.hpp"
#include "test/unit/userspace/servers.hpp"

namespace sluice::userspace {
namespace relayed_count_test {

constexpr abi::Family kV4 = abi::Family::kIpv4;
constexpr abi::Family kV6 = abi::Family::kIpv6;
constexpr const char* kLostTcp = "sluice_userspace_connections_lost_total{protocol=\"tcp\",ip_family=\"IPv4\"}";

class RelayedCountTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(RelayedCountTest);
  CPPUNIT_TEST(connections_of_a_killed_process_are_reported_once);
  CPPUNIT_TEST(files_in_use_are_ignored);
  CPPUNIT_TEST(threads_add_up);
  CPPUNIT_TEST(an_empty_count_leaves_no_file);
  CPPUNIT_TEST(connections_that_continue_are_not_reported);
  CPPUNIT_TEST(recorded_losses_are_reported);
  CPPUNIT_TEST(counts_in_memory_without_a_folder);
  CPPUNIT_TEST(corrupt_files_are_ignored);
  CPPUNIT_TEST(a_backend_reports_lost_connections);
  CPPUNIT_TEST_SUITE_END();

  std::string folder_;

 public:
  void setUp() override {
    char path[] = "/tmp/relayed-count-XXXXXX";
    CPPUNIT_ASSERT(mkdtemp(path) != nullptr);
    folder_ = path;
  }
  void tearDown() override { std::filesystem::remove_all(folder_); }

 private:
  std::size_t files() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) count += entry.is_regular_file() ? 1 : 0;
    return count;
  }
  void expect_lost(abi::Family family, std::uint64_t connections, std::uint64_t flows) const {
    const RelayedNow lost = RelayedCount::take_lost(folder_, family);
    CPPUNIT_ASSERT_EQUAL(connections, lost.connections);
    CPPUNIT_ASSERT_EQUAL(flows, lost.flows);
  }

  void connections_of_a_killed_process_are_reported_once() {
    const pid_t child = fork();
    if (child == 0) {
      RelayedCount count(2, folder_, kV4);
      count.thread_counts(0).connections.add(5);
      count.thread_counts(1).connections.add(2);
      count.thread_counts(1).connections.subtract();
      count.thread_counts(1).flows.add(3);
      kill(getpid(), SIGKILL);
    }
    int status = 0;
    CPPUNIT_ASSERT_EQUAL(child, waitpid(child, &status, 0));
    CPPUNIT_ASSERT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, files());
    expect_lost(kV6, 0, 0);
    expect_lost(kV4, 6, 3);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, files());
    expect_lost(kV4, 0, 0);
  }

  void files_in_use_are_ignored() {
    RelayedCount count(1, folder_, kV4);
    count.thread_counts(0).connections.add(5);
    expect_lost(kV4, 0, 0);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, files());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{5}, count.now().connections);
    count.thread_counts(0).connections.subtract(5);
  }

  void threads_add_up() {
    RelayedCount count(3, folder_, kV6);
    CPPUNIT_ASSERT(count.problem().empty());
    CPPUNIT_ASSERT(!count.now().any());
    for (unsigned thread = 0; thread < 3; ++thread) {
      count.thread_counts(thread).connections.add();
      count.thread_counts(thread).flows.add(2);
      count.thread_counts(thread).datagrams.add(10);
    }
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{3}, count.now().connections);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{6}, count.now().flows);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{30}, count.datagrams());
  }

  void an_empty_count_leaves_no_file() {
    {
      RelayedCount count(1, folder_, kV4);
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, files());
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, files());
  }

  void connections_that_continue_are_not_reported() {
    RelayedCount count(1, folder_, kV4);
    count.thread_counts(0).connections.add(2);
    count.connections_continue();
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, files());
    count.thread_counts(0).connections.subtract();
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, count.now().connections);
  }

  void recorded_losses_are_reported() {
    std::make_unique<RelayedCount>(1, folder_, kV4)->record_lost({4, 1});
    expect_lost(kV4, 4, 1);
  }

  void counts_in_memory_without_a_folder() {
    RelayedCount count(1, folder_ + "/missing", kV4);
    CPPUNIT_ASSERT_EQUAL("in " + folder_ + "/missing: No such file or directory", count.problem());
    count.thread_counts(0).connections.add(5);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{5}, count.now().connections);
    CPPUNIT_ASSERT(RelayedCount(1, "", kV4).problem().empty());
  }

  void corrupt_files_are_ignored() {
    std::ofstream(folder_ + "/relayed-ipv4-empty");
    std::ofstream(folder_ + "/relayed-ipv4-words") << std::string(256, 'x');
    const auto write = [&](const char* name, std::uint64_t magic, std::uint64_t places) {
      const std::uint64_t header[8] = {magic, places, 7, 7, 0, 0, 0, 0};
      std::ofstream(folder_ + name).write(reinterpret_cast<const char*>(header), sizeof(header));
    };
    write("/relayed-ipv4-cut", 0x31594C5245434C53u, 1000);
    write("/relayed-ipv4-other", 0x32594C5245434C53u, 0);
    std::ofstream(folder_ + "/another-file");
    expect_lost(kV4, 0, 0);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, files());
  }

  void a_backend_reports_lost_connections() {
    test::UserspaceRig rig;
    rig.state_dir = folder_;
    const lib::Fd listener = test::bound(kV4, SOCK_STREAM, test::loopback(kV4), 0);
    CPPUNIT_ASSERT_EQUAL(0, listen(listener.get(), 4));
    const auto services =
        std::vector{test::named("svc1", {{"127.0.0.1", test::port_of(listener), false, test::Condition::kReady}})};
    CPPUNIT_ASSERT(rig.full(services) == abi::Code::kOk);
    CPPUNIT_ASSERT_EQUAL(0.0, rig.host.served().at(kLostTcp));
    const lib::Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const SocketAddress to(kV4, test::loopback(kV4), rig.port("ns1/svc1"));
    CPPUNIT_ASSERT_EQUAL(0, connect(client.get(), to.get(), to.size()));
    pollfd wait{listener.get(), POLLIN, 0};
    CPPUNIT_ASSERT_EQUAL(1, poll(&wait, 1, test::stretched_milliseconds(std::chrono::seconds(10))));
    rig.stop();
    CPPUNIT_ASSERT(rig.host.has_line(abi::Severity::kInfo, "1 TCP connection and 0 UDP flows end with this backend"));
    CPPUNIT_ASSERT_EQUAL(0.0, rig.host.served().at(kLostTcp));
    CPPUNIT_ASSERT(rig.host.events.empty());
    CPPUNIT_ASSERT(rig.full(services) == abi::Code::kOk);
    CPPUNIT_ASSERT_EQUAL(1.0, rig.host.served().at(kLostTcp));
    CPPUNIT_ASSERT(rig.host.has_line(abi::Severity::kWarning,
                                     "1 TCP connection and 0 UDP flows were lost when the previous process ended"));
    CPPUNIT_ASSERT(std::vector<std::string>{"RelayedConnectionsLost"} == rig.host.events);
    rig.stop();
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, files());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(RelayedCountTest);

}  // namespace relayed_count_test
}  // namespace sluice::userspace
