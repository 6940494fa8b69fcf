// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What is asked of the kernel at start (BEH 9.2), on a made-up /proc and /sys.
#include "core/node/kernel_settings.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <optional>

#include "test/unit/temporary_folder.hpp"

namespace sluice::node {
namespace kernel_settings_test {

using namespace std::chrono_literals;

const std::string kFolder = "net/netfilter/";
const std::string kBuckets = "sys/module/nf_conntrack/parameters/hashsize";

class KernelSettingsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(KernelSettingsTest);
  CPPUNIT_TEST(processors_are_those_online);
  CPPUNIT_TEST(the_table_grows_with_the_processors_within_bounds);
  CPPUNIT_TEST(the_defaults_are_written_where_they_differ);
  CPPUNIT_TEST(zero_leaves_everything_alone);
  CPPUNIT_TEST(durations_are_cut_to_seconds);
  CPPUNIT_TEST(buckets_grow_and_never_shrink);
  CPPUNIT_TEST(what_cannot_be_written_is_said_and_the_rest_is_done);
  CPPUNIT_TEST(without_the_module_there_is_one_sentence);
  CPPUNIT_TEST(bridges_go_past_the_rules);
  CPPUNIT_TEST(the_oom_score_is_written);
  CPPUNIT_TEST_SUITE_END();

  std::optional<test::TemporaryFolder> root_;

  void processors(int count) {
    for (int i = 0; i < count; ++i) {
      root_->write("sys/devices/system/cpu/cpu" + std::to_string(i) + "/topology/core_id", "0\n");
    }
  }
  void kernel(const std::string& name, const std::string& value) { root_->write(kFolder + name, value + "\n"); }
  std::string kernel(const std::string& name) { return root_->read(kFolder + name); }
  std::vector<std::string> apply(const ConntrackSettings& settings) {
    return apply_conntrack_settings(settings, Sysctl(root_->path()), root_->path("sys"));
  }
  static ConntrackSettings nothing() {
    ConntrackSettings out;
    out.max_per_core = 0;
    out.tcp_established_timeout = out.tcp_close_wait_timeout = 0s;
    return out;
  }
  static ConntrackSettings sized(int per_core, int min) {
    ConntrackSettings out = nothing();
    out.max_per_core = per_core;
    out.min = min;
    return out;
  }

 public:
  void setUp() override { root_.emplace(); }
  void tearDown() override { root_.reset(); }

  void processors_are_those_online() {
    CPPUNIT_ASSERT(count_processors(root_->path("sys")) >= 1);  // without /sys: what the scheduler says
    processors(3);
    root_->write("sys/devices/system/cpu/cpu7/online", "0\n");
    root_->write("sys/devices/system/cpu/cpufreq/topology/core_id", "0\n");
    root_->write("sys/devices/system/cpu/possible", "0-7\n");
    CPPUNIT_ASSERT_EQUAL(3u, count_processors(root_->path("sys")));
  }

  void the_table_grows_with_the_processors_within_bounds() {
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{131072}, conntrack_max(sized(32768, 131072), 2));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{262144}, conntrack_max(sized(32768, 131072), 8));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1048576}, conntrack_max(sized(32768, 131072), 64));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, conntrack_max(sized(0, 131072), 64));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{20}, conntrack_max(sized(10, 0), 2));
    // The bound is for what grew with the processors; a minimum is somebody's wish.
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{2000000}, conntrack_max(sized(1, 2000000), 2));
  }

  void the_defaults_are_written_where_they_differ() {
    processors(2);
    kernel("nf_conntrack_max", "65536");
    kernel("nf_conntrack_tcp_timeout_established", "432000");
    kernel("nf_conntrack_tcp_timeout_close_wait", "3600");
    kernel("nf_conntrack_tcp_be_liberal", "0");
    root_->write(kBuckets, "65536\n");
    CPPUNIT_ASSERT(apply({}).empty());
    CPPUNIT_ASSERT_EQUAL(std::string("131072"), kernel("nf_conntrack_max"));
    CPPUNIT_ASSERT_EQUAL(std::string("86400"), kernel("nf_conntrack_tcp_timeout_established"));
    CPPUNIT_ASSERT_EQUAL(std::string("3600\n"), kernel("nf_conntrack_tcp_timeout_close_wait"));  // untouched
    CPPUNIT_ASSERT_EQUAL(std::string("0\n"), kernel("nf_conntrack_tcp_be_liberal"));
  }

  void zero_leaves_everything_alone() {
    // Nothing is there to be written: every attempt would be told.
    kernel("nf_conntrack_max", "1");
    CPPUNIT_ASSERT(apply(nothing()).empty());
    CPPUNIT_ASSERT_EQUAL(std::string("1\n"), kernel("nf_conntrack_max"));
  }

  void durations_are_cut_to_seconds() {
    ConntrackSettings settings = nothing();
    settings.udp_timeout = 1999ms;
    settings.udp_stream_timeout = 90s;
    settings.tcp_be_liberal = true;
    for (const char* name : {"nf_conntrack_udp_timeout", "nf_conntrack_udp_timeout_stream"}) kernel(name, "30");
    kernel("nf_conntrack_tcp_be_liberal", "0");
    CPPUNIT_ASSERT(apply(settings).empty());
    CPPUNIT_ASSERT_EQUAL(std::string("1"), kernel("nf_conntrack_udp_timeout"));
    CPPUNIT_ASSERT_EQUAL(std::string("90"), kernel("nf_conntrack_udp_timeout_stream"));
    CPPUNIT_ASSERT_EQUAL(std::string("1"), kernel("nf_conntrack_tcp_be_liberal"));
  }

  void buckets_grow_and_never_shrink() {
    processors(1);
    kernel("nf_conntrack_max", "4000");
    root_->write(kBuckets, "999\n");
    CPPUNIT_ASSERT(apply(sized(4000, 0)).empty());
    CPPUNIT_ASSERT_EQUAL(std::string("1000"), root_->read(kBuckets));
    root_->write(kBuckets, "1001\n");
    CPPUNIT_ASSERT(apply(sized(4000, 0)).empty());
    CPPUNIT_ASSERT_EQUAL(std::string("1001\n"), root_->read(kBuckets));
  }

  void what_cannot_be_written_is_said_and_the_rest_is_done() {
    processors(1);
    kernel("nf_conntrack_max/x", "");  // a folder cannot be read, whoever tries
    kernel("nf_conntrack_tcp_timeout_established", "1");
    kernel("nf_conntrack_tcp_timeout_close_wait", "1");
    const auto said = apply({});
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, said.size());
    CPPUNIT_ASSERT(said.front().find(root_->path(kFolder + "nf_conntrack_max")) != std::string::npos);
    CPPUNIT_ASSERT_EQUAL(std::string("86400"), kernel("nf_conntrack_tcp_timeout_established"));
  }

  void without_the_module_there_is_one_sentence() {
    const auto said = apply({});
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, said.size());
    CPPUNIT_ASSERT(said.front().find("modprobe nf_conntrack") != std::string::npos);
  }

  void bridges_go_past_the_rules() {
    const Sysctl sysctl(root_->path());
    CPPUNIT_ASSERT_EQUAL(std::string(), check_bridge_netfilter(sysctl, false));
    CPPUNIT_ASSERT(check_bridge_netfilter(sysctl, true).find("br_netfilter is not loaded") != std::string::npos);
    root_->write("net/bridge/bridge-nf-call-iptables", "0\n");
    CPPUNIT_ASSERT(check_bridge_netfilter(sysctl, false).find("bridge-nf-call-iptables is 0") != std::string::npos);
    root_->write("net/bridge/bridge-nf-call-iptables", "1\n");
    CPPUNIT_ASSERT_EQUAL(std::string(), check_bridge_netfilter(sysctl, true));
  }

  void the_oom_score_is_written() {
    const std::string file = root_->write("oom_score_adj", "");
    CPPUNIT_ASSERT(set_oom_score(-999, file).ok());
    CPPUNIT_ASSERT_EQUAL(std::string("-999"), root_->read("oom_score_adj"));
    CPPUNIT_ASSERT_EQUAL("cannot set " + root_->path("none") + " to 5: No such file or directory",
                         set_oom_score(5, root_->path("none")).message());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(KernelSettingsTest);

}  // namespace kernel_settings_test
}  // namespace sluice::node
