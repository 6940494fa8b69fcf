// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/config/render.hpp"

#include <yaml-cpp/yaml.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/config/documents.hpp"
#include "core/config/mode_table.hpp"
#include "core/config/option_readers.hpp"
#include "core/config/validate_parts.hpp"
#include "core/config/values.hpp"
#include "core/node/node_ips.hpp"
#include "lib/duration.hpp"
#include "lib/text.hpp"

namespace sluice::config {
namespace {

using Json = nlohmann::ordered_json;

// A field that is not written.
const std::optional<Json> kOmitted;

// Go prints a float without a fraction as a whole number, and an empty list as null.
Json number(double value) {
  constexpr double kExact = 0x1p53;
  if (std::nearbyint(value) == value && std::fabs(value) < kExact) return static_cast<std::int64_t>(value);
  return value;
}
Json list(const Texts& entries) {
  if (entries.empty()) return nullptr;
  Json out = Json::array();
  for (const auto& entry : entries) out.push_back(entry.value);
  return out;
}
Json json_of(const Value& value) {
  if (const auto* on = std::get_if<bool>(&value)) return *on;
  if (const auto* whole = std::get_if<int>(&value)) return *whole;
  if (const auto* decimal = std::get_if<double>(&value)) return number(*decimal);
  if (const auto* texts = std::get_if<Texts>(&value)) return list(*texts);
  return value_text(value);
}

std::optional<Json> if_true(bool value) { return value ? std::optional<Json>(true) : kOmitted; }

// The valid gates, sorted; the last of a repeated gate wins.
std::optional<Json> gates(const Draft& draft, const Settings&) {
  std::map<std::string, bool> out;
  for (const auto& entry : draft.feature_gates) {
    const auto equals = entry.value.find('=');
    if (equals == std::string::npos) continue;
    const auto on = parse_boolean(lib::trimmed(std::string_view(entry.value).substr(equals + 1)));
    if (on) out[std::string(lib::trimmed(entry.value.substr(0, equals)))] = *on;
  }
  return out.empty() ? kOmitted : std::optional<Json>(out);
}

std::optional<Json> vmodule(const Draft& draft, const Settings&) {
  Json out = Json::array();
  for (const auto& module : draft.log().vmodule) {
    out.push_back(Json{{"filePattern", module.pattern}, {"verbosity", module.verbosity}});
  }
  return out.empty() ? kOmitted : std::optional<Json>(out);
}

std::string effective_mode(const Draft& draft) {
  return draft.mode.given() ? draft.mode.value : std::string(kDefaultMode);
}

std::optional<Json> node_port_addresses(const Draft& draft, const Settings& settings) {
  const bool primary = draft.node_port_addresses.empty() && mode_facts(effective_mode(draft)).primary_node_ports &&
                       settings.node_ports.primary;
  return primary ? Json::array({"primary"}) : list(draft.node_port_addresses);
}

// Fields whose effective value is not that of their member.
using Renderer = std::optional<Json> (*)(const Draft&, const Settings&);
using D = const Draft&;
using S = const Settings&;
const std::map<std::string_view, Renderer> kRenderers = {
    {"clientConnection.burst", [](D, S settings) -> std::optional<Json> { return settings.source.client.burst; }},
    {"clientConnection.qps", [](D, S settings) -> std::optional<Json> { return number(settings.source.client.qps); }},
    {"detectLocalMode",
     [](D draft, S) -> std::optional<Json> {
       return draft.detect_local_mode.given() ? draft.detect_local_mode.value : "ClusterCIDR";
     }},
    {"featureGates", gates},
    {"healthzBindAddress", [](D draft, S) -> std::optional<Json> { return effective_healthz(draft); }},
    {"hostnameOverride",
     [](D draft, S) -> std::optional<Json> {
       return draft.host_name.given() ? node::normalized_node_name(draft.host_name.value, "") : std::string();
     }},
    {"logging.options.json.splitStream", [](D draft, S) { return if_true(draft.log_json.split.value); }},
    {"logging.options.text.splitStream", [](D draft, S) { return if_true(draft.log_text.split.value); }},
    {"logging.vmodule", vmodule},
    {"metricsBindAddress", [](D draft, S) -> std::optional<Json> { return effective_metrics(draft); }},
    {"mode", [](D draft, S) -> std::optional<Json> { return effective_mode(draft); }},
    {"nodePortAddresses", node_port_addresses},
    {"windowsRunAsService", [](D draft, S) { return if_true(draft.windows_run_as_service.value); }},
};

// The place of "a.b" in nested objects.
Json& at_path(Json& root, std::string_view path) {
  Json* at = &root;
  for (auto dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
    at = &(*at)[std::string(path.substr(0, dot))];
    path.remove_prefix(dot + 1);
  }
  return (*at)[std::string(path)];
}

Json kube_proxy(const Draft& draft, const Settings& settings) {
  Json out;
  out["kind"] = kKubeProxyKind;
  out["apiVersion"] = kKubeProxyApi;
  for (const Option& option : options()) {
    if (option.field.empty() || option.document != Document::kube_proxy) continue;
    const auto renderer = kRenderers.find(option.field);
    const auto value =
        renderer == kRenderers.end() ? json_of(value_of(option, draft).value) : renderer->second(draft, settings);
    if (value) at_path(out, option.field) = *value;
  }
  return out;
}

// Input may contain invalid UTF-8, which must not make the output fail.
std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Strings that YAML could parse as another type are quoted.
void emit(YAML::Emitter& out, const Json& value) {
  if (value.is_object()) {
    out << YAML::BeginMap;
    for (const auto& [name, inner] : value.items()) {
      out << YAML::Key << name << YAML::Value;
      emit(out, inner);
    }
    out << YAML::EndMap;
  } else if (value.is_array()) {
    out << YAML::BeginSeq;
    for (const auto& inner : value) emit(out, inner);
    out << YAML::EndSeq;
  } else if (value.is_string()) {
    const std::string& text = value.get_ref<const std::string&>();
    const bool is_duration = text.ends_with('s') && lib::parse_duration(text).has_value();
    if (!is_duration) out << YAML::DoubleQuoted;
    out << text;
  } else if (value.is_null()) {
    out << YAML::Null;
  } else {
    out << dump(value);
  }
}

void emit_sections(YAML::Emitter& out, const Draft& draft) {
  out << YAML::BeginMap;
  for (const auto& [id, section] : draft.sections) {
    out << YAML::Key << id << YAML::Value;
    if (section.value.yaml.empty())
      out << YAML::Null;
    else
      out << YAML::Load(section.value.yaml);
  }
  out << YAML::EndMap;
}

// A boolean that is false is the default.
bool is_set(const Option& option, const Draft& draft) {
  if (option.field == "backends") return !draft.sections.empty();
  const auto [value, where] = value_of(option, draft);
  return !where.empty() && value != Value(false);
}

// The fields that are set, by name.
std::vector<const Option*> set_sluice_fields(const Draft& draft) {
  std::vector<const Option*> out;
  for (const auto& [name, option] : fields_of(Document::sluice)) {
    if (option != nullptr && is_set(*option, draft)) out.push_back(option);
  }
  return out;
}

void emit_sluice(YAML::Emitter& out, const std::vector<const Option*>& fields, const Draft& draft) {
  out << YAML::BeginMap;
  out << YAML::Key << "apiVersion" << YAML::Value << std::string(kSluiceApi);
  out << YAML::Key << "kind" << YAML::Value << std::string(kSluiceKind);
  for (const Option* option : fields) {
    out << YAML::Key << std::string(option->field) << YAML::Value;
    const Value value = value_of(*option, draft).value;
    if (option->field == "backends") {
      emit_sections(out, draft);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      out << YAML::DoubleQuoted << *text;
    } else {
      emit(out, json_of(value));
    }
  }
  out << YAML::EndMap;
}

}  // namespace

std::string kube_proxy_json(const Draft& draft, const Settings& settings) { return dump(kube_proxy(draft, settings)); }

void warn_not_written(const Draft& draft, const Settings& settings, Problems& problems) {
  if (!settings.serve.healthz) {
    problems.warning(draft.healthz_port.where, "0 is not in the written file: no field turns the health server off");
  }
  if (!mode_facts(settings.backend).keeps_zero_period && settings.min_sync_period.count() == 0) {
    problems.warning(draft.iptables.min_sync_period.where, "0 means 1s in the written file; write 1ms there");
  }
}

std::string configuration_yaml(const Draft& draft, const Settings& settings) {
  YAML::Emitter out;
  // Through text, so that invalid UTF-8 is replaced as in the JSON.
  emit(out, Json::parse(kube_proxy_json(draft, settings)));
  std::string text = std::string(out.c_str()) + "\n";
  const auto fields = set_sluice_fields(draft);
  if (fields.empty()) return text;
  YAML::Emitter second;
  emit_sluice(second, fields, draft);
  return text + "---\n" + second.c_str() + "\n";
}

}  // namespace sluice::config
