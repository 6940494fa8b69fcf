// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/access/kubeconfig.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <map>

#include "core/kube/access/base64.hpp"
#include "core/kube/access/credentials.hpp"
#include "test/unit/kube/pem.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::kube {
namespace kubeconfig_test {

class KubeconfigTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(KubeconfigTest);
  CPPUNIT_TEST(a_token_and_an_inline_ca_are_read);
  CPPUNIT_TEST(files_are_relative_to_the_kubeconfig);
  CPPUNIT_TEST(the_current_context_is_used);
  CPPUNIT_TEST(without_a_current_context_the_one_without_a_name_is_used);
  CPPUNIT_TEST(a_token_file_takes_precedence_over_a_token);
  CPPUNIT_TEST(basic_auth_is_read);
  CPPUNIT_TEST(missing_fields_are_named);
  CPPUNIT_TEST(contradictory_fields_are_rejected);
  CPPUNIT_TEST(unsupported_settings_are_rejected_by_name);
  CPPUNIT_TEST(a_key_without_a_certificate_is_not_used);
  CPPUNIT_TEST(a_credential_program_is_read);
  CPPUNIT_TEST(unusable_credential_programs_are_rejected);
  CPPUNIT_TEST(the_cluster_extension_is_passed_to_the_program);
  CPPUNIT_TEST(impersonation_is_read);
  CPPUNIT_TEST(the_proxy_of_a_kubeconfig_takes_precedence_over_the_environment);
  CPPUNIT_TEST(unusable_credentials_fail_at_startup);
  CPPUNIT_TEST(broken_files_are_rejected);
  CPPUNIT_TEST(errors_never_contain_credentials);
  CPPUNIT_TEST(master_overrides_the_server);
  CPPUNIT_TEST(master_alone_is_enough);
  CPPUNIT_TEST(a_pod_needs_no_kubeconfig);
  CPPUNIT_TEST(a_pod_without_token_is_an_error);
  CPPUNIT_TEST(an_empty_kubeconfig_means_in_cluster);
  CPPUNIT_TEST_SUITE_END();

 public:
  void setUp() override {
    request_.environment = [this](const std::string& name) { return environment_[name]; };
    request_.service_account_dir = folder_.path("serviceaccount");
  }

 private:
  // A kubeconfig with these members of cluster and user.
  std::string config(const std::string& cluster, const std::string& user) {
    return folder_.write(
        "config",
        "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- name: c\n  context: {cluster: k, user: u}\n"
        "clusters:\n- name: k\n  cluster: {" +
            cluster + "}\nusers:\n- name: u\n  user: {" + user + "}\n");
  }
  lib::Result<ConnectionConfig> load(const std::string& cluster, const std::string& user) {
    request_.kubeconfig = config(cluster, user);
    return find_connection(request_);
  }
  lib::Result<ConnectionConfig> load_text(const std::string& text) {
    request_.kubeconfig = folder_.write("config", text);
    return find_connection(request_);
  }
  // The error without the random name of the folder.
  std::string why(const lib::Result<ConnectionConfig>& result) {
    std::string text = result.status().message();
    for (auto at = text.find(folder_.path()); at != std::string::npos; at = text.find(folder_.path()))
      text.replace(at, folder_.path().size() + 1, "");
    return text;
  }
  std::string why(const std::string& cluster, const std::string& user) { return why(load(cluster, user)); }

  void a_token_and_an_inline_ca_are_read() {
    const auto got =
        load("server: 'https://10.0.0.1:6443', certificate-authority-data: " + base64_encode(pem_.certificate),
             "token: abc");
    CPPUNIT_ASSERT_MESSAGE(got.status().message(), got.ok());
    CPPUNIT_ASSERT_EQUAL(std::string("https://10.0.0.1:6443"), got->server.to_string());
    CPPUNIT_ASSERT_EQUAL(pem_.certificate, got->ca.inline_content);
    CPPUNIT_ASSERT_EQUAL(std::string("Bearer abc"), Credentials(*got).load()->authorization);
  }

  void files_are_relative_to_the_kubeconfig() {
    folder_.write("pki/ca.crt", pem_.certificate);
    folder_.write("pki/c.crt", pem_.certificate + pem_.certificate);
    folder_.write("pki/c.key", pem_.key);
    const auto got = load("server: 'https://a.example', certificate-authority: pki/ca.crt, tls-server-name: b.example",
                          "client-certificate: pki/c.crt, client-key: " + folder_.path("pki/c.key"));
    CPPUNIT_ASSERT_MESSAGE(got.status().message(), got.ok());
    CPPUNIT_ASSERT_EQUAL(folder_.path("pki/ca.crt"), got->ca.file);
    CPPUNIT_ASSERT_EQUAL(std::string("b.example"), got->tls_server_name);
    CPPUNIT_ASSERT_EQUAL(pem_.key, Credentials(*got).load()->tls.key_pem);
  }

  void the_current_context_is_used() {
    const auto got = load_text(
        "current-context: b\ncontexts:\n- {name: a, context: {cluster: a, user: a}}\n- {name: b, context: {cluster: "
        "b}}\n"
        "clusters:\n- {name: a, cluster: {server: 'https://a'}}\n- {name: b, cluster: {server: 'https://b:1'}}\n");
    CPPUNIT_ASSERT_MESSAGE(got.status().message(), got.ok());
    CPPUNIT_ASSERT_EQUAL(std::string("https://b:1"), got->server.to_string());
  }

  void without_a_current_context_the_one_without_a_name_is_used() {
    const std::string clusters =
        "clusters: [{name: a, cluster: {server: 'https://a'}}, {name: b, cluster: {server: 'https://b:1'}}]\n";
    const auto got = load_text(clusters + "contexts: [{name: a, context: {cluster: a}}, {context: {cluster: b}}]\n");
    CPPUNIT_ASSERT_MESSAGE(got.status().message(), got.ok());
    CPPUNIT_ASSERT_EQUAL(std::string("https://b:1"), got->server.to_string());
    const auto selected = load_text(
        clusters + "current-context: a\ncontexts: [{context: {cluster: b}}, {name: a, context: {cluster: a}}]\n");
    CPPUNIT_ASSERT_EQUAL(std::string("https://a:443"), selected->server.to_string());
    CPPUNIT_ASSERT_EQUAL(std::string("config: current-context is missing; set it with kubectl config use-context"),
                         why(load_text(clusters + "contexts: [{name: a, context: {cluster: a}}, 5]\n")));
    CPPUNIT_ASSERT_EQUAL(std::string("config: contexts has two entries called \"\"; remove one"),
                         why(load_text(clusters + "contexts: [{context: {cluster: a}}, {context: {cluster: b}}]\n")));
  }

  void a_token_file_takes_precedence_over_a_token() {
    folder_.write("t", "from-file\n");
    const auto got = load("server: 'https://a'", "token: inline, tokenFile: t");
    CPPUNIT_ASSERT_EQUAL(std::string("Bearer from-file"), Credentials(*got).load()->authorization);
  }

  void basic_auth_is_read() {
    const auto got = load("server: 'https://a'", "username: me, password: 'p:w'");
    CPPUNIT_ASSERT_EQUAL("Basic " + base64_encode("me:p:w"), Credentials(*got).load()->authorization);
  }

  void missing_fields_are_named() {
    CPPUNIT_ASSERT_EQUAL(std::string("config: clusters[k].cluster.server is missing; write https://host:port"),
                         why("", ""));
    CPPUNIT_ASSERT_EQUAL(std::string("config: current-context is missing; set it with kubectl config use-context"),
                         why(load_text("clusters: [{name: a, cluster: {server: 'https://a'}}]")));
    CPPUNIT_ASSERT_EQUAL(
        std::string("config: current-context names \"x\", which contexts does not have; correct one of the two"),
        why(load_text("current-context: x")));
    CPPUNIT_ASSERT_EQUAL(
        std::string("config: contexts[x].context.user names \"u\", which users does not have; correct one of the two"),
        why(load_text("current-context: x\ncontexts: [{name: x, context: {cluster: k, user: u}}]\nclusters: [{name: k, "
                      "cluster: {server: 'https://a'}}]")));
    CPPUNIT_ASSERT_EQUAL(
        std::string("config: users[u].user.client-key is missing, though there is a client-certificate; add the key"),
        why("server: 'https://a'", "client-certificate-data: " + base64_encode(pem_.certificate)));
    request_.kubeconfig = folder_.path("none");
    CPPUNIT_ASSERT_EQUAL(std::string("the kubeconfig: cannot read none: No such file or directory"),
                         why(find_connection(request_)));
  }

  void contradictory_fields_are_rejected() {
    CPPUNIT_ASSERT_EQUAL(std::string("config: clusters[k].cluster.certificate-authority and certificate-authority-data "
                                     "are both set; keep one of them"),
                         why("server: 'https://a', certificate-authority: a, certificate-authority-data: YQ==", ""));
    CPPUNIT_ASSERT_EQUAL(std::string("config: clusters[k].cluster.insecure-skip-tls-verify is true although a "
                                     "certificate-authority is given; keep one of them"),
                         why("server: 'https://a', insecure-skip-tls-verify: true, certificate-authority: a", ""));
    CPPUNIT_ASSERT_EQUAL(
        std::string("config: users[u].user.username is set together with a token; keep one way to log in"),
        why("server: 'https://a'", "token: a, username: b"));
    CPPUNIT_ASSERT_EQUAL(
        std::string("config: users[u].user.password is set together with a token; keep one way to log in"),
        why("server: 'https://a'", "token: a, password: b"));
    for (const char* name : {"client-certificate", "client-key"}) {
      CPPUNIT_ASSERT_EQUAL(
          std::string("config: users[u].user.") + name + " and " + name + "-data are both set; keep one of them",
          why("server: 'https://a'", std::string(name) + ": a, " + name + "-data: YQ=="));
    }
    CPPUNIT_ASSERT_EQUAL(
        std::string("config: clusters has two entries called \"k\"; remove one"),
        why(load_text(
            "current-context: x\ncontexts: [{name: x, context: {cluster: k}}]\n"
            "clusters: [{name: k, cluster: {server: 'https://a'}}, {name: k, cluster: {server: 'https://b'}}]")));
  }

  void unsupported_settings_are_rejected_by_name() {
    CPPUNIT_ASSERT_EQUAL(std::string("config: users[u].user.auth-provider is set, and such providers no longer exist; "
                                     "use exec, a token, a tokenFile or a client certificate"),
                         why("server: 'https://a'", "auth-provider: {name: gcp}"));
    for (const char* scheme : {"https", "socks5"}) {
      CPPUNIT_ASSERT_EQUAL(std::string("config: clusters[k].cluster.proxy-url: proxies of scheme ") + scheme +
                               " are not supported, only http is; name an HTTP proxy",
                           why(std::string("server: 'https://a', proxy-url: '") + scheme + "://me:S3CR3T@p'", ""));
    }
    CPPUNIT_ASSERT_EQUAL(
        std::string("config: clusters[k].cluster.proxy-url: this is not the URL of a proxy: the scheme "
                    "is missing; write it as http://host:port"),
        why("server: 'https://a', proxy-url: 'p:3128'", ""));
  }

  void a_key_without_a_certificate_is_not_used() {
    const auto got = load("server: 'https://a'", "client-key: /nowhere/key");
    CPPUNIT_ASSERT_MESSAGE(got.status().message(), got.ok());
    CPPUNIT_ASSERT(!got->client_key.given());
  }

  void a_credential_program_is_read() {
    const std::string program = folder_.write("bin/give", "#!/bin/sh\n");
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    const auto got = load("server: 'https://a'",
                          "exec: {apiVersion: client.authentication.k8s.io/v1, command: bin/give, args: [a, '1'], "
                          "env: [{name: N, value: v}], interactiveMode: IfAvailable, provideClusterInfo: true}");
    CPPUNIT_ASSERT_MESSAGE(got.status().message(), got.ok());
    CPPUNIT_ASSERT_EQUAL(program, got->exec->command);
    CPPUNIT_ASSERT(got->exec->args == std::vector<std::string>({"a", "1"}));
    CPPUNIT_ASSERT(got->exec->env.at(0) == std::pair(std::string("N"), std::string("v")));
    CPPUNIT_ASSERT(got->exec->provide_cluster_info && got->exec->cluster_config.empty());
  }

  void unusable_credential_programs_are_rejected() {
    const auto exec = [&](const std::string& members) { return why("server: 'https://a'", "exec: {" + members + "}"); };
    const std::string v1 = "apiVersion: client.authentication.k8s.io/v1, ";
    const std::string field = "config: users[u].user.exec.";
    CPPUNIT_ASSERT_EQUAL(field +
                             "apiVersion is missing; write client.authentication.k8s.io/v1 or "
                             "client.authentication.k8s.io/v1beta1",
                         exec("command: x"));
    CPPUNIT_ASSERT(exec("apiVersion: client.authentication.k8s.io/v1alpha1, command: x")
                       .starts_with(field + "apiVersion is a version that this program does not know"));
    CPPUNIT_ASSERT_EQUAL(field + "interactiveMode is missing; write Never or IfAvailable", exec(v1 + "command: x"));
    CPPUNIT_ASSERT_EQUAL(field +
                             "interactiveMode is Always, and a daemon has no terminal; use a program that works "
                             "without one",
                         exec(v1 + "command: x, interactiveMode: Always"));
    CPPUNIT_ASSERT(exec(v1 + "command: x, interactiveMode: Sometimes").find("none of Never") != std::string::npos);
    CPPUNIT_ASSERT_EQUAL(field + "command is missing; name the program", exec(v1 + "interactiveMode: Never"));
    CPPUNIT_ASSERT_EQUAL(field + "env[0].name is missing; name the variable",
                         exec(v1 + "interactiveMode: Never, command: x, env: [{value: v}]"));
    CPPUNIT_ASSERT_EQUAL(std::string("config: users[u].user.exec in config: the credential program no-such-program is "
                                     "not there, or not executable; how to install it: run   setup"),
                         exec("apiVersion: client.authentication.k8s.io/v1beta1, command: no-such-program, "
                              "installHint: \"run\\n\\n setup\\n\""));
  }

  void the_cluster_extension_is_passed_to_the_program() {
    const std::string program = folder_.write("give", "#!/bin/sh\n");
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    const auto got = load(
        "server: 'https://a', extensions: [{name: other, extension: 1}, {name: "
        "client.authentication.k8s.io/exec, extension: {audience: 'x\"y', n: 5, s: '5'}}]",
        "exec: {apiVersion: client.authentication.k8s.io/v1, command: ./give, interactiveMode: Never, "
        "provideClusterInfo: true}");
    CPPUNIT_ASSERT_MESSAGE(got.status().message(), got.ok());
    CPPUNIT_ASSERT_EQUAL(std::string(R"({"audience":"x\"y","n":5,"s":"5"})"), got->exec->cluster_config);
  }

  void impersonation_is_read() {
    const auto got = load("server: 'https://a'",
                          "token: t, as: jane, as-uid: '7', as-groups: [g1, g2], as-user-extra: {scope: [a, b]}");
    CPPUNIT_ASSERT_MESSAGE(got.status().message(), got.ok());
    CPPUNIT_ASSERT_EQUAL(std::string("jane"), got->impersonate.user);
    CPPUNIT_ASSERT_EQUAL(std::string("7"), got->impersonate.uid);
    CPPUNIT_ASSERT(got->impersonate.groups == std::vector<std::string>({"g1", "g2"}));
    CPPUNIT_ASSERT_EQUAL(std::string("scope"), got->impersonate.extra.at(0).first);
    CPPUNIT_ASSERT_EQUAL(
        std::string("config: users[u].user.as-groups is set without as; name the user to be taken for"),
        why("server: 'https://a'", "as-groups: [g]"));
    CPPUNIT_ASSERT_EQUAL(
        std::string("config: as holds control characters, which no HTTP header can carry; remove them"),
        why("server: 'https://a'", R"(as: "a\r\nX: y")"));
  }

  void the_proxy_of_a_kubeconfig_takes_precedence_over_the_environment() {
    environment_["HTTPS_PROXY"] = "http://env:1";
    environment_["NO_PROXY"] = "a";
    CPPUNIT_ASSERT_EQUAL(std::string("http://p:3128"),
                         load("server: 'https://a', proxy-url: 'http://p:3128'", "")->proxy->to_string());
    CPPUNIT_ASSERT(!load("server: 'https://a'", "")->proxy);
    CPPUNIT_ASSERT_EQUAL(std::string("http://env:1"), load("server: 'https://b'", "")->proxy->to_string());
  }

  void unusable_credentials_fail_at_startup() {
    const std::string server = "server: 'https://a'";
    CPPUNIT_ASSERT_EQUAL(
        std::string("config: clusters[k].cluster.certificate-authority-data is not base64; encode it again"),
        why(server + ", certificate-authority-data: '###'", ""));
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            "config: clusters[k].cluster.certificate-authority-data in config: holds no CA certificate in PEM form"),
        why(server + ", certificate-authority-data: YQ==", ""));
    CPPUNIT_ASSERT_EQUAL(std::string("config: the CA certificate: cannot read ca.crt: No such file or directory"),
                         why(server + ", certificate-authority: ca.crt", ""));
    CPPUNIT_ASSERT_EQUAL(std::string("config: the token: cannot read t: No such file or directory"),
                         why(server, "tokenFile: t"));
    folder_.write("empty", " \n");
    CPPUNIT_ASSERT_EQUAL(std::string("config: the token empty is empty"), why(server, "tokenFile: empty"));
    const std::string certificate =
        "client-certificate-data: " + base64_encode(pem_.certificate) + ", client-key-data: ";
    CPPUNIT_ASSERT(why(server, certificate + base64_encode(test::make_pem().key))
                       .find("the key does not belong to the certificate") != std::string::npos);
    CPPUNIT_ASSERT(why(server, certificate + base64_encode(pem_.encrypted_key))
                       .find("holds no unencrypted private key in PEM form") != std::string::npos);
    CPPUNIT_ASSERT(
        why(server, "client-certificate-data: YQ==, client-key-data: YQ==").find("holds no certificate in PEM form") !=
        std::string::npos);
  }

  void broken_files_are_rejected() {
    CPPUNIT_ASSERT_EQUAL(
        std::string("config: line 2 is not valid YAML: end of sequence flow not found; correct the file"),
        why(load_text("a: [1,\n")));
    CPPUNIT_ASSERT_EQUAL(std::string("config: the file is not a kubeconfig; point --kubeconfig at one"),
                         why(load_text("- a\n")));
    CPPUNIT_ASSERT_EQUAL(std::string("config: kind is \"Pod\", not Config; point --kubeconfig at a kubeconfig"),
                         why(load_text("kind: Pod\n")));
    CPPUNIT_ASSERT_EQUAL(std::string("config: contexts is not a list; correct the file"),
                         why(load_text("current-context: a\ncontexts: {}\n")));
    CPPUNIT_ASSERT_EQUAL(std::string("config: current-context is not a text; write a single value"),
                         why(load_text("current-context: [a]\n")));
    CPPUNIT_ASSERT_EQUAL(std::string("config: contexts[0] is not an entry with a name; correct the file"),
                         why(load_text("current-context: a\ncontexts: [5]\n")));
    CPPUNIT_ASSERT(why("server: 'ftp://a'", "").find("the scheme is neither https nor http") != std::string::npos);
  }

  void errors_never_contain_credentials() {
    const std::string secret = "S3CR3T";
    for (const char* user : {"token: 'S3CR3T ', username: x", "token: 'S3CR3T S3CR3T'",
                             "client-key-data: S3CR3T##, client-certificate-data: YQ==", "token: \"S3CR3T",
                             "token: [S3CR3T]", "password: {S3CR3T: 1}"}) {
      const auto got = load("server: 'https://a'", user);
      CPPUNIT_ASSERT_MESSAGE(user, !got.ok());
      CPPUNIT_ASSERT_MESSAGE(got.status().message(), got.status().message().find(secret) == std::string::npos);
    }
    for (const char* server : {"https://me:S3CR3T@a", "ftp://me:S3CR3T@a", "me:S3CR3T@a:x", "https://me:S3CR3T/x@a"}) {
      const auto url = load(std::string("server: '") + server + "'", "");
      CPPUNIT_ASSERT_MESSAGE(server, !url.ok() && url.status().message().find(secret) == std::string::npos);
    }
  }

  void master_overrides_the_server() {
    request_.master = "https://[fd00::1]:7443/prefix/";
    const auto got =
        load("tls-server-name: other, certificate-authority-data: " + base64_encode(pem_.certificate), "token: t");
    CPPUNIT_ASSERT_MESSAGE(got.status().message(), got.ok());
    CPPUNIT_ASSERT_EQUAL(std::string("https://[fd00::1]:7443/prefix"), got->server.to_string());
    CPPUNIT_ASSERT(got->tls_server_name.empty());
    CPPUNIT_ASSERT(got->ca.given());
    CPPUNIT_ASSERT_EQUAL(std::string("Bearer t"), Credentials(*got).load()->authorization);
  }

  void master_alone_is_enough() {
    request_.master = "http://127.0.0.1:8001";
    const auto got = find_connection(request_);
    CPPUNIT_ASSERT_MESSAGE(got.status().message(), got.ok());
    CPPUNIT_ASSERT(!got->server.tls);
    CPPUNIT_ASSERT(Credentials(*got).load()->authorization.empty());
    request_.master = "https://host:port";
    CPPUNIT_ASSERT(!find_connection(request_).ok());
  }

  void a_pod_needs_no_kubeconfig() {
    environment_["KUBERNETES_SERVICE_HOST"] = "fd00::1";
    environment_["KUBERNETES_SERVICE_PORT"] = "443";
    folder_.write("serviceaccount/token", "tok");
    const auto without_ca = find_connection(request_);
    CPPUNIT_ASSERT(without_ca.ok() && !without_ca->ca.given());
    folder_.write("serviceaccount/ca.crt", pem_.certificate);
    const auto got = find_connection(request_);
    CPPUNIT_ASSERT_MESSAGE(got.status().message(), got.ok());
    CPPUNIT_ASSERT_EQUAL(std::string("https://[fd00::1]:443"), got->server.to_string());
    CPPUNIT_ASSERT_EQUAL(folder_.path("serviceaccount/ca.crt"), got->ca.file);
    CPPUNIT_ASSERT_EQUAL(std::string("Bearer tok"), Credentials(*got).load()->authorization);
  }

  void a_pod_without_token_is_an_error() {
    CPPUNIT_ASSERT(
        why(find_connection(request_)).find("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set") !=
        std::string::npos);
    environment_["KUBERNETES_SERVICE_HOST"] = "10.0.0.1";
    environment_["KUBERNETES_SERVICE_PORT"] = "443";
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            "the pod's service account: the token: cannot read serviceaccount/token: No such file or directory"),
        why(find_connection(request_)));
  }

  void an_empty_kubeconfig_means_in_cluster() {
    CPPUNIT_ASSERT_EQUAL(std::string("config: clusters is empty; name a cluster, or give --master"),
                         why(load_text("apiVersion: v1\nkind: Config\n")));
    environment_["KUBERNETES_SERVICE_HOST"] = "10.0.0.1";
    environment_["KUBERNETES_SERVICE_PORT"] = "443";
    folder_.write("serviceaccount/token", "tok");
    CPPUNIT_ASSERT_EQUAL(std::string("https://10.0.0.1:443"), load_text("")->server.to_string());
  }

  test::TemporaryFolder folder_;
  test::Pem pem_ = test::make_pem();
  std::map<std::string, std::string> environment_;
  ConnectionRequest request_;
};

CPPUNIT_TEST_SUITE_REGISTRATION(KubeconfigTest);

}  // namespace kubeconfig_test
}  // namespace sluice::kube
