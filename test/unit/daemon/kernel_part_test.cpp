// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/daemon/kernel_part.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <memory>

#include "test/unit/plugin/captured_log.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::daemon {
namespace kernel_part_test {

using Texts = std::vector<std::string>;

class KernelPartTest : public CppUnit::TestFixture, public NodeObserver {
  CPPUNIT_TEST_SUITE(KernelPartTest);
  CPPUNIT_TEST(concerned_only_by_its_own_settings);
  CPPUNIT_TEST(settings_are_written_at_start_and_on_reload);
  CPPUNIT_TEST(a_failed_write_is_reported_and_not_an_error);
  CPPUNIT_TEST(settings_that_are_no_longer_set_are_named);
  CPPUNIT_TEST(abandon_writes_nothing);
  CPPUNIT_TEST_SUITE_END();

  std::unique_ptr<test::TemporaryFolder> folder_;
  std::unique_ptr<test::CapturedLog> log_;
  Texts failed_;
  int changed_ = 0;
  std::unique_ptr<KernelPart> part_;

 public:
  void setUp() override {
    folder_ = std::make_unique<test::TemporaryFolder>();
    log_ = std::make_unique<test::CapturedLog>();
    failed_.clear();
    changed_ = 0;
    for (const char* name : {"max", "tcp_timeout_established", "tcp_timeout_close_wait", "tcp_be_liberal",
                             "udp_timeout", "udp_timeout_stream"}) {
      folder_->write(std::string("proc/net/netfilter/nf_conntrack_") + name, "1\n");
    }
    folder_->write("oom", "0\n");
    folder_->write("sys/module/nf_conntrack/parameters/hashsize", "1000000\n");
    part_ = std::make_unique<KernelPart>(
        *this, KernelPaths{folder_->path("proc"), folder_->path("sys"), folder_->path("oom")});
  }
  void tearDown() override {
    part_.reset();
    log_.reset();
    folder_.reset();
  }

 private:
  // NodeObserver
  void node_facts_changed() override { ++changed_; }
  void conntrack_settings_failed(const Texts& sentences) override { failed_ = sentences; }

  std::string written(const std::string& name) const {
    return folder_->read("proc/net/netfilter/nf_conntrack_" + name);
  }
  static config::Settings with_close_wait(std::chrono::seconds time) {
    config::Settings out;
    out.conntrack.tcp_close_wait_timeout = time;
    return out;
  }

 public:
  void concerned_only_by_its_own_settings() {
    config::Settings other;
    CPPUNIT_ASSERT(!part_->concerned(config::Settings(), other));
    other.masquerade_all = true;
    CPPUNIT_ASSERT(!part_->concerned(config::Settings(), other));
    other.oom_score_adj = 5;
    CPPUNIT_ASSERT(part_->concerned(config::Settings(), other));
    CPPUNIT_ASSERT(part_->concerned(config::Settings(), with_close_wait(std::chrono::seconds(7))));
    config::Settings bridge;
    bridge.local_detector.mode = node::DetectLocalMode::bridge_interface;
    CPPUNIT_ASSERT(part_->concerned(config::Settings(), bridge));
  }

  void settings_are_written_at_start_and_on_reload() {
    const config::Settings first = with_close_wait(std::chrono::seconds(60));
    CPPUNIT_ASSERT_MESSAGE(log_->text(), part_->apply(first).empty());
    CPPUNIT_ASSERT_EQUAL(std::string("60"), written("tcp_timeout_close_wait"));
    CPPUNIT_ASSERT_EQUAL(std::string("-999"), folder_->read("oom"));
    folder_->write("oom", "");  // the kernel replaces the whole value
    config::Settings second = with_close_wait(std::chrono::seconds(90));
    second.oom_score_adj = 7;
    CPPUNIT_ASSERT(part_->prepare(first, second).ok());
    CPPUNIT_ASSERT_EQUAL(std::string("60"), written("tcp_timeout_close_wait"));
    CPPUNIT_ASSERT(part_->commit().done == Texts{"kernel settings: written"});
    CPPUNIT_ASSERT_EQUAL(std::string("90"), written("tcp_timeout_close_wait"));
    CPPUNIT_ASSERT_EQUAL(std::string("7"), folder_->read("oom"));
    CPPUNIT_ASSERT_EQUAL(1, changed_);
    // The OOM score is not a node fact.
    config::Settings third = second;
    third.oom_score_adj = 8;
    CPPUNIT_ASSERT(part_->prepare(second, third).ok());
    part_->commit();
    CPPUNIT_ASSERT_EQUAL(1, changed_);
  }

  void a_failed_write_is_reported_and_not_an_error() {
    std::filesystem::remove_all(folder_->path("oom"));
    std::filesystem::create_directory(folder_->path("oom"));
    const config::Settings first;
    config::Settings second;
    second.oom_score_adj = 3;
    CPPUNIT_ASSERT(part_->prepare(first, second).ok());
    const auto done = part_->commit().done;
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, done.size());
    CPPUNIT_ASSERT_MESSAGE(done[0],
                           done[0].starts_with("kernel settings: ") && done[0].find("oom") != std::string::npos);
    CPPUNIT_ASSERT_MESSAGE(log_->text(), log_->text().find("WARN sluice.node") != std::string::npos);
    std::filesystem::remove(folder_->path("proc/net/netfilter/nf_conntrack_tcp_timeout_close_wait"));
    std::filesystem::create_directory(folder_->path("proc/net/netfilter/nf_conntrack_tcp_timeout_close_wait"));
    part_->apply(with_close_wait(std::chrono::seconds(5)));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, failed_.size());
  }

  void settings_that_are_no_longer_set_are_named() {
    config::Settings first;
    first.conntrack.tcp_be_liberal = true;
    config::Settings second;
    second.conntrack.tcp_close_wait_timeout = {};
    CPPUNIT_ASSERT(part_->prepare(first, second).ok());
    const auto done = part_->commit().done;
    CPPUNIT_ASSERT_EQUAL(
        std::string("kernel settings: keeping the current kernel values of settings removed from conntrack: "
                    "tcpCloseWaitTimeout, tcpBeLiberal"),
        done.back());
  }

  void abandon_writes_nothing() {
    CPPUNIT_ASSERT(part_->prepare(config::Settings(), with_close_wait(std::chrono::seconds(90))).ok());
    part_->abandon();
    CPPUNIT_ASSERT_EQUAL(std::string("1\n"), written("tcp_timeout_close_wait"));
    CPPUNIT_ASSERT_EQUAL(0, changed_);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(KernelPartTest);

}  // namespace kernel_part_test
}  // namespace sluice::daemon
