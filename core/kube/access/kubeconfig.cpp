// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/access/kubeconfig.hpp"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "core/base/log_messages.hpp"
#include "core/kube/access/credentials.hpp"
#include "core/kube/access/kubeconfig_reader.hpp"
#include "core/kube/http/request_headers.hpp"
#include "lib/files.hpp"

namespace sluice::kube {
namespace {

lib::Result<std::optional<ConnectionConfig>> load_kubeconfig(const std::string& path, bool master_given) {
  const auto text = lib::read_file(path, 16u << 20);
  if (!text) return text.status().prefixed("the kubeconfig");
  return read_kubeconfig(path, *text, master_given);
}

lib::Result<ConnectionConfig> in_cluster(const ConnectionRequest& request) {
  const std::string host = request.environment("KUBERNETES_SERVICE_HOST");
  const std::string port = request.environment("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    return lib::invalid(
        "no kubeconfig is given and KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set, so this is not a "
        "pod; give --kubeconfig, or --manifests for a node without an API server");
  }
  auto url = parse_server_url("https://" + in_url(host) + ":" + port);
  if (!url) return url.status().prefixed("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT");
  ConnectionConfig out;
  out.server = std::move(*url);
  out.origin = "the pod's service account";
  out.token.file = request.service_account_dir + "/token";
  out.token.origin = out.token.file;
  const std::string ca = request.service_account_dir + "/ca.crt";
  if (std::error_code ignored; std::filesystem::exists(ca, ignored)) {
    out.ca.file = ca;
    out.ca.origin = ca;
  } else {
    base::log(base::message::kCaMissing, ca + " does not exist; the system's CAs are trusted instead", {{"file", ca}});
  }
  return out;
}

// Fails now for what the first connection would fail for.
lib::Result<ConnectionConfig> checked(ConnectionConfig config, const Environment& environment) {
  if (!config.proxy) {
    auto proxy = proxy_from_environment(config.server, environment);
    if (!proxy) return proxy.status();
    config.proxy = std::move(*proxy);
  }
  if (auto status = check_impersonation(config.impersonate); !status.ok()) return status.prefixed(config.origin);
  if (auto status = Credentials(config).check(); !status.ok()) return status.prefixed(config.origin);
  return config;
}

}  // namespace

lib::Result<ConnectionConfig> find_connection(const ConnectionRequest& request) {
  const bool master_given = !request.master.empty();
  std::optional<ConnectionConfig> config;
  if (!request.kubeconfig.empty()) {
    auto loaded = load_kubeconfig(request.kubeconfig, master_given);
    if (!loaded) return loaded.status();
    config = std::move(*loaded);
    if (!config && !master_given && request.environment("KUBERNETES_SERVICE_HOST").empty()) {
      return lib::invalid(request.kubeconfig + ": clusters is empty; name a cluster, or give --master");
    }
  }
  if (master_given) {
    auto url = parse_server_url(request.master);
    if (!url) return url.status().prefixed("--master");
    if (!config) {
      config.emplace();
      config->origin = "--master";
    }
    config->server = std::move(*url);
  }
  if (config) return checked(std::move(*config), request.environment);
  auto pod = in_cluster(request);
  if (!pod) return pod;
  return checked(std::move(*pod), request.environment);
}

}  // namespace sluice::kube
