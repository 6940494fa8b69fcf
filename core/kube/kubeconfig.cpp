// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/kubeconfig.hpp"

#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "core/base/files.hpp"
#include "core/base/log.hpp"
#include "core/kube/tls_context.hpp"

namespace sluice::kube {
namespace {

// What stops the loading; caught in load_kubeconfig().
struct Wrong {
  std::string sentence;
};

class KubeconfigReader {
 public:
  KubeconfigReader(std::string path, bool master_given) : path_(std::move(path)), master_given_(master_given) {}

  // Absent when the file names no cluster at all.
  std::optional<ConnectionConfig> read(const std::string& text) {
    const YAML::Node root = YAML::Load(text);
    if (!root || root.IsNull()) return std::nullopt;
    if (!root.IsMap()) wrong("", "is not a kubeconfig", "point --kubeconfig at one");
    if (const auto kind = scalar(root["kind"], "kind"); !kind.empty() && kind != "Config") {
      wrong("kind", "is \"" + kind + "\", not Config", "point --kubeconfig at a kubeconfig");
    }
    const std::string context_name = scalar(root["current-context"], "current-context");
    if (!has_entries(root["clusters"]) && !has_entries(root["contexts"]) && context_name.empty()) return std::nullopt;
    if (context_name.empty()) {
      wrong("current-context", "is missing", "set it with kubectl config use-context");
    }
    const YAML::Node context = entry(root["contexts"], "contexts", context_name, "context", "current-context");
    const std::string cluster_name = scalar(context["cluster"], "contexts[" + context_name + "].context.cluster");
    const std::string user_name = scalar(context["user"], "contexts[" + context_name + "].context.user");

    out_.origin = path_;
    if (!cluster_name.empty()) {
      read_cluster(entry(root["clusters"], "clusters", cluster_name, "cluster",
                         "contexts[" + context_name + "].context.cluster"),
                   "clusters[" + cluster_name + "].cluster.");
    } else if (!master_given_) {
      wrong("contexts[" + context_name + "].context.cluster", "is missing", "name a cluster");
    }
    if (!user_name.empty()) {
      read_user(entry(root["users"], "users", user_name, "user", "contexts[" + context_name + "].context.user"),
                "users[" + user_name + "].user.");
    }
    return out_;
  }

  [[noreturn]] void wrong(const std::string& field, const std::string& problem, const std::string& remedy) const {
    throw Wrong{path_ + ": " + (field.empty() ? "the file" : field) + " " + problem + "; " + remedy};
  }

 private:
  static bool has_entries(const YAML::Node& list) { return list && list.IsSequence() && list.size() > 0; }

  std::string scalar(const YAML::Node& node, const std::string& field) const {
    if (!node || node.IsNull()) return {};
    if (!node.IsScalar()) wrong(field, "is not a text", "write a single value");
    return node.Scalar();
  }

  bool flag(const YAML::Node& node, const std::string& field) const {
    const std::string text = scalar(node, field);
    if (text.empty() || text == "false") return false;
    if (text != "true") wrong(field, "is neither true nor false", "write one of them");
    return true;
  }

  // The entry called `name` of a list of {name: …, <key>: {…}}.
  YAML::Node entry(const YAML::Node& list, const std::string& list_name, const std::string& name,
                   const std::string& key, const std::string& referrer) const {
    YAML::Node found(YAML::NodeType::Undefined);
    if (list && !list.IsNull() && !list.IsSequence()) wrong(list_name, "is not a list", "correct the file");
    for (std::size_t i = 0; list && i < list.size(); ++i) {
      if (!list[i].IsMap())
        wrong(list_name + "[" + std::to_string(i) + "]", "is not an entry with a name", "correct the file");
      if (scalar(list[i]["name"], list_name + "[" + std::to_string(i) + "].name") != name) continue;
      if (found.IsDefined()) wrong(list_name, "has two entries called \"" + name + "\"", "remove one");
      found.reset(list[i][key].IsDefined() ? list[i][key] : YAML::Node(YAML::NodeType::Map));
    }
    if (!found.IsDefined()) {
      wrong(referrer, "names \"" + name + "\", which " + list_name + " does not have", "correct one of the two");
    }
    if (found.IsNull()) return YAML::Node(YAML::NodeType::Map);
    if (!found.IsMap()) wrong(list_name + "[" + name + "]." + key, "is not a map", "correct the file");
    return found;
  }

  // `name` (a file) or `name`-data (base64) of an entry.
  Material material(const YAML::Node& node, const std::string& prefix, const std::string& name) const {
    Material out;
    const std::string file = scalar(node[name], prefix + name);
    const std::string data = scalar(node[name + "-data"], prefix + name + "-data");
    if (!file.empty() && !data.empty()) {
      wrong(prefix + name, "and " + name + "-data are both set", "keep one of them");
    }
    if (!file.empty()) {
      out.file = absolute(file);
      out.origin = out.file;
    } else if (!data.empty()) {
      auto content = base64_decode(data);
      if (!content) wrong(prefix + name + "-data", "is not base64", "encode it again");
      out.inline_content = std::move(*content);
      out.origin = prefix + name + "-data in " + path_;
    }
    return out;
  }

  std::string absolute(const std::string& file) const {
    const std::filesystem::path given(file);
    if (given.is_absolute()) return file;
    return (std::filesystem::path(path_).parent_path() / given).string();
  }

  void read_cluster(const YAML::Node& cluster, const std::string& prefix) {
    if (!master_given_) {
      const std::string server = scalar(cluster["server"], prefix + "server");
      if (server.empty()) wrong(prefix + "server", "is missing", "write https://host:port");
      auto url = parse_server_url(server);
      if (!url) throw Wrong{path_ + ": " + prefix + "server: " + url.status().message()};
      out_.server = std::move(*url);
      // With --master the name belongs to another server.
      out_.tls_server_name = scalar(cluster["tls-server-name"], prefix + "tls-server-name");
    }
    out_.insecure_skip_tls_verify = flag(cluster["insecure-skip-tls-verify"], prefix + "insecure-skip-tls-verify");
    out_.disable_compression = flag(cluster["disable-compression"], prefix + "disable-compression");
    out_.ca = material(cluster, prefix, "certificate-authority");
    if (out_.insecure_skip_tls_verify && out_.ca.given()) {
      wrong(prefix + "insecure-skip-tls-verify", "is true although a certificate-authority is given",
            "keep one of them");
    }
    if (!scalar(cluster["proxy-url"], prefix + "proxy-url").empty()) {
      wrong(prefix + "proxy-url", "is set, and connections through a proxy are not supported",
            "remove it and make the server reachable without one");
    }
  }

  void read_user(const YAML::Node& user, const std::string& prefix) {
    for (const char* field : {"exec", "auth-provider"}) {
      if (user[field].IsDefined() && !user[field].IsNull()) {
        wrong(prefix + field, "is set, and credential plugins are not supported",
              "use a token, a tokenFile or a client certificate");
      }
    }
    for (const char* field : {"as", "as-uid", "as-groups", "as-user-extra"}) {
      if (user[field].IsDefined() && !user[field].IsNull()) {
        wrong(prefix + field, "is set, and impersonation is not supported", "use the credentials of the user itself");
      }
    }
    out_.client_certificate = material(user, prefix, "client-certificate");
    out_.client_key = material(user, prefix, "client-key");
    if (out_.client_certificate.given() && !out_.client_key.given()) {
      wrong(prefix + "client-key", "is missing, though there is a client-certificate", "add the key");
    }
    if (!out_.client_certificate.given()) out_.client_key = {};

    const std::string token = scalar(user["token"], prefix + "token");
    const std::string token_file = scalar(user["tokenFile"], prefix + "tokenFile");
    out_.username = scalar(user["username"], prefix + "username");
    out_.password = scalar(user["password"], prefix + "password");
    if (!token_file.empty()) {
      out_.token.file = absolute(token_file);
      out_.token.origin = out_.token.file;
    } else if (!token.empty()) {
      out_.token.inline_content = token;
      out_.token.origin = prefix + "token in " + path_;
    }
    if (out_.token.given() && !out_.username.empty()) {
      wrong(prefix + "username", "is set together with a token", "keep one way to log in");
    }
  }

  const std::string path_;
  const bool master_given_;
  ConnectionConfig out_;
};

base::Result<std::optional<ConnectionConfig>> load_kubeconfig(const std::string& path, bool master_given) {
  const auto text = base::read_file(path, 16u << 20);
  if (!text) return text.status().prefixed("the kubeconfig");
  KubeconfigReader reader(path, master_given);
  try {
    return reader.read(*text);
  } catch (const Wrong& wrong) {
    return base::invalid(wrong.sentence);
  } catch (const YAML::Exception& exception) {
    // Only what the parser says, never the line: it may hold a token.
    return base::invalid(path + ": line " + std::to_string(exception.mark.line + 1) +
                         " is not valid YAML: " + exception.msg + "; correct the file");
  }
}

base::Result<ConnectionConfig> in_cluster(const ConnectionRequest& request) {
  const std::string host = request.environment("KUBERNETES_SERVICE_HOST");
  const std::string port = request.environment("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    return base::invalid(
        "no kubeconfig is given and KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set, so this is no "
        "pod; give --kubeconfig, or --manifests for a node without an API server");
  }
  const bool ipv6 = host.find(':') != std::string::npos;
  auto url = parse_server_url("https://" + (ipv6 ? "[" + host + "]" : host) + ":" + port);
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
    base::log_warning("kube", ca + " does not exist; the system's CAs are trusted instead");
  }
  return out;
}

// What the first connection would find out, now.
base::Result<ConnectionConfig> checked(ConnectionConfig config) {
  const auto secrets = Credentials(config).load();
  if (!secrets) return secrets.status().prefixed(config.origin);
  if (auto status = check_tls_material(config, *secrets); !status.ok()) return status.prefixed(config.origin);
  return config;
}

}  // namespace

base::Result<ConnectionConfig> find_connection(const ConnectionRequest& request) {
  const bool master_given = !request.master.empty();
  std::optional<ConnectionConfig> config;
  if (!request.kubeconfig.empty()) {
    auto loaded = load_kubeconfig(request.kubeconfig, master_given);
    if (!loaded) return loaded.status();
    config = std::move(*loaded);
    if (!config && !master_given && request.environment("KUBERNETES_SERVICE_HOST").empty()) {
      return base::invalid(request.kubeconfig + ": clusters is empty; name a cluster, or give --master");
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
  if (config) return checked(std::move(*config));
  auto pod = in_cluster(request);
  if (!pod) return pod;
  return checked(std::move(*pod));
}

}  // namespace sluice::kube
