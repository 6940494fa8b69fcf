// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/servers/drains.hpp"

#include <cppunit/extensions/HelperMacros.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "test/unit/ipvs/servers/server_rig.hpp"

namespace sluice::ipvs {
namespace drains_test {

using std::chrono::seconds;
const ServerKey kKey = server_key("10.96.0.10");

class DrainsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(DrainsTest);
  CPPUNIT_TEST(keep_has_no_deadline);
  CPPUNIT_TEST(drain_ends_at_the_deadline);
  CPPUNIT_TEST(reset_removes_at_once);
  CPPUNIT_TEST(deadlines_survive_a_restart);
  CPPUNIT_TEST(a_failed_start_loses_no_deadline);
  CPPUNIT_TEST(a_failed_call_loses_no_deadline);
  CPPUNIT_TEST(a_dump_that_misses_one_loses_no_deadline);
  CPPUNIT_TEST(a_process_that_only_removes_leaves_no_file);
  CPPUNIT_TEST(a_clock_that_was_set_back_lengthens_nothing);
  CPPUNIT_TEST(continues_drains_found_in_the_kernel);
  CPPUNIT_TEST(drains_foreign_real_servers);
  CPPUNIT_TEST(lowers_a_restored_weight_again);
  CPPUNIT_TEST(forgets_real_servers_that_others_removed);
  CPPUNIT_TEST(writes_once_per_call_and_only_changes);
  CPPUNIT_TEST(skips_invalid_lines);
  CPPUNIT_TEST(survives_a_path_that_is_not_a_file);
  CPPUNIT_TEST(follows_no_symbolic_link);
  CPPUNIT_TEST(warns_once_if_it_cannot_write);
  CPPUNIT_TEST(families_have_separate_files);
  CPPUNIT_TEST_SUITE_END();

 public:
  void keep_has_no_deadline() {
    ServerRig rig(WhenRemoved::kKeep, true);
    begin(rig);
    rig.pass(seconds(1'000'000));
    rig.writer->tick();
    CPPUNIT_ASSERT_EQUAL(0, rig.weight(kKey, 1));
    CPPUNIT_ASSERT(!std::filesystem::exists(rig.file()));
    rig.connections(kKey, 1) = 0;
    rig.writer->tick();
    CPPUNIT_ASSERT_EQUAL(-1, rig.weight(kKey, 1));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.kernel.cut);
  }

  void drain_ends_at_the_deadline() {
    ServerRig rig(WhenRemoved::kDrain, true);
    begin(rig);
    rig.pass(seconds(29));
    rig.writer->tick();
    CPPUNIT_ASSERT_EQUAL(0, rig.weight(kKey, 1));
    rig.pass(seconds(1));
    rig.writer->tick();
    CPPUNIT_ASSERT_EQUAL(-1, rig.weight(kKey, 1));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{3}, rig.kernel.cut);
    CPPUNIT_ASSERT(!std::filesystem::exists(rig.file()));
  }

  void reset_removes_at_once() {
    ServerRig rig(WhenRemoved::kReset, true);
    begin(rig);
    CPPUNIT_ASSERT_EQUAL(-1, rig.weight(kKey, 1));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig.writer->draining());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{3}, rig.kernel.cut);
    CPPUNIT_ASSERT(!std::filesystem::exists(rig.file()));
  }

  void deadlines_survive_a_restart() {
    ServerRig rig(WhenRemoved::kDrain, true);
    begin(rig);
    CPPUNIT_ASSERT_EQUAL(std::string("10.96.0.10:80/TCP 10.1.0.2:8080 1800000030\n"), rig.read_file());
    struct stat facts{};
    CPPUNIT_ASSERT_EQUAL(0, ::stat(rig.file().c_str(), &facts));
    CPPUNIT_ASSERT_EQUAL(0600u, facts.st_mode & 07777u);
    for (int i = 0; i < 2; ++i) {
      rig.pass(seconds(10));
      rig.clock = 77;  // the monotonic clock of another boot
      rig.restart();
      rig.put(kKey, reals({2}));
      rig.writer->tick();
      CPPUNIT_ASSERT_EQUAL(0, rig.weight(kKey, 1));
      CPPUNIT_ASSERT_EQUAL(std::string("10.96.0.10:80/TCP 10.1.0.2:8080 1800000030\n"), rig.read_file());
    }
    rig.pass(seconds(10));
    rig.writer->tick();
    CPPUNIT_ASSERT_EQUAL(-1, rig.weight(kKey, 1));
  }

  void a_failed_start_loses_no_deadline() {
    ServerRig rig(WhenRemoved::kDrain, true);
    const ServerKey other = server_key("10.96.0.11");
    rig.put(other, reals({1, 2}));
    rig.connections(other, 1) = 3;
    rig.put(other, reals({2}));
    begin(rig);
    rig.pass(seconds(20));
    rig.restart();
    rig.put(kKey, reals({2}));  // writes the file before the other server is put
    rig.restart();
    rig.put(other, reals({2}));
    rig.pass(seconds(10));
    rig.writer->tick();
    CPPUNIT_ASSERT_EQUAL(-1, rig.weight(other, 1));
  }

  void a_failed_call_loses_no_deadline() {
    ServerRig rig(WhenRemoved::kDrain, true);
    const std::string line = "10.96.0.10:80/TCP 10.1.0.2:8080 1800000030\n";
    rig.put(kKey, reals({1, 2}));
    rig.connections(kKey, 1) = 3;
    // The weight is lowered in one batch, and the following dump fails.
    rig.kernel.dumps_left = 0;
    CPPUNIT_ASSERT_THROW(rig.put(kKey, reals({2})), sdk::Failure);
    CPPUNIT_ASSERT_EQUAL(0, rig.weight(kKey, 1));
    CPPUNIT_ASSERT_EQUAL(line, rig.read_file());
    rig.pass(seconds(20));
    rig.restart();
    rig.put(kKey, reals({2}));
    rig.pass(seconds(10));
    rig.writer->tick();
    CPPUNIT_ASSERT_EQUAL(-1, rig.weight(kKey, 1));
    CPPUNIT_ASSERT(!std::filesystem::exists(rig.file()));
    // The same if the removal of another server fails.
    const ServerKey other = server_key("10.96.0.11");
    rig.put(other, reals({1}));
    begin(rig);
    CPPUNIT_ASSERT(std::filesystem::exists(rig.file()));
    rig.kernel.refuse = [&](const ServerCommand& command) { return command.server.key == other ? EPERM : 0; };
    CPPUNIT_ASSERT_THROW(rig.writer->remove({kKey, other}), sdk::Failure);
    CPPUNIT_ASSERT(!std::filesystem::exists(rig.file()));
  }

  void a_dump_that_misses_one_loses_no_deadline() {
    ServerRig rig(WhenRemoved::kDrain, true);
    begin(rig);
    rig.pass(seconds(20));
    const auto miss_once = [&] {
      rig.kernel.spoil_servers = [once = true](std::vector<VirtualServerState>& list) mutable {
        if (std::exchange(once, false)) list.clear();
      };
    };
    miss_once();
    rig.writer->refresh();
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.writer->draining());
    miss_once();
    rig.restart();
    rig.put(kKey, reals({2}));
    rig.pass(seconds(10));
    rig.writer->tick();
    CPPUNIT_ASSERT_EQUAL(-1, rig.weight(kKey, 1));
  }

  void a_process_that_only_removes_leaves_no_file() {
    ServerRig rig(WhenRemoved::kDrain, true);
    begin(rig);
    rig.restart();
    rig.writer->remove({kKey});
    CPPUNIT_ASSERT(!std::filesystem::exists(rig.file()));
    // Nor does a process that finds the virtual server gone.
    begin(rig);
    CPPUNIT_ASSERT(std::filesystem::exists(rig.file()));
    rig.kernel.held.clear();
    rig.restart();
    CPPUNIT_ASSERT(!std::filesystem::exists(rig.file()));
  }

  void a_clock_that_was_set_back_lengthens_nothing() {
    ServerRig rig(WhenRemoved::kDrain, true);
    begin(rig);
    rig.wall -= 1'000'000;
    rig.restart();
    rig.put(kKey, reals({2}));
    rig.pass(seconds(30));
    rig.writer->tick();
    CPPUNIT_ASSERT_EQUAL(-1, rig.weight(kKey, 1));
  }

  void continues_drains_found_in_the_kernel() {
    for (const WhenRemoved when : {WhenRemoved::kKeep, WhenRemoved::kDrain, WhenRemoved::kReset}) {
      ServerRig rig(when);
      rig.put(kKey, reals({1, 2}));
      *rig.kernel.find(kKey, real(1)) = {0, true, 4};
      rig.restart();
      rig.put(kKey, reals({2}));
      CPPUNIT_ASSERT_EQUAL(when == WhenRemoved::kReset ? -1 : 0, rig.weight(kKey, 1));
      rig.pass(seconds(30));
      rig.writer->tick();
      CPPUNIT_ASSERT_EQUAL(when == WhenRemoved::kKeep ? 0 : -1, rig.weight(kKey, 1));
      if (when != WhenRemoved::kKeep) continue;
      rig.connections(kKey, 1) = 0;
      rig.writer->tick();
      CPPUNIT_ASSERT_EQUAL(-1, rig.weight(kKey, 1));
    }
  }

  void drains_foreign_real_servers() {
    ServerRig rig;
    rig.put(kKey, reals({2}));
    rig.kernel.held[kKey].real[real(1)] = {1, true, 4};
    rig.kernel.held[kKey].real[real(3)] = {50, false, 0};
    rig.writer->refresh();
    rig.put(kKey, reals({2}));
    CPPUNIT_ASSERT_EQUAL(0, rig.weight(kKey, 1));
    CPPUNIT_ASSERT_EQUAL(-1, rig.weight(kKey, 3));
    CPPUNIT_ASSERT_EQUAL(1, rig.weight(kKey, 2));
  }

  void lowers_a_restored_weight_again() {
    ServerRig rig;
    begin(rig);
    CPPUNIT_ASSERT(!rig.writer->find_drift());
    rig.kernel.find(kKey, real(1))->weight = 1;
    CPPUNIT_ASSERT_EQUAL(std::string("real server 10.1.0.2:8080 of virtual server 10.96.0.10:80/TCP has the weight 1"),
                         rig.writer->find_drift().value_or(""));
    rig.writer->tick();
    CPPUNIT_ASSERT_EQUAL(0, rig.weight(kKey, 1));
    // No connections, but a weight: lowered first, removed in the next tick.
    *rig.kernel.find(kKey, real(1)) = {1, true, 0};
    rig.writer->tick();
    CPPUNIT_ASSERT_EQUAL(0, rig.weight(kKey, 1));
    rig.writer->tick();
    CPPUNIT_ASSERT_EQUAL(-1, rig.weight(kKey, 1));
  }

  void forgets_real_servers_that_others_removed() {
    ServerRig rig(WhenRemoved::kDrain, true);
    begin(rig);
    rig.kernel.held[kKey].real.erase(real(1));
    rig.writer->tick();
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig.writer->draining());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.writer->real_servers());
    CPPUNIT_ASSERT(!std::filesystem::exists(rig.file()));
    rig.put(kKey, reals({1, 2}));
    rig.connections(kKey, 1) = 1;
    rig.put(kKey, reals({2}));
    // Found while another virtual server is repaired.
    rig.kernel.held[kKey].real.erase(real(1));
    rig.kernel.held[kKey].real[real(3)] = {1, true, 0};
    rig.put(kKey, reals({2, 3}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig.writer->draining());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.warnings());
    rig.connections(kKey, 3) = 1;
    rig.put(kKey, reals({2}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.writer->draining());
    rig.kernel.held.erase(kKey);
    rig.writer->refresh();
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig.writer->draining());
    CPPUNIT_ASSERT(!std::filesystem::exists(rig.file()));
  }

  void writes_once_per_call_and_only_changes() {
    ServerRig rig(WhenRemoved::kDrain, true);
    begin(rig);
    const auto inode = [&] {
      struct stat facts{};
      CPPUNIT_ASSERT_EQUAL(0, ::stat(rig.file().c_str(), &facts));
      return std::pair(facts.st_ino, facts.st_mtim.tv_nsec);
    };
    const auto before = inode();
    rig.put(kKey, reals({2, 3}));
    rig.writer->tick();
    rig.writer->refresh();
    CPPUNIT_ASSERT(before == inode());
    CPPUNIT_ASSERT(!std::filesystem::exists(rig.file() + ".new"));
  }

  void skips_invalid_lines() {
    ServerRig rig(WhenRemoved::kDrain, true);
    begin(rig);
    const std::string good = rig.read_file();
    std::ofstream(rig.file()) << "\x01\x02\n" << good << "10.96.0.10:80/TCP 10.1.0.2:8080\n10.96.0.10:80/TCP x 5\n"
                              << "10.96.0.10:80/ICMP 10.1.0.2:8080 5\n10.96.0.10:99999/TCP 10.1.0.2:8080 5\n"
                              << "10.96.0.10:80/TCP 10.1.0.2:8080 -5\n[fd00::1]:80/TCP [fd00::2]:80 5\n10.96.0.10:80/T";
    rig.pass(seconds(29));
    rig.restart();
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.warnings());
    CPPUNIT_ASSERT(rig.host.lines.back().second.find("8 invalid lines in " + rig.file()) != std::string::npos);
    rig.put(kKey, reals({2}));
    rig.writer->tick();
    CPPUNIT_ASSERT_EQUAL(0, rig.weight(kKey, 1));
    rig.pass(seconds(1));
    rig.writer->tick();
    CPPUNIT_ASSERT_EQUAL(-1, rig.weight(kKey, 1));
  }

  void survives_a_path_that_is_not_a_file() {
    ServerRig rig(WhenRemoved::kDrain, true);
    begin(rig);
    std::filesystem::remove(rig.file());
    std::filesystem::create_directory(rig.file());
    rig.restart();
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.warnings());
    rig.put(kKey, reals({2}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.writer->draining());
  }

  void follows_no_symbolic_link() {
    ServerRig rig(WhenRemoved::kDrain, true);
    begin(rig);
    const std::string target = rig.file() + ".target";
    std::filesystem::rename(rig.file(), target);
    std::filesystem::create_symlink(target, rig.file());
    std::filesystem::create_symlink(target, rig.file() + ".new");
    rig.pass(seconds(1));
    rig.restart();
    CPPUNIT_ASSERT(!rig.host.lines.empty());
    CPPUNIT_ASSERT(rig.host.lines.back().second.find("cannot read") == 0);
    rig.put(kKey, reals({2}));
    CPPUNIT_ASSERT_EQUAL(std::string("10.96.0.10:80/TCP 10.1.0.2:8080 1800000031\n"), rig.read_file());
    std::filesystem::rename(target, rig.file());
    CPPUNIT_ASSERT_EQUAL(std::string("10.96.0.10:80/TCP 10.1.0.2:8080 1800000030\n"), rig.read_file());
  }

  void warns_once_if_it_cannot_write() {
    ServerRig rig(WhenRemoved::kDrain, true);
    rig.options.state_dir += "/missing";
    rig.restart();
    begin(rig);
    rig.connections(kKey, 2) = 5;
    rig.put(kKey, reals({}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.writer->draining());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.warnings());
    CPPUNIT_ASSERT(rig.host.lines.back().second.find("cannot write") == 0);
  }

  void families_have_separate_files() {
    ServerRig rig(WhenRemoved::kDrain, true);
    const abi::Family six = abi::Family::kIpv6;
    const SavedDrain drain{{*sdk::parse_address("fd00::a", six), 80, abi::Protocol::kTcp},
                           {*sdk::parse_address("fd00::1:2", six), 8080},
                           1'800'000'000};
    DrainFile(rig.options.state_dir, six, sdk::Logger(nullptr)).save({drain});
    begin(rig);
    const auto loaded = DrainFile(rig.options.state_dir, six, sdk::Logger(nullptr)).load();
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, loaded.size());
    CPPUNIT_ASSERT(loaded[0].server == drain.server && loaded[0].real == drain.real);
    CPPUNIT_ASSERT_EQUAL(drain.deadline, loaded[0].deadline);
    CPPUNIT_ASSERT(rig.read_file().find("fd00") == std::string::npos);
  }

 private:
  // Two real servers; the first has three connections and is no longer wanted.
  static void begin(ServerRig& rig) {
    rig.put(kKey, reals({1, 2}));
    rig.connections(kKey, 1) = 3;
    rig.put(kKey, reals({2}));
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(DrainsTest);

}  // namespace drains_test
}  // namespace sluice::ipvs
