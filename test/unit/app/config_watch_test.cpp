// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/app/config_watch.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <chrono>
#include <filesystem>
#include <future>

#include "test/unit/app/temporary_folder.hpp"

namespace sluice::app {
namespace {

class ConfigWatchTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ConfigWatchTest);
  CPPUNIT_TEST(a_write_in_place_is_told_once);
  CPPUNIT_TEST(a_rename_of_the_file_is_told);
  CPPUNIT_TEST(rights_removal_and_a_new_file_of_the_name_are_not_told);
  CPPUNIT_TEST(a_file_that_is_not_there_cannot_be_watched);
  CPPUNIT_TEST_SUITE_END();

  test::TemporaryFolder folder_;
  const std::string path_ = folder_.write("c.yaml", "a");
  std::promise<void> told_;  // a second set_value() would throw on the watch's thread and end the test program
  ConfigWatch watch_;

  void start() { CPPUNIT_ASSERT(watch_.start(path_, [this] { told_.set_value(); }).ok()); }
  void require_told() {
    CPPUNIT_ASSERT(told_.get_future().wait_for(std::chrono::seconds(30)) == std::future_status::ready);
  }

 public:
  void a_write_in_place_is_told_once() {  // case 138
    start();
    folder_.write("c.yaml", "b");
    folder_.write("c.yaml", "c");
    require_told();
    watch_.stop();
  }

  void a_rename_of_the_file_is_told() {
    start();
    std::filesystem::rename(path_, folder_.path("d.yaml"));
    require_told();
  }

  void rights_removal_and_a_new_file_of_the_name_are_not_told() {  // case 138
    start();
    std::filesystem::permissions(path_, std::filesystem::perms::owner_read);
    folder_.write("new", "b");
    std::filesystem::rename(folder_.path("new"), path_);
    std::filesystem::remove(path_);
    folder_.write("c.yaml", "c");
    // What is told comes in order: the end of the watch comes after all of it.
    watch_.stop();
    CPPUNIT_ASSERT(told_.get_future().wait_for(std::chrono::seconds(0)) == std::future_status::timeout);
  }

  void a_file_that_is_not_there_cannot_be_watched() {
    const auto status = watch_.start(folder_.path("nowhere"), [] {});
    CPPUNIT_ASSERT(!status.ok());
    CPPUNIT_ASSERT(status.message().find("nowhere for changes: No such file") != std::string::npos);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ConfigWatchTest);

}  // namespace
}  // namespace sluice::app
