// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Modules, sysctls and timeouts of IPVS on a node in memory.
#include "plugins/ipvs/node/preparation.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <cerrno>

#include "sluice/sdk/error.hpp"
#include "test/unit/ipvs/node/fake_node.hpp"

namespace sluice::ipvs {
namespace preparation_test {

class TimeoutsOnly final : public ServerKernel {
 public:
  std::vector<VirtualServerState> servers() override { return {}; }
  std::vector<RealServerState> real_servers(const ServerKey&) override { return {}; }
  std::vector<int> execute(const std::vector<ServerCommand>&) override { return {}; }
  void set_timeouts(const IpvsTimeouts& timeouts) override {
    if (refuses) throw sdk::Failure(abi::Code::kKernel, "IPVS", "Invalid argument (EINVAL)");
    set.push_back(timeouts);
  }
  IpvsTimeouts timeouts() override { return {}; }
  std::uint64_t messages() const override { return set.size(); }
  std::vector<IpvsTimeouts> set;
  bool refuses = false;
};

std::vector<std::string> names(const std::vector<SysctlValue>& sysctls) {
  std::vector<std::string> out;
  for (const SysctlValue& value : sysctls) out.push_back(value.name + "=" + value.value);
  return out;
}

bool contains(const std::vector<std::string>& all, const std::string& part) {
  return std::any_of(all.begin(), all.end(), [&](const std::string& each) { return each.find(part) != each.npos; });
}

class PreparationTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(PreparationTest);
  CPPUNIT_TEST(reads_the_version_of_the_kernel);
  CPPUNIT_TEST(sysctls_are_those_of_the_table);
  CPPUNIT_TEST(port_reuse_depends_on_the_kernel);
  CPPUNIT_TEST(strict_arp_only_when_asked_for);
  CPPUNIT_TEST(writes_what_differs_and_nothing_else);
  CPPUNIT_TEST(each_failed_write_is_a_sentence);
  CPPUNIT_TEST(loads_missing_modules);
  CPPUNIT_TEST(requests_each_module_once);
  CPPUNIT_TEST(timeouts_go_together_and_zero_keeps);
  CPPUNIT_TEST(warnings_are_not_repeated);
  CPPUNIT_TEST_SUITE_END();

  Settings settings_;
  FakeNode node_;
  TimeoutsOnly kernel_;
  Modules modules_;
  static constexpr KernelVersion kNew{6, 1};

 public:
  void setUp() override {
    settings_ = Settings();
    node_ = FakeNode();
    kernel_ = TimeoutsOnly();
    modules_ = Modules();
  }

  void reads_the_version_of_the_kernel() {
    CPPUNIT_ASSERT((parse_kernel_version("5.10.0-28-amd64") == KernelVersion{5, 10}));
    CPPUNIT_ASSERT((parse_kernel_version("6.12") == KernelVersion{6, 12}));
    CPPUNIT_ASSERT((parse_kernel_version("rolling") == KernelVersion{0, 0}));
    CPPUNIT_ASSERT(kernel_version().major >= 3);
    CPPUNIT_ASSERT((KernelVersion{5, 10} > KernelVersion{5, 9}));
    CPPUNIT_ASSERT((KernelVersion{4, 19} < KernelVersion{5, 0}));
  }

  void sysctls_are_those_of_the_table() {  // BEH 6.1
    CPPUNIT_ASSERT((names(wanted_sysctls(settings_, kNew)) ==
                    std::vector<std::string>{"net/ipv4/vs/conntrack=1", "net/ipv4/vs/expire_nodest_conn=1",
                                             "net/ipv4/vs/expire_quiescent_template=1", "net/ipv4/ip_forward=1"}));
  }

  void port_reuse_depends_on_the_kernel() {  // case 124
    const std::string off = "net/ipv4/vs/conn_reuse_mode=0";
    const auto wanted = [&](unsigned major, unsigned minor) {
      return contains(names(wanted_sysctls(settings_, {major, minor})), off);
    };
    CPPUNIT_ASSERT(!wanted(3, 10));
    CPPUNIT_ASSERT(!wanted(4, 0));
    CPPUNIT_ASSERT(wanted(4, 1));
    CPPUNIT_ASSERT(wanted(5, 8));
    CPPUNIT_ASSERT(!wanted(5, 9));
    CPPUNIT_ASSERT(!wanted(5, 15));
    CPPUNIT_ASSERT(!wanted(6, 12));
    // Newer: not set, but a warning if it has the value older kernels need.
    node_.sysctls["net/ipv4/vs/conn_reuse_mode"] = "0";
    CPPUNIT_ASSERT(contains(prepare_node(settings_, kNew, kernel_, node_, modules_), "conn_reuse_mode is 0"));
    CPPUNIT_ASSERT_EQUAL(std::string("0"), node_.sysctls["net/ipv4/vs/conn_reuse_mode"]);
    node_.sysctls["net/ipv4/vs/conn_reuse_mode"] = "1";
    CPPUNIT_ASSERT(prepare_node(settings_, kNew, kernel_, node_, modules_).empty());
    CPPUNIT_ASSERT(prepare_node(settings_, {5, 4}, kernel_, node_, modules_).empty());
    CPPUNIT_ASSERT_EQUAL(std::string("0"), node_.sysctls["net/ipv4/vs/conn_reuse_mode"]);
    node_.sysctls.erase("net/ipv4/vs/conn_reuse_mode");
    CPPUNIT_ASSERT(contains(prepare_node(settings_, {3, 10}, kernel_, node_, modules_), "kernel 3.10 has no"));
  }

  void strict_arp_only_when_asked_for() {
    (void)prepare_node(settings_, kNew, kernel_, node_, modules_);
    CPPUNIT_ASSERT_EQUAL(std::string("0"), node_.sysctls["net/ipv4/conf/all/arp_ignore"]);
    CPPUNIT_ASSERT_EQUAL(std::string("0"), node_.sysctls["net/ipv4/conf/all/arp_announce"]);
    settings_.strict_arp = true;
    (void)prepare_node(settings_, kNew, kernel_, node_, modules_);
    CPPUNIT_ASSERT_EQUAL(std::string("1"), node_.sysctls["net/ipv4/conf/all/arp_ignore"]);
    CPPUNIT_ASSERT_EQUAL(std::string("2"), node_.sysctls["net/ipv4/conf/all/arp_announce"]);
  }

  void writes_what_differs_and_nothing_else() {
    CPPUNIT_ASSERT(prepare_node(settings_, kNew, kernel_, node_, modules_).empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{4}, node_.written.size());
    CPPUNIT_ASSERT(prepare_node(settings_, kNew, kernel_, node_, modules_).empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{4}, node_.written.size());
  }

  void each_failed_write_is_a_sentence() {
    node_.write_error = EROFS;
    node_.sysctls["net/ipv4/ip_forward"] = "1";
    const auto warnings = prepare_node(settings_, kNew, kernel_, node_, modules_);
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, warnings.size());
    CPPUNIT_ASSERT_EQUAL(
        std::string("cannot set net.ipv4.vs.conntrack to 1: Read-only file system (EROFS), so connections to Services "
                    "are not masqueraded, and rules for established ones miss them; set it on the node: sysctl -w "
                    "net.ipv4.vs.conntrack=1"),
        warnings[0]);
    node_.write_error = 0;
    node_.sysctls.erase("net/ipv4/vs/conntrack");
    CPPUNIT_ASSERT(contains(prepare_node(settings_, kNew, kernel_, node_, modules_), "is the module ip_vs loaded?"));
  }

  void loads_missing_modules() {
    settings_.scheduler = "wrr";
    node_.modules = {"ip_vs", "nf_conntrack", "ip_set"};
    modules_.load(settings_, node_);
    CPPUNIT_ASSERT((node_.loaded == std::vector<std::string>{"-qa ip_vs_wrr xt_set xt_ipvs", "-q dummy numdummies=0"}));
    node_.loaded.clear();
    node_.modules = {"ip_vs", "ip_vs_wrr", "nf_conntrack", "ip_set", "xt_set", "xt_ipvs", "dummy"};
    modules_.load(settings_, node_);
    CPPUNIT_ASSERT(node_.loaded.empty());
  }

  // Built-in modules do not show in /sys.
  void requests_each_module_once() {
    node_.modules = {"ip_vs", "nf_conntrack"};
    (void)prepare_node(settings_, kNew, kernel_, node_, modules_);
    const std::vector<std::string> asked{"-qa ip_vs_rr ip_set xt_set xt_ipvs", "-q dummy numdummies=0"};
    CPPUNIT_ASSERT(asked == node_.loaded);
    node_.loaded.clear();
    (void)prepare_node(settings_, kNew, kernel_, node_, modules_);
    CPPUNIT_ASSERT(node_.loaded.empty());
    settings_.scheduler = "sh";
    (void)prepare_node(settings_, kNew, kernel_, node_, modules_);
    CPPUNIT_ASSERT(std::vector<std::string>{"-qa ip_vs_sh"} == node_.loaded);
    node_.loaded.clear();
    // Unloaded after it was loaded.
    node_.modules = {"nf_conntrack", "ip_set"};
    (void)prepare_node(settings_, kNew, kernel_, node_, modules_);
    CPPUNIT_ASSERT(std::vector<std::string>{"-qa ip_vs"} == node_.loaded);
    node_.loaded.clear();
    node_.modules = {"ip_vs", "nf_conntrack"};
    (void)prepare_node(settings_, kNew, kernel_, node_, modules_);
    CPPUNIT_ASSERT(std::vector<std::string>{"-qa ip_set"} == node_.loaded);
    node_.loaded.clear();
    settings_.scheduler = "rr";
    modules_.forget();
    (void)prepare_node(settings_, kNew, kernel_, node_, modules_);
    CPPUNIT_ASSERT(asked == node_.loaded);
  }

  void timeouts_go_together_and_zero_keeps() {
    (void)prepare_node(settings_, kNew, kernel_, node_, modules_);
    CPPUNIT_ASSERT(kernel_.set.empty());
    settings_.tcp_timeout = std::chrono::seconds(900);
    settings_.udp_timeout = std::chrono::seconds(30);
    (void)prepare_node(settings_, kNew, kernel_, node_, modules_);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, kernel_.set.size());
    CPPUNIT_ASSERT_EQUAL(900u, kernel_.set[0].tcp);
    CPPUNIT_ASSERT_EQUAL(0u, kernel_.set[0].tcp_fin);
    CPPUNIT_ASSERT_EQUAL(30u, kernel_.set[0].udp);
    kernel_.refuses = true;
    CPPUNIT_ASSERT((prepare_node(settings_, kNew, kernel_, node_, modules_) ==
                    std::vector<std::string>{
                        "cannot set the timeouts of IPVS, which stay as they are: Invalid argument (EINVAL)"}));
  }

  void warnings_are_not_repeated() {
    NewWarnings warnings;
    CPPUNIT_ASSERT((warnings.take_new({"a", "b"}) == std::vector<std::string>{"a", "b"}));
    CPPUNIT_ASSERT((warnings.take_new({"b", "c"}) == std::vector<std::string>{"c"}));
    CPPUNIT_ASSERT(warnings.take_new({"b", "c"}).empty());
    // A warning that is back counts as new.
    CPPUNIT_ASSERT(warnings.take_new({}).empty());
    CPPUNIT_ASSERT((warnings.take_new({"b"}) == std::vector<std::string>{"b"}));
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(PreparationTest);

}  // namespace preparation_test
}  // namespace sluice::ipvs
