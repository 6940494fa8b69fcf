// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A kubeconfig, and the output of a credential plugin. No message may contain a secret: each
// '@' in the input is replaced by a word that must not be in the messages.
#include <algorithm>
#include <string>

#include "core/kube/access/exec_credential.hpp"
#include "core/kube/access/kubeconfig_reader.hpp"
#include "core/kube/access/proxy.hpp"
#include "test/fuzz/target.hpp"

namespace sluice::fuzz {
namespace {

constexpr std::string_view kSecret = "c2VjcmV0LXdvcmQ=";

std::string with_secret(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '@') {
      out += kSecret;
    } else {
      out += c;
    }
  }
  return out;
}

void require_discreet(const lib::Status& status) {
  FUZZ_REQUIRE(status.ok() || !status.message().empty(), "a refusal says why");
  FUZZ_REQUIRE(status.message().find(kSecret) == std::string::npos, "a refusal keeps secrets");
}

// Byte 0: whether --master is given; the rest is the file.
FUZZ_TARGET(kubeconfig) {
  Input in(input);
  const bool master = in.flag();
  const auto read = kube::read_kubeconfig("/etc/kubeconfig", std::string(in.rest()), master);
  if (!read) {
    FUZZ_REQUIRE(!read.status().message().empty(), "a refusal says why");
    return;
  }
  if (!*read) return;
  FUZZ_REQUIRE(master || !(*read)->server.host.empty(), "a cluster has a server");
  if ((*read)->exec) kube::exec_info(**read, "");
}

// Byte 0 chooses the requested version; the rest is the status in the plugin's output. Kind
// and version may be in messages, so they come last and are valid.
FUZZ_TARGET(exec_credential) {
  Input in(input);
  const std::string version = in.flag() ? "client.authentication.k8s.io/v1" : "client.authentication.k8s.io/v1beta1";
  const std::string status = with_secret(in.rest());
  const auto credential = kube::parse_exec_credential(
      R"({"status":)" + status + R"(,"kind":"ExecCredential","apiVersion":")" + version + R"("})", version);
  if (!credential) return require_discreet(credential.status());
  FUZZ_REQUIRE(!credential->token.empty() || !credential->certificate_pem.empty(), "a credential is one");
  FUZZ_REQUIRE(credential->certificate_pem.empty() == credential->key_pem.empty(), "a certificate has its key");
}

// Lines: the address of a proxy, then the values of HTTPS_PROXY and NO_PROXY, then a server.
FUZZ_TARGET(proxy) {
  std::string lines[4];
  std::string_view rest = input;
  for (std::string& line : lines) {
    const std::string_view taken = rest.substr(0, rest.find('\n'));
    line = with_secret(taken);
    rest.remove_prefix(std::min(taken.size() + 1, rest.size()));
  }
  if (const auto proxy = kube::parse_proxy_url(lines[0], "proxy-url")) {
    FUZZ_REQUIRE(proxy->password.empty() || proxy->to_string().find(':' + proxy->password + '@') == std::string::npos,
                 "a proxy is printed without its password");
  } else {
    require_discreet(proxy.status());
  }
  const auto server = kube::parse_server_url(lines[3]);
  if (!server) return;
  const auto chosen = kube::proxy_from_environment(*server, [&](const std::string& name) {
    return name == "HTTPS_PROXY" || name == "HTTP_PROXY" ? lines[1] : name == "NO_PROXY" ? lines[2] : std::string();
  });
  if (!chosen) require_discreet(chosen.status());
}

}  // namespace
}  // namespace sluice::fuzz
