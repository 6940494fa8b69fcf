// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/access/kubeconfig_reader.hpp"

#include <filesystem>
#include <utility>

#include "core/kube/access/base64.hpp"
#include "core/kube/access/kubeconfig_exec.hpp"
#include "core/kube/access/kubeconfig_node.hpp"

namespace sluice::kube {
namespace {

class Reader {
 public:
  Reader(const std::string& path, const std::string& text, bool master_given)
      : path_(path), text_(text), master_given_(master_given) {}

  std::optional<ConnectionConfig> read() {
    const KubeconfigNode root(path_, "", YAML::Load(text_));
    if (!root.present()) return std::nullopt;
    if (!root.is_map()) root.wrong("is not a kubeconfig", "point --kubeconfig at one");
    if (const auto kind = root.get("kind").text(); !kind.empty() && kind != "Config") {
      root.get("kind").wrong("is \"" + kind + "\", not Config", "point --kubeconfig at a kubeconfig");
    }
    const std::string context_name = root.get("current-context").text();
    if (root.get("clusters").list().empty() && root.get("contexts").list().empty() && context_name.empty()) {
      return std::nullopt;
    }
    // Like client-go, accept a context with an empty name; Talos wrote such kubeconfigs.
    if (context_name.empty() && !root.get("contexts").has_entry("")) {
      root.get("current-context").wrong("is missing", "set it with kubectl config use-context");
    }
    const KubeconfigNode context = root.get("contexts").entry(context_name, "context", "current-context");
    const KubeconfigNode cluster_name = context.get("cluster");
    const KubeconfigNode user_name = context.get("user");

    out_.origin = path_;
    if (!cluster_name.text().empty()) {
      read_cluster(root.get("clusters").entry(cluster_name.text(), "cluster", cluster_name.field()));
    } else if (!master_given_) {
      cluster_name.wrong("is missing", "name a cluster");
    }
    if (!user_name.text().empty()) {
      read_user(root.get("users").entry(user_name.text(), "user", user_name.field()));
      if (out_.exec && out_.exec->provide_cluster_info) {
        out_.exec->cluster_config = exec_cluster_config(text_, cluster_name.text());
      }
    }
    return out_;
  }

 private:
  std::string absolute(const std::string& file) const {
    const std::filesystem::path given(file);
    return given.is_absolute() ? file : (std::filesystem::path(path_).parent_path() / given).string();
  }

  // `name` (a file) or `name`-data (base64) of an entry.
  Material material(const KubeconfigNode& node, const std::string& name) const {
    Material out;
    const KubeconfigNode file = node.get(name);
    const KubeconfigNode data = node.get(name + "-data");
    if (!file.text().empty() && !data.text().empty()) {
      file.wrong("and " + name + "-data are both set", "keep one of them");
    }
    if (!file.text().empty()) {
      out.file = absolute(file.text());
      out.origin = out.file;
    } else if (!data.text().empty()) {
      auto content = base64_decode(data.text());
      if (!content) data.wrong("is not base64", "encode it again");
      out.inline_content = std::move(*content);
      out.origin = data.field() + " in " + path_;
    }
    return out;
  }

  void read_cluster(const KubeconfigNode& cluster) {
    if (!master_given_) {
      const KubeconfigNode server = cluster.get("server");
      if (server.text().empty()) server.wrong("is missing", "write https://host:port");
      auto url = parse_server_url(server.text());
      if (!url) throw KubeconfigWrong{path_ + ": " + server.field() + ": " + url.status().message()};
      out_.server = std::move(*url);
      out_.tls_server_name = cluster.get("tls-server-name").text();
    }
    const KubeconfigNode insecure = cluster.get("insecure-skip-tls-verify");
    out_.insecure_skip_tls_verify = insecure.flag();
    out_.disable_compression = cluster.get("disable-compression").flag();
    out_.ca = material(cluster, "certificate-authority");
    if (out_.insecure_skip_tls_verify && out_.ca.given()) {
      insecure.wrong("is true although a certificate-authority is given", "keep one of them");
    }
    if (const KubeconfigNode url = cluster.get("proxy-url"); !url.text().empty()) {
      auto proxy = parse_proxy_url(url.text(), path_ + ": " + url.field());
      if (!proxy) throw KubeconfigWrong{proxy.status().message()};
      out_.proxy = std::move(*proxy);
    }
  }

  void read_user(const KubeconfigNode& user) {
    if (const KubeconfigNode provider = user.get("auth-provider"); provider.present()) {
      provider.wrong("is set, and such providers no longer exist",
                     "use exec, a token, a tokenFile or a client certificate");
    }
    out_.client_certificate = material(user, "client-certificate");
    out_.client_key = material(user, "client-key");
    if (out_.client_certificate.given() && !out_.client_key.given()) {
      user.get("client-key").wrong("is missing, though there is a client-certificate", "add the key");
    }
    if (!out_.client_certificate.given()) out_.client_key = {};
    read_token(user);
    if (user.get("exec").present()) out_.exec = read_exec_config(user.get("exec"), path_);
    out_.impersonate = impersonation(user);
  }

  void read_token(const KubeconfigNode& user) {
    const std::string token = user.get("token").text();
    const std::string token_file = user.get("tokenFile").text();
    out_.username = user.get("username").text();
    out_.password = user.get("password").text();
    if (!token_file.empty()) {
      out_.token.file = absolute(token_file);
      out_.token.origin = out_.token.file;
    } else if (!token.empty()) {
      out_.token.inline_content = token;
      out_.token.origin = user.get("token").field() + " in " + path_;
    }
    if (!out_.token.given()) return;
    for (const char* field : {"username", "password"}) {
      if (!user.get(field).text().empty()) {
        user.get(field).wrong("is set together with a token", "keep one way to log in");
      }
    }
  }

  Impersonation impersonation(const KubeconfigNode& user) const {
    Impersonation out;
    out.user = user.get("as").text();
    out.uid = user.get("as-uid").text();
    out.groups = user.get("as-groups").texts();
    for (const auto& [key, entry] : user.get("as-user-extra").map()) out.extra.emplace_back(key, entry.texts());
    for (const char* field : {"as-uid", "as-groups", "as-user-extra"}) {
      if (out.user.empty() && user.get(field).present()) {
        user.get(field).wrong("is set without as", "name the user to be taken for");
      }
    }
    return out;
  }

  const std::string& path_;
  const std::string& text_;
  const bool master_given_;
  ConnectionConfig out_;
};

}  // namespace

lib::Result<std::optional<ConnectionConfig>> read_kubeconfig(const std::string& path, const std::string& text,
                                                             bool master_given) {
  try {
    return Reader(path, text, master_given).read();
  } catch (const KubeconfigWrong& wrong) {
    return lib::invalid(wrong.sentence);
  } catch (const YAML::Exception& exception) {
    // Only the parser's message, never the line, which may hold a token.
    return lib::invalid(path + ": line " + std::to_string(exception.mark.line + 1) +
                        " is not valid YAML: " + exception.msg + "; correct the file");
  }
}

}  // namespace sluice::kube
