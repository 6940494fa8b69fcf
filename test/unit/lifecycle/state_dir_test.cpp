// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/state_dir.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "test/unit/temporary_folder.hpp"

namespace sluice::lifecycle {
namespace state_dir_test {

// Another process, in which `work` has been done; it lives on until kill() or the end of this object.
class OtherProcess {
 public:
  explicit OtherProcess(const std::function<bool()>& work) {
    int done[2];
    CPPUNIT_ASSERT_EQUAL(0, ::pipe(done));
    number_ = ::fork();
    if (number_ == 0) {
      ::alarm(60);
      const char answer = work() ? 'y' : 'n';
      [[maybe_unused]] const ssize_t written = ::write(done[1], &answer, 1);
      for (;;) ::pause();
    }
    ::close(done[1]);
    char answer = 'n';
    [[maybe_unused]] const ssize_t size = ::read(done[0], &answer, 1);
    ::close(done[0]);
    worked_ = answer == 'y';
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;
  ~OtherProcess() { kill(); }

  bool worked() const { return worked_; }
  pid_t number() const { return number_; }
  void kill() {
    if (number_ <= 0) return;
    ::kill(number_, SIGKILL);
    ::waitpid(std::exchange(number_, 0), nullptr, 0);
  }

 private:
  pid_t number_ = 0;
  bool worked_ = false;
};

class StateDirTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(StateDirTest);
  CPPUNIT_TEST(the_folder_is_created_with_its_parents);
  CPPUNIT_TEST(a_second_daemon_fails_and_names_the_process_with_the_lock);
  CPPUNIT_TEST(the_lock_ends_with_its_holder);
  CPPUNIT_TEST(the_lock_ends_with_a_daemon_that_was_starting_a_program);
  CPPUNIT_TEST(a_file_instead_of_the_folder_is_an_error);
  CPPUNIT_TEST(the_lock_file_may_not_be_a_symlink);
  CPPUNIT_TEST(backends_have_folders);
  CPPUNIT_TEST(ids_that_are_not_directory_names_are_rejected);
  CPPUNIT_TEST(claims_survive_a_restart);
  CPPUNIT_TEST(claims_may_be_recorded_by_any_thread);
  CPPUNIT_TEST(a_corrupt_ownership_ledger_does_not_prevent_the_start);
  CPPUNIT_TEST_SUITE_END();

  std::optional<test::TemporaryFolder> folder_;

 public:
  void setUp() override { folder_.emplace(); }
  void tearDown() override { folder_.reset(); }

  void the_folder_is_created_with_its_parents() {
    StateDir dir(folder_->path("a/b"));
    CPPUNIT_ASSERT(dir.open().ok());
    struct stat info {};
    CPPUNIT_ASSERT_EQUAL(0, ::stat(folder_->path("a/b").c_str(), &info));
    CPPUNIT_ASSERT_EQUAL(0755u, static_cast<unsigned>(info.st_mode & 0777));
    CPPUNIT_ASSERT_EQUAL(folder_->path("a/b/control.sock"), dir.control_socket());
    CPPUNIT_ASSERT_EQUAL(folder_->path("a/b/holder.sock"), dir.holder_socket());
  }

  void a_second_daemon_fails_and_names_the_process_with_the_lock() {
    StateDir first(folder_->path());
    OtherProcess other([&] { return first.open().ok(); });
    CPPUNIT_ASSERT(other.worked());
    StateDir second(folder_->path());
    const lib::Status refused = second.open();
    CPPUNIT_ASSERT(refused.code() == lib::StatusCode::unavailable);
    CPPUNIT_ASSERT_EQUAL("state directory " + folder_->path() + " is in use by another sluiced (process " +
                             std::to_string(other.number()) + "); stop it or choose another with --state-dir",
                         refused.message());
    other.kill();
    CPPUNIT_ASSERT(second.open().ok());
  }

  void the_lock_ends_with_its_holder() {
    {
      StateDir first(folder_->path());
      CPPUNIT_ASSERT(first.open().ok());
    }
    OtherProcess other([&] { return StateDir(folder_->path()).open().ok(); });
    CPPUNIT_ASSERT(other.worked());
  }

  // A program has all descriptors of the daemon from its fork to its exec, and does not end with the daemon.
  void the_lock_ends_with_a_daemon_that_was_starting_a_program() {
    StateDir first(folder_->path());
    std::optional<OtherProcess> program;
    int number[2];
    CPPUNIT_ASSERT_EQUAL(0, ::pipe(number));
    OtherProcess daemon([&] {
      if (!first.open().ok()) return false;
      program.emplace([] { return true; });
      const pid_t of_program = program->number();
      return program->worked() && ::write(number[1], &of_program, sizeof of_program) == sizeof of_program;
    });
    CPPUNIT_ASSERT(daemon.worked());
    pid_t of_program = 0;
    CPPUNIT_ASSERT_EQUAL(ssize_t{sizeof of_program}, ::read(number[0], &of_program, sizeof of_program));
    for (const int end : number) ::close(end);
    daemon.kill();
    StateDir second(folder_->path());
    const lib::Status opened = second.open();
    const bool lives = ::kill(of_program, SIGKILL) == 0;
    CPPUNIT_ASSERT_MESSAGE(opened.message(), opened.ok());
    CPPUNIT_ASSERT(lives);
  }

  void a_file_instead_of_the_folder_is_an_error() {
    StateDir dir(folder_->write("file", ""));
    const lib::Status status = dir.open();
    CPPUNIT_ASSERT_EQUAL("state directory: cannot use folder " + folder_->path("file") + ": not a directory",
                         status.message());
    StateDir below(folder_->path("file/below"));
    CPPUNIT_ASSERT(!below.open().ok());
  }

  // A user with write access to the folder must not make a root daemon truncate another file.
  void the_lock_file_may_not_be_a_symlink() {
    const std::string victim = folder_->write("victim", "precious");
    CPPUNIT_ASSERT_EQUAL(0, ::symlink(victim.c_str(), folder_->path("lock").c_str()));
    StateDir dir(folder_->path());
    CPPUNIT_ASSERT(!dir.open().ok());
    CPPUNIT_ASSERT_EQUAL(std::string("precious"), folder_->read("victim"));
  }

  void backends_have_folders() {
    StateDir dir(folder_->path());
    CPPUNIT_ASSERT(dir.open().ok());
    const auto made = dir.backend_folder("com.example.dpu");
    CPPUNIT_ASSERT(made.ok());
    CPPUNIT_ASSERT_EQUAL(folder_->path("backends/com.example.dpu"), *made);
    CPPUNIT_ASSERT(std::filesystem::is_directory(*made));
    CPPUNIT_ASSERT(dir.backend_folder("com.example.dpu").ok());
  }

  void ids_that_are_not_directory_names_are_rejected() {
    StateDir dir(folder_->path());
    CPPUNIT_ASSERT(dir.open().ok());
    for (const char* id : {"", ".", "..", "../x", "a/b", ".hidden"})
      CPPUNIT_ASSERT_MESSAGE(id, !dir.backend_folder(id).ok());
  }

  void claims_survive_a_restart() {
    {
      StateDir dir(folder_->path());
      CPPUNIT_ASSERT(dir.open().ok());
      CPPUNIT_ASSERT(
          dir.record({"iptables", lib::Family::ipv4, ownership::ClaimState::serving, {}, {}, {"iptables/nat/A"}})
              .ok());
      CPPUNIT_ASSERT(
          dir.record({"ipvs", lib::Family::ipv4, ownership::ClaimState::retiring, {}, {}, {"link/l"}}).ok());
      CPPUNIT_ASSERT(dir.forget("ipvs", lib::Family::ipv4, ownership::ClaimState::retiring).ok());
    }
    StateDir dir(folder_->path());
    CPPUNIT_ASSERT(dir.open().ok());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, dir.claims().size());
    CPPUNIT_ASSERT_EQUAL(std::string("iptables"), dir.claims()[0].backend);
    CPPUNIT_ASSERT(dir.claims()[0].artifacts == ownership::Artifacts{"iptables/nat/A"});
  }

  void claims_may_be_recorded_by_any_thread() {
    StateDir dir(folder_->path());
    CPPUNIT_ASSERT(dir.open().ok());
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&dir, id = "backend-" + std::to_string(i)] {
        for (int j = 0; j < 5; ++j) {
          (void)dir.record(
              {id, lib::Family::ipv6, ownership::ClaimState::retiring, {}, {}, {"ipset/" + std::to_string(j)}});
          (void)dir.claims();
        }
      });
    }
    for (auto& thread : threads) thread.join();
    CPPUNIT_ASSERT_EQUAL(std::size_t{8}, dir.claims().size());
    for (const ownership::Claim& claim : dir.claims()) CPPUNIT_ASSERT_EQUAL(std::size_t{5}, claim.artifacts.size());
  }

  void a_corrupt_ownership_ledger_does_not_prevent_the_start() {
    folder_->write("claims.json", "{");
    StateDir dir(folder_->path());
    CPPUNIT_ASSERT(dir.open().ok());
    CPPUNIT_ASSERT(dir.claims().empty());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(StateDirTest);

}  // namespace state_dir_test
}  // namespace sluice::lifecycle
