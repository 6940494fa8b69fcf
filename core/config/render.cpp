// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/config/render.hpp"

#include <yaml-cpp/yaml.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/config/documents.hpp"
#include "core/config/mode_table.hpp"
#include "core/config/option_readers.hpp"
#include "lib/duration.hpp"

namespace sluice::config {
namespace {

using Json = nlohmann::ordered_json;

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
Json modules(const std::vector<LogSettings::Module>& entries) {
  Json out = Json::array();
  for (const auto& entry : entries) out.push_back(Json{{"filePattern", entry.pattern}, {"verbosity", entry.verbosity}});
  return out;
}
Json json_of(const Value& value) {
  if (const auto* on = std::get_if<bool>(&value)) return *on;
  if (const auto* whole = std::get_if<int>(&value)) return *whole;
  if (const auto* decimal = std::get_if<double>(&value)) return number(*decimal);
  if (const auto* texts = std::get_if<Texts>(&value)) return list(*texts);
  if (const auto* gates = std::get_if<std::map<std::string, bool>>(&value)) return *gates;
  if (const auto* entries = std::get_if<std::vector<LogSettings::Module>>(&value)) return modules(*entries);
  return value_text(value);
}

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
    const Value value =
        option.effective == nullptr ? value_of(option, draft).value : option.effective(draft, settings);
    if (value.index() != 0) at_path(out, option.field) = json_of(value);
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
  if (settings.min_sync_period == Duration(0)) {
    const auto& period = (draft.*mode_facts(settings.backend).periods).min_sync_period;
    problems.warning(period.where, "0 means the default, adaptive, in the written file; write 1ms there");
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
