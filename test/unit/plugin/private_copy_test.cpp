// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/plugin/private_copy.hpp"

#include <cppunit/extensions/HelperMacros.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <thread>

#include "core/plugin/loader.hpp"
#include "lib/files.hpp"
#include "test/unit/plugin/zoo_folder.hpp"

namespace sluice::plugin {
namespace private_copy_test {

namespace fs = std::filesystem;
using lib::Status;
using test::require_contains;
using test::ZooFolder;

class PrivateCopyTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(PrivateCopyTest);
  CPPUNIT_TEST(copy_keeps_the_content);
  CPPUNIT_TEST(copy_is_read_only);
  CPPUNIT_TEST(sealing_busy_memory_is_retried);
  CPPUNIT_TEST(sealing_busy_memory_fails_after_the_timeout);
  CPPUNIT_TEST(copy_is_removed_with_its_owner);
  CPPUNIT_TEST(each_copy_has_a_unique_path);
  CPPUNIT_TEST(missing_file_is_named);
  CPPUNIT_TEST(errors_name_the_original_file);
  CPPUNIT_TEST_SUITE_END();

  ZooFolder zoo_;

  void copy_keeps_the_content() {
    const fs::path file = zoo_.write("mine.so", "before");
    const auto copy = PrivateCopy::make(file);
    CPPUNIT_ASSERT_EQUAL(std::string(), copy.status().message());
    zoo_.write("mine.so", "after");
    CPPUNIT_ASSERT_EQUAL(std::string("before"), lib::read_file(copy->path().string()).value());
    CPPUNIT_ASSERT_EQUAL(std::string("/memfd:mine.so (deleted)"), fs::read_symlink(copy->path()).string());
  }

  void copy_is_read_only() {
    const auto copy = PrivateCopy::make(zoo_.add("good"));
    const lib::Fd open_to_write(open(copy->path().c_str(), O_RDWR | O_CLOEXEC));
    CPPUNIT_ASSERT(open_to_write.valid());
    CPPUNIT_ASSERT_EQUAL(ssize_t{-1}, pwrite(open_to_write.get(), "x", 1, 0));
    CPPUNIT_ASSERT_EQUAL(EPERM, errno);
  }

  // Memory that cannot be sealed because of a writable mapping, as if the kernel held a page.
  struct Busy {
    Busy() : memory(memfd_create("busy", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
      CPPUNIT_ASSERT_EQUAL(0, ftruncate(memory.get(), 4096));
      void* const made = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
      CPPUNIT_ASSERT(made != MAP_FAILED);
      mapped = made;
    }
    ~Busy() { end(); }
    void end() {
      if (void* const was = mapped.exchange(nullptr); was != nullptr) munmap(was, 4096);
    }
    lib::Fd memory;
    std::atomic<void*> mapped = nullptr;
  };

  void sealing_busy_memory_is_retried() {
    using Clock = std::chrono::steady_clock;
    for (;;) {
      Busy busy;
      const auto begin = Clock::now();
      Clock::time_point end;
      std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));  // fixed time: the first attempts to seal fail
        busy.end();
        end = Clock::now();
      });
      const int error = seal_against_changes(busy.memory.get());
      other.join();
      // On an overloaded machine the other thread may run after the last attempt, two seconds after the first.
      if (error == EBUSY && end - begin > std::chrono::seconds(1)) continue;
      CPPUNIT_ASSERT_EQUAL(0, error);
      CPPUNIT_ASSERT_EQUAL(ssize_t{-1}, pwrite(busy.memory.get(), "x", 1, 0));
      return;
    }
  }

  void sealing_busy_memory_fails_after_the_timeout() {
    const Busy busy;
    CPPUNIT_ASSERT_EQUAL(EBUSY, seal_against_changes(busy.memory.get()));
    CPPUNIT_ASSERT_EQUAL(EBADF, seal_against_changes(-1));
  }

  void copy_is_removed_with_its_owner() {
    fs::path path;
    {
      const auto copy = PrivateCopy::make(zoo_.add("good"));
      path = copy->path();
      CPPUNIT_ASSERT(fs::exists(path));
    }
    CPPUNIT_ASSERT(!fs::exists(path));
  }

  void each_copy_has_a_unique_path() {
    const fs::path file = zoo_.add("good");
    std::set<std::string> paths;
    // Consecutive copies get the same descriptor number.
    for (int i = 0; i < 100; ++i) paths.insert(PrivateCopy::make(file)->path().string());
    CPPUNIT_ASSERT_EQUAL(std::size_t{100}, paths.size());
  }

  void missing_file_is_named() {
    const auto copy = PrivateCopy::make(zoo_.path() / "none.so");
    require_contains(copy.status().message(), "none.so: copy check: open: No such file");
  }

  // Location checks apply to the original file, content checks to the copy.
  void errors_name_the_original_file() {
    const fs::path file = zoo_.add("wrong_magic");
    LoadRequest request = zoo_.request("wrong_magic");
    request.copy = true;
    const auto refuse = [&](const char* what) {
      const Status status = load_plugin(request).status();
      require_contains(status.message(), "plugin " + request.file.string() + ": " + what);
      CPPUNIT_ASSERT_MESSAGE(status.message(), status.message().find("/proc/self") == std::string::npos);
    };
    fs::permissions(file, fs::perms(0666));
    refuse("permission check");
    fs::permissions(file, fs::perms(0644));
    refuse("magic check");
    zoo_.write("wrong_magic.so", "text");
    refuse("format check");
    fs::copy_file(zoo_.add("unresolved_symbol"), file, fs::copy_options::overwrite_existing);
    refuse("load check: undefined symbol");
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(PrivateCopyTest);

}  // namespace private_copy_test
}  // namespace sluice::plugin
