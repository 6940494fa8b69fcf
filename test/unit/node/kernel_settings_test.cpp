// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Tests the kernel settings at start (BEH 9.2) with a fake /proc and /sys.
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
  CPPUNIT_TEST(only_online_processors_are_counted);
  CPPUNIT_TEST(table_size_scales_with_processors);
  CPPUNIT_TEST(defaults_are_written_if_they_differ);
  CPPUNIT_TEST(zero_keeps_kernel_settings);
  CPPUNIT_TEST(durations_are_truncated_to_seconds);
  CPPUNIT_TEST(hash_buckets_grow_but_never_shrink);
  CPPUNIT_TEST(failed_setting_is_reported_and_others_are_applied);
  CPPUNIT_TEST(missing_module_is_one_warning);
  CPPUNIT_TEST(bridge_netfilter_is_checked);
  CPPUNIT_TEST(oom_score_is_written);
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
    return apply_conntrack_settings(settings, lib::Sysctl(root_->path()), root_->path("sys"));
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

  void only_online_processors_are_counted() {
    CPPUNIT_ASSERT(count_processors(root_->path("sys")) >= 1);  // without /sys: the affinity mask
    processors(3);
    root_->write("sys/devices/system/cpu/cpu7/online", "0\n");
    root_->write("sys/devices/system/cpu/cpufreq/topology/core_id", "0\n");
    root_->write("sys/devices/system/cpu/possible", "0-7\n");
    CPPUNIT_ASSERT_EQUAL(3u, count_processors(root_->path("sys")));
  }

  void table_size_scales_with_processors() {
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{131072}, conntrack_max(sized(32768, 131072), 2));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{262144}, conntrack_max(sized(32768, 131072), 8));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1048576}, conntrack_max(sized(32768, 131072), 64));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, conntrack_max(sized(0, 131072), 64));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{20}, conntrack_max(sized(10, 0), 2));
    // The limit applies to the scaled value only; a configured minimum may exceed it.
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{2000000}, conntrack_max(sized(1, 2000000), 2));
  }

  void defaults_are_written_if_they_differ() {
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

  void zero_keeps_kernel_settings() {
    // The other settings do not exist, so that each write would be reported as a failure.
    kernel("nf_conntrack_max", "1");
    CPPUNIT_ASSERT(apply(nothing()).empty());
    CPPUNIT_ASSERT_EQUAL(std::string("1\n"), kernel("nf_conntrack_max"));
  }

  void durations_are_truncated_to_seconds() {
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

  void hash_buckets_grow_but_never_shrink() {
    processors(1);
    kernel("nf_conntrack_max", "4000");
    root_->write(kBuckets, "999\n");
    CPPUNIT_ASSERT(apply(sized(4000, 0)).empty());
    CPPUNIT_ASSERT_EQUAL(std::string("1000"), root_->read(kBuckets));
    root_->write(kBuckets, "1001\n");
    CPPUNIT_ASSERT(apply(sized(4000, 0)).empty());
    CPPUNIT_ASSERT_EQUAL(std::string("1001\n"), root_->read(kBuckets));
  }

  void failed_setting_is_reported_and_others_are_applied() {
    processors(1);
    kernel("nf_conntrack_max/x", "");  // a folder, which cannot be read
    kernel("nf_conntrack_tcp_timeout_established", "1");
    kernel("nf_conntrack_tcp_timeout_close_wait", "1");
    const auto warnings = apply({});
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, warnings.size());
    CPPUNIT_ASSERT(warnings.front().find(root_->path(kFolder + "nf_conntrack_max")) != std::string::npos);
    CPPUNIT_ASSERT_EQUAL(std::string("86400"), kernel("nf_conntrack_tcp_timeout_established"));
  }

  void missing_module_is_one_warning() {
    const auto warnings = apply({});
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, warnings.size());
    CPPUNIT_ASSERT(warnings.front().find("modprobe nf_conntrack") != std::string::npos);
  }

  void bridge_netfilter_is_checked() {
    const lib::Sysctl sysctl(root_->path());
    CPPUNIT_ASSERT_EQUAL(std::string(), check_bridge_netfilter(sysctl, false));
    CPPUNIT_ASSERT(check_bridge_netfilter(sysctl, true).find("br_netfilter is not loaded") != std::string::npos);
    root_->write("net/bridge/bridge-nf-call-iptables", "0\n");
    CPPUNIT_ASSERT(check_bridge_netfilter(sysctl, false).find("bridge-nf-call-iptables is 0") != std::string::npos);
    root_->write("net/bridge/bridge-nf-call-iptables", "1\n");
    CPPUNIT_ASSERT_EQUAL(std::string(), check_bridge_netfilter(sysctl, true));
  }

  void oom_score_is_written() {
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
