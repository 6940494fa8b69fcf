// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Changes of files by all methods that tools use: case 138.
#include "core/reload/file_watch.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>

#include "core/reload/file_chain.hpp"
#include "lib/sha256.hpp"
#include "test/unit/patience.hpp"
#include "test/unit/plugin/captured_log.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::reload {
namespace file_watch_test {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class FileWatchTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(FileWatchTest);
  CPPUNIT_TEST(reports_a_write_in_place_once);
  CPPUNIT_TEST(reports_a_replaced_file);
  CPPUNIT_TEST(does_not_report_unchanged_content);
  CPPUNIT_TEST(follows_a_config_map);
  CPPUNIT_TEST(reports_a_switched_link);
  CPPUNIT_TEST(logs_a_removed_file_once_and_compares_it_when_it_returns);
  CPPUNIT_TEST(reports_a_replaced_folder);
  CPPUNIT_TEST(reports_a_file_in_a_folder_that_is_created_later);
  CPPUNIT_TEST(it_waits_for_quiet);
  CPPUNIT_TEST(reports_a_change_despite_endless_events);
  CPPUNIT_TEST(ignores_other_names_of_the_folder);
  CPPUNIT_TEST(follow_replaces_the_watched_files);
  CPPUNIT_TEST(compares_a_new_file_with_its_active_content);
  CPPUNIT_TEST(follow_keeps_the_known_content);
  CPPUNIT_TEST(follow_does_not_read_a_file_that_is_being_written);
  CPPUNIT_TEST(does_not_report_accepted_content);
  CPPUNIT_TEST(reports_simultaneous_changes_together);
  CPPUNIT_TEST(checks_files_periodically_without_inotify);
  CPPUNIT_TEST(reports_a_write_of_the_same_size_within_a_tick);
  CPPUNIT_TEST(reports_nothing_after_stop);
  CPPUNIT_TEST(chains_contain_all_folders_of_the_path);
  CPPUNIT_TEST_SUITE_END();

  std::unique_ptr<test::TemporaryFolder> folder_;
  std::unique_ptr<test::CapturedLog> log_;
  std::mutex mutex_;
  std::condition_variable more_;
  std::vector<std::vector<std::string>> reports_;
  std::unique_ptr<FileWatch> watch_;

 public:
  void setUp() override {
    folder_ = std::make_unique<test::TemporaryFolder>();
    log_ = std::make_unique<test::CapturedLog>();
    reports_.clear();
  }
  void tearDown() override {
    watch_.reset();
    log_.reset();
    folder_.reset();
  }

 private:
  void start(std::vector<WatchedFile> files, FileWatch::Options options = {.quiet = 20ms}) {
    watch_ = std::make_unique<FileWatch>(
        [this](const std::vector<std::string>& paths) {
          const std::lock_guard lock(mutex_);
          reports_.push_back(paths);
          more_.notify_all();
        },
        options);
    watch_->follow(std::move(files));
    CPPUNIT_ASSERT(watch_->start().ok());
  }
  std::string path(const std::string& name) const { return folder_->path(name); }
  // The file has the new content at once. With a file that is truncated or created first, a busy machine could stop the
  // test in between for as long as the quiet, and the watch would report an empty file.
  std::string put(const std::string& name, const std::string& text) const {
    const std::string where = path(name);
    if (const lib::Fd file(::open(where.c_str(), O_WRONLY | O_CLOEXEC)); file.valid()) {
      const auto size = static_cast<ssize_t>(text.size());
      CPPUNIT_ASSERT_EQUAL(size, ::pwrite(file.get(), text.data(), text.size(), 0));
      struct stat data {};
      CPPUNIT_ASSERT_EQUAL(0, ::fstat(file.get(), &data));
      if (data.st_size > size) CPPUNIT_ASSERT_EQUAL(0, ::ftruncate(file.get(), size));
      return where;
    }
    const std::string whole = where + ".whole";
    std::ofstream(whole) << text << std::flush;
    fs::create_hard_link(whole, where);
    fs::remove(whole);
    return where;
  }
  void replace(const std::string& name, const std::string& text) const {
    fs::rename(put(name + ".new", text), path(name));
  }
  // Switches a link atomically, as Kubernetes does.
  void link(const std::string& name, const std::string& target) const {
    fs::create_symlink(target, path(name + ".new"));
    fs::rename(path(name + ".new"), path(name));
  }
  // The next report.
  std::vector<std::string> next() {
    std::unique_lock lock(mutex_);
    CPPUNIT_ASSERT_MESSAGE("no change is reported",
                           more_.wait_for(lock, test::stretched(20s), [this] { return !reports_.empty(); }));
    auto out = reports_.front();
    reports_.erase(reports_.begin());
    return out;
  }
  void expect(const std::string& name) { CPPUNIT_ASSERT(next() == std::vector<std::string>{path(name)}); }
  // No report precedes that of this change.
  void expect_nothing_before(const std::string& name) {
    put(name, "barrier " + std::to_string(++barriers_));
    expect(name);
    const std::lock_guard lock(mutex_);
    CPPUNIT_ASSERT(reports_.empty());
  }
  int barriers_ = 0;

  // The longest time between two steps of a test, in which the files may have been quiet.
  class Steps {
   public:
    void next() {
      const auto now = std::chrono::steady_clock::now();
      longest_ = std::max(longest_, now - last_);
      last_ = now;
    }
    std::chrono::steady_clock::duration longest() const { return longest_; }

   private:
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
    std::chrono::steady_clock::duration longest_{0};
  };
  // Runs `act` between two reports of the watch. If the machine is so busy that two steps are as far apart as the
  // quiet, the attempt proves nothing, and the next one has twice the quiet. Returns the quiet of the attempt that
  // counts.
  template <class Prepare, class Act>
  std::chrono::milliseconds without_quiet(std::chrono::milliseconds quiet, Prepare prepare, Act act) {
    for (;; quiet *= 2) {
      CPPUNIT_ASSERT_MESSAGE("the machine is too busy for this test", quiet < 60s);
      watch_.reset();
      reports_.clear();
      prepare(quiet);
      Steps steps;
      act(steps);
      steps.next();
      if (steps.longest() < quiet) return quiet;
    }
  }

 public:
  void reports_a_write_in_place_once() {
    put("c", "a");
    start({{path("c")}, {put("barrier", "")}});
    put("c", "b");
    expect("c");
    expect_nothing_before("barrier");
  }

  void reports_a_replaced_file() {
    put("c", "a");
    start({{path("c")}});
    for (const char* text : {"b", "c", "d"}) {
      replace("c", text);
      expect("c");
    }
    put("c", "e");  // the new file is watched, not the old one
    expect("c");
  }

  void does_not_report_unchanged_content() {
    put("c", "a");
    start({{path("c")}, {put("barrier", "")}});
    CPPUNIT_ASSERT_EQUAL(0, ::utimensat(AT_FDCWD, path("c").c_str(), nullptr, 0));
    expect_nothing_before("barrier");
    put("c", "a");
    expect_nothing_before("barrier");
    replace("c", "a");
    expect_nothing_before("barrier");
    fs::permissions(path("c"), fs::perms::owner_read);
    expect_nothing_before("barrier");
  }

  void follows_a_config_map() {
    fs::create_directory(path("..1"));
    put("..1/c", "a");
    fs::create_symlink("..1", path("..data"));
    fs::create_symlink("..data/c", path("c"));
    start({{path("c")}});
    for (int i = 2; i < 6; ++i) {
      const std::string version = ".." + std::to_string(i);
      fs::create_directory(path(version));
      put(version + "/c", "text " + std::to_string(i));
      link("..data", version);
      expect("c");
      fs::remove_all(path(".." + std::to_string(i - 1)));
    }
    CPPUNIT_ASSERT_MESSAGE(log_->text(), log_->lines().empty());
  }

  void reports_a_switched_link() {
    fs::create_directories(path("x/y"));
    put("x/y/one", "1");
    put("two", "2");
    fs::create_symlink(path("x/y/one"), path("c"));
    start({{path("c")}});
    put("x/y/one", "1a");
    expect("c");
    link("c", "two");
    expect("c");
    put("two", "2a");
    expect("c");
    // The path does not resolve to it any more.
    put("x/y/one", "1b");
    put("two", "2b");
    expect("c");
  }

  void logs_a_removed_file_once_and_compares_it_when_it_returns() {
    put("c", "a");
    start({{path("c")}, {put("barrier", "")}});
    fs::remove(path("c"));
    expect_nothing_before("barrier");
    put("unrelated", "");
    expect_nothing_before("barrier");
    CPPUNIT_ASSERT_EQUAL_MESSAGE(log_->text(), std::size_t{1}, log_->lines().size());
    CPPUNIT_ASSERT_MESSAGE(
        log_->text(), log_->text().find("WARN sluice.reload cannot read " + path("c") +
                                        ": No such file or directory; keeping its last content") != std::string::npos);
    put("c", "a");
    expect_nothing_before("barrier");
    fs::remove(path("c"));
    put("c", "b");
    expect("c");
  }

  void reports_a_replaced_folder() {
    fs::create_directory(path("d"));
    put("d/c", "a");
    start({{path("d/c")}});
    fs::create_directory(path("e"));
    put("e/c", "b");
    fs::rename(path("d"), path("old"));
    fs::rename(path("e"), path("d"));
    CPPUNIT_ASSERT(next() == std::vector<std::string>{path("d/c")});
    put("d/c", "c");
    CPPUNIT_ASSERT(next() == std::vector<std::string>{path("d/c")});
  }

  void reports_a_file_in_a_folder_that_is_created_later() {
    start({{path("a/b/c"), lib::sha256("old")}, {put("barrier", "")}});
    fs::create_directories(path("a/b"));
    expect_nothing_before("barrier");
    put("a/b/c", "old");
    expect_nothing_before("barrier");
    put("a/b/c", "new");
    CPPUNIT_ASSERT(next() == std::vector<std::string>{path("a/b/c")});
  }

  void it_waits_for_quiet() {
    const auto prepare = [&](std::chrono::milliseconds quiet) {
      put("c", "a");
      start({{path("c")}}, {.quiet = quiet, .longest_noise = 1h});
    };
    const auto quiet = without_quiet(400ms, prepare, [&](Steps& steps) {
      std::ofstream out(path("c"), std::ios::trunc);
      for (int i = 0; i < 8; ++i) {
        out << "part " << i << std::flush;
        steps.next();
        std::this_thread::sleep_for(50ms);  // fixed time: a writer that pauses for less than the quiet
      }
      out.close();
    });
    expect("c");
    std::this_thread::sleep_for(quiet + 100ms);  // fixed time: nothing more is reported
    const std::lock_guard lock(mutex_);
    CPPUNIT_ASSERT(reports_.empty());
  }

  void reports_a_change_despite_endless_events() {
    put("c", "a");
    start({{path("c")}}, {.quiet = 200ms, .longest_noise = 400ms});
    std::atomic<bool> stop{false};
    std::thread noise([&] {
      for (int i = 0; !stop; ++i) {
        put("c", std::to_string(i));
        std::this_thread::sleep_for(10ms);  // fixed time: far less than the quiet
      }
    });
    bool reported = false;
    {
      std::unique_lock lock(mutex_);
      reported = more_.wait_for(lock, test::stretched(20s), [this] { return !reports_.empty(); });
    }
    stop = true;
    noise.join();
    CPPUNIT_ASSERT(reported);
  }

  void ignores_other_names_of_the_folder() {
    put("c", "a");
    start({{path("c")}, {put("barrier", "")}});
    for (int i = 0; i < 20; ++i) put("other" + std::to_string(i), "x");
    expect_nothing_before("barrier");
  }

  void follow_replaces_the_watched_files() {
    put("one", "1");
    put("two", "2");
    start({{path("one")}});
    watch_->follow({{path("two")}});
    put("one", "1a");
    expect_nothing_before("two");
    watch_->follow({});
    put("two", "2a");
    watch_->follow({{path("one")}});
    expect_nothing_before("one");
  }

  void compares_a_new_file_with_its_active_content() {
    put("one", "1");
    put("two", "2");
    start({{path("one"), lib::sha256("1")}});
    watch_->follow({{path("one")}, {path("two"), lib::sha256("before")}});
    expect("two");
    // A reported change is not reported again, whatever the active content is.
    watch_->follow({{path("one")}, {path("two"), lib::sha256("before")}});
    expect_nothing_before("one");
  }

  void follow_keeps_the_known_content() {
    put("c", "a");
    start({{path("c")}}, {.quiet = 300ms});
    put("c", "b");
    // follow() before the quiet ends: the change is still reported, and once.
    watch_->follow({{path("c")}});
    expect("c");
    std::this_thread::sleep_for(400ms);  // fixed time: nothing more is reported
    const std::lock_guard lock(mutex_);
    CPPUNIT_ASSERT(reports_.empty());
  }

  void follow_does_not_read_a_file_that_is_being_written() {
    const auto prepare = [&](std::chrono::milliseconds quiet) {
      put("c", "a");
      start({{path("c")}}, {.quiet = quiet});
    };
    const auto quiet = without_quiet(400ms, prepare, [&](Steps&) {
      std::ofstream out(path("c"), std::ios::trunc);
      out << "half" << std::flush;
      watch_->follow({{path("c")}});
      out << " and half" << std::flush;
      out.close();
    });
    expect("c");
    std::this_thread::sleep_for(quiet + 100ms);  // fixed time: nothing more is reported
    const std::lock_guard lock(mutex_);
    CPPUNIT_ASSERT(reports_.empty());
  }

  void does_not_report_accepted_content() {
    const auto prepare = [&](std::chrono::milliseconds quiet) {
      put("c", "a");
      start({{path("c")}, {put("barrier", "")}}, {.quiet = quiet});
    };
    without_quiet(200ms, prepare, [&](Steps&) {
      put("c", "b");
      watch_->accept_current_content();  // the daemon reads the file now
    });
    expect_nothing_before("barrier");
    put("c", "c");
    expect("c");
    fs::remove(path("c"));
    watch_->accept_current_content();
    put("c", "c");
    expect_nothing_before("barrier");
  }

  void reports_simultaneous_changes_together() {
    const auto prepare = [&](std::chrono::milliseconds quiet) {
      put("one", "1");
      put("two", "2");
      start({{path("two")}, {path("one")}}, {.quiet = quiet});
    };
    without_quiet(300ms, prepare, [&](Steps&) {
      put("one", "1a");
      put("two", "2a");
    });
    CPPUNIT_ASSERT(next() == (std::vector<std::string>{path("one"), path("two")}));
  }

  void checks_files_periodically_without_inotify() {
    put("c", "a");
    rlimit before{};
    CPPUNIT_ASSERT_EQUAL(0, ::getrlimit(RLIMIT_NOFILE, &before));
    // Room for the eventfd and for nothing else.
    const int next_free = ::dup(0);
    ::close(next_free);
    rlimit tight = before;
    tight.rlim_cur = static_cast<rlim_t>(next_free + 1);
    CPPUNIT_ASSERT_EQUAL(0, ::setrlimit(RLIMIT_NOFILE, &tight));
    watch_ = std::make_unique<FileWatch>(
        [this](const std::vector<std::string>& paths) {
          const std::lock_guard lock(mutex_);
          reports_.push_back(paths);
          more_.notify_all();
        },
        FileWatch::Options{.quiet = 20ms, .poll = 50ms});
    const auto status = watch_->start();
    ::setrlimit(RLIMIT_NOFILE, &before);
    CPPUNIT_ASSERT_MESSAGE(status.message(), status.ok());
    watch_->follow({{path("c")}});
    put("c", "b");
    expect("c");
    replace("c", "c");
    expect("c");
    int warnings = 0;
    for (const auto& line : log_->lines())
      warnings += line.find("Too many open files; raise fs.inotify") != std::string::npos;
    CPPUNIT_ASSERT_EQUAL_MESSAGE(log_->text(), 1, warnings);
  }

  void reports_a_write_of_the_same_size_within_a_tick() {
    put("c", "0");
    start({{path("c")}}, {.quiet = 1ms});
    for (int i = 1; i < 30; ++i) {
      put("c", std::to_string(i % 10));
      expect("c");
    }
  }

  void reports_nothing_after_stop() {
    put("c", "a");
    start({{path("c")}});
    watch_->stop();
    put("c", "b");
    watch_->follow({{path("c")}});  // returns
    const std::lock_guard lock(mutex_);
    CPPUNIT_ASSERT(reports_.empty());
  }

  void chains_contain_all_folders_of_the_path() {
    fs::create_directories(path("r/1"));
    put("r/1/c", "a");
    fs::create_symlink("1", path("r/d"));
    fs::create_symlink("r/d/../d/c", path("c"));
    const auto chain = follow_path(path("c"));
    CPPUNIT_ASSERT_EQUAL(path("r/1/c"), chain.file);
    CPPUNIT_ASSERT(chain.folders.at(folder_->path()).contains("c"));
    CPPUNIT_ASSERT(chain.folders.at(folder_->path()).contains("r"));
    CPPUNIT_ASSERT(chain.folders.at(path("r")) == (std::set<std::string>{"1", "d"}));
    CPPUNIT_ASSERT(chain.folders.at(path("r/1")) == std::set<std::string>{"c"});
    CPPUNIT_ASSERT(chain.folders.contains("/"));

    fs::create_symlink("ring", path("ring"));
    CPPUNIT_ASSERT_EQUAL(std::string(), follow_path(path("ring")).file);
    CPPUNIT_ASSERT_EQUAL(std::string(), follow_path(path("r/1/c/below")).file);
    const auto missing = follow_path(path("no/such/file"));
    CPPUNIT_ASSERT(missing.file.empty() && missing.folders.at(folder_->path()).contains("no"));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(FileWatchTest);

}  // namespace file_watch_test
}  // namespace sluice::reload
