// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/access/kubeconfig_exec.hpp"

#include <simdjson.h>

#include <filesystem>
#include <string_view>

#include "core/kube/manifests/yaml_to_json.hpp"

namespace sluice::kube {
namespace {

constexpr std::string_view kExtension = "client.authentication.k8s.io/exec";
constexpr std::string_view kV1 = "client.authentication.k8s.io/v1";
constexpr std::string_view kV1Beta1 = "client.authentication.k8s.io/v1beta1";

// A daemon has no terminal, so the program must work without one.
void check_interactive_mode(const KubeconfigNode& exec, const std::string& api_version) {
  const KubeconfigNode field = exec.get("interactiveMode");
  const std::string mode = field.text();
  if (mode.empty() && api_version == kV1) field.wrong("is missing", "write Never or IfAvailable");
  if (mode == "Always") {
    field.wrong("is Always, and a daemon has no terminal", "use a program that works without one");
  }
  if (!mode.empty() && mode != "Never" && mode != "IfAvailable") {
    field.wrong("is none of Never, IfAvailable and Always", "write Never or IfAvailable");
  }
}

// The element called `name` of a list of {name: …}.
simdjson::dom::element named(const simdjson::dom::element& list, std::string_view name) {
  for (const simdjson::dom::element entry : simdjson::dom::array(list)) {
    if (std::string_view(entry["name"]) == name) return entry;
  }
  throw simdjson::simdjson_error(simdjson::NO_SUCH_FIELD);
}

}  // namespace

ExecConfig read_exec_config(const KubeconfigNode& exec, const std::string& path) {
  if (!exec.is_map()) exec.wrong("is not a map", "correct the file");
  ExecConfig out;
  out.origin = exec.field() + " in " + path;
  out.api_version = exec.get("apiVersion").text();
  if (out.api_version != kV1 && out.api_version != kV1Beta1) {
    exec.get("apiVersion")
        .wrong(out.api_version.empty() ? "is missing" : "is a version that this program does not know",
               "write " + std::string(kV1) + " or " + std::string(kV1Beta1));
  }
  check_interactive_mode(exec, out.api_version);
  out.command = exec.get("command").text();
  if (out.command.empty()) exec.get("command").wrong("is missing", "name the program");
  if (out.command.find('/') != std::string::npos && out.command.front() != '/') {
    out.command = (std::filesystem::path(path).parent_path() / out.command).string();
  }
  out.args = exec.get("args").texts();
  for (const auto& variable : exec.get("env").list()) {
    const std::string name = variable.get("name").text();
    if (name.empty()) variable.get("name").wrong("is missing", "name the variable");
    out.env.emplace_back(name, variable.get("value").text());
  }
  out.install_hint = exec.get("installHint").text();
  out.provide_cluster_info = exec.get("provideClusterInfo").flag();
  return out;
}

std::string exec_cluster_config(const std::string& kubeconfig, const std::string& cluster) {
  const YamlStream stream = yaml_to_json(kubeconfig);
  if (stream.documents.empty()) return {};
  simdjson::dom::parser parser;
  try {
    const simdjson::dom::element root = parser.parse(stream.documents.front().json);
    const simdjson::dom::element extensions = named(root["clusters"], cluster)["cluster"]["extensions"];
    const simdjson::dom::element extension = named(extensions, kExtension)["extension"];
    return simdjson::minify(extension);
  } catch (const simdjson::simdjson_error&) {
    return {};  // there is no such extension
  }
}

}  // namespace sluice::kube
