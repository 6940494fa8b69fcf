// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Flags and files that cluster installers pass to kube-proxy: the daemon starts with each, and --check accepts each
// except for removed gates.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>
#include <vector>

#include "core/config/validate.hpp"
#include "test/unit/config/problem_text.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::config {
namespace validate_installers_test {

using Words = std::vector<std::string>;

const std::string kHead = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n";

// kubeadm writes every field, most of them empty; the file of k0s is similar.
const std::string kKubeadm = kHead + R"(bindAddress: 0.0.0.0
bindAddressHardFail: false
clientConnection: {acceptContentTypes: "", burst: 0, contentType: "", kubeconfig: /var/lib/kube-proxy/kubeconfig.conf, qps: 0}
clusterCIDR: 10.244.0.0/16
configSyncPeriod: 0s
conntrack: {maxPerCore: null, min: null, tcpBeLiberal: false, tcpCloseWaitTimeout: null, tcpEstablishedTimeout: null, udpStreamTimeout: 0s, udpTimeout: 0s}
detectLocal: {bridgeInterface: "", interfaceNamePrefix: ""}
detectLocalMode: ""
enableProfiling: false
healthzBindAddress: ""
hostnameOverride: ""
iptables: {localhostNodePorts: null, masqueradeAll: false, masqueradeBit: null, minSyncPeriod: 0s, syncPeriod: 0s}
ipvs: {excludeCIDRs: null, minSyncPeriod: 0s, scheduler: "", strictARP: false, syncPeriod: 0s, tcpFinTimeout: 0s, tcpTimeout: 0s, udpTimeout: 0s}
logging: {flushFrequency: 0, options: {json: {infoBufferSize: "0"}, text: {infoBufferSize: "0"}}, verbosity: 0}
metricsBindAddress: ""
mode: ""
nftables: {masqueradeAll: false, masqueradeBit: null, minSyncPeriod: 0s, syncPeriod: 0s}
nodePortAddresses: null
oomScoreAdj: null
portRange: ""
showHiddenMetricsForVersion: ""
winkernel: {enableDSR: false, forwardHealthCheckVip: false, networkName: "", rootHnsEndpointName: "", sourceVip: ""}
)";

const std::string kKind = kHead + R"(mode: iptables
featureGates: {"KubeletInUserNamespace": true, "DynamicResourceAllocation": true}
clientConnection: {kubeconfig: /var/lib/kube-proxy/kubeconfig.conf}
clusterCIDR: 10.244.0.0/16,fd00:10:244::/56
bindAddress: 0.0.0.0
iptables: {minSyncPeriod: 1s}
conntrack: {maxPerCore: 0}
)";

// For hosts where the user must not write limits of the whole machine.
const std::string kRootlessKind = kHead + R"(mode: iptables
featureGates: {"KubeletInUserNamespace": true, "LocalStorageCapacityIsolation": false}
clientConnection: {kubeconfig: /var/lib/kube-proxy/kubeconfig.conf}
clusterCIDR: 10.244.0.0/16
iptables: {minSyncPeriod: 1s}
conntrack: {maxPerCore: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
)";

const Words kK3s = {"--cluster-cidr=10.42.0.0/16",
                    "--conntrack-max-per-core=0",
                    "--conntrack-tcp-timeout-close-wait=0s",
                    "--conntrack-tcp-timeout-established=0s",
                    "--healthz-bind-address=127.0.0.1",
                    "--hostname-override=node-1",
                    "--kubeconfig=/var/lib/rancher/k3s/agent/kubeproxy.kubeconfig",
                    "--proxy-mode=iptables"};

const Words kTalos = {"--cluster-cidr=10.244.0.0/16", "--conntrack-max-per-core=0", "--hostname-override=node-1",
                      "--kubeconfig=/etc/kubernetes/kubeconfig", "--proxy-mode=nftables"};

// A managed cluster: gates of other components on the command line, old log flags, periods of an inactive mode.
const Words kManaged = {
    "--master=https://192.0.2.1",
    "--kubeconfig=/var/lib/kube-proxy/kubeconfig",
    "--cluster-cidr=10.44.0.0/14",
    "--oom-score-adj=-998",
    "--v=2",
    "--logtostderr=true",
    "--feature-gates=RotateKubeletServerCertificate=true,CPUManagerPolicyAlphaOptions=false,MemoryQoS=false",
    "--iptables-sync-period=1m",
    "--iptables-min-sync-period=10s",
    "--ipvs-sync-period=1m",
    "--ipvs-min-sync-period=10s",
    "--detect-local-mode=NodeCIDR"};

class InstallersTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(InstallersTest);
  CPPUNIT_TEST(kubeadm_and_k0s);
  CPPUNIT_TEST(kind_with_and_without_root);
  CPPUNIT_TEST(k3s_and_talos);
  CPPUNIT_TEST(a_managed_cluster);
  CPPUNIT_TEST_SUITE_END();

  test::TemporaryFolder folder_;

  // The problems of the command line.
  static std::string problems_of(Words words) {
    Problems problems;
    const Flags flags = parse_flags(words, problems);
    const Draft draft = read_configuration(flags, {{"/lib/plugins"}, "/run/sluice"}, problems);
    validate(draft, {{"iptables", "ipvs", "nftables", "userspace"}, "node-1"}, problems);
    return test::problem_text(problems);
  }
  Words with_file(const std::string& text) {
    return {"--config=" + folder_.write("config.conf", text), "--hostname-override=node-1"};
  }
  static Words checked(Words words) {
    words.insert(words.begin(), "--check");
    return words;
  }

 public:
  void kubeadm_and_k0s() {
    CPPUNIT_ASSERT_EQUAL(std::string(), problems_of(with_file(kKubeadm)));
    CPPUNIT_ASSERT_EQUAL(std::string(), problems_of(checked(with_file(kKubeadm))));
  }

  void kind_with_and_without_root() {
    const std::string gates = folder_.path("config.conf") + ":4: featureGates";
    const std::string of_others = "W " + gates + ": gates of other components, without effect here: ";
    const std::string with_root = of_others + "DynamicResourceAllocation, KubeletInUserNamespace\n";
    CPPUNIT_ASSERT_EQUAL(with_root, problems_of(with_file(kKind)));
    CPPUNIT_ASSERT_EQUAL(with_root, problems_of(checked(with_file(kKind))));
    const std::string removed =
        gates +
        ".LocalStorageCapacityIsolation: 'LocalStorageCapacityIsolation' is not a feature gate of Kubernetes 1.36; ";
    CPPUNIT_ASSERT_EQUAL("W " + removed + "it is ignored\n" + of_others + "KubeletInUserNamespace\n",
                         problems_of(with_file(kRootlessKind)));
    CPPUNIT_ASSERT_EQUAL("E " + removed + "remove it\n" + of_others + "KubeletInUserNamespace\n",
                         problems_of(checked(with_file(kRootlessKind))));
  }

  void k3s_and_talos() {
    for (const Words& words : {kK3s, kTalos}) {
      CPPUNIT_ASSERT_EQUAL(std::string(), problems_of(words));
      CPPUNIT_ASSERT_EQUAL(std::string(), problems_of(checked(words)));
    }
  }

  void a_managed_cluster() {
    const std::string found = problems_of(kManaged);
    CPPUNIT_ASSERT_MESSAGE(found, found.find("E ") == std::string::npos);
    CPPUNIT_ASSERT_MESSAGE(
        found,
        found.find("W --feature-gates: gates of other components, without effect here: "
                   "CPUManagerPolicyAlphaOptions, MemoryQoS, RotateKubeletServerCertificate\n") != std::string::npos);
    CPPUNIT_ASSERT_EQUAL(found, problems_of(checked(kManaged)));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(InstallersTest);

}  // namespace validate_installers_test
}  // namespace sluice::config
