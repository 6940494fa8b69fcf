// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/config/option_readers.hpp"

#include <optional>
#include <sstream>
#include <type_traits>
#include <utility>

#include "core/config/values.hpp"
#include "lib/duration.hpp"

namespace sluice::config {
namespace {

std::string place(const Option& option) { return "--" + std::string(option.flag); }

// The value that a flag or a field has for each type of a member; std::nullopt: the member keeps its value.
std::optional<std::string> given(const Flags& flags, std::string_view name, const std::string*) {
  const std::string value = flags.text(name);
  return value.empty() ? std::nullopt : std::optional(value);
}
std::optional<bool> given(const Flags& flags, std::string_view name, const bool*) {
  return flags.given(name) ? std::optional(flags.on(name)) : std::nullopt;
}
std::optional<int> given(const Flags& flags, std::string_view name, const int*) {
  return parse_number(flags.text(name));
}
std::optional<double> given(const Flags& flags, std::string_view name, const double*) {
  return parse_decimal(flags.text(name));
}
std::optional<Duration> given(const Flags& flags, std::string_view name, const Duration*) {
  return lib::parse_duration(flags.text(name));
}

std::optional<std::string> given(const ConfigNode& node, const Option&, const std::string*) {
  const auto value = node.text();
  return value && value->empty() ? std::nullopt : value;
}
std::optional<bool> given(const ConfigNode& node, const Option&, const bool*) { return node.boolean(); }
std::optional<int> given(const ConfigNode& node, const Option&, const int*) { return node.number(); }
std::optional<double> given(const ConfigNode& node, const Option&, const double*) { return node.decimal(); }
std::optional<Duration> given(const ConfigNode& node, const Option& option, const Duration*) {
  const auto value = node.duration();
  return value && value->count() == 0 && option.zero_is_default ? std::nullopt : value;
}

DraftCell cell_of(const Option& option, Draft& draft) {
  if (option.draft.at != nullptr) return option.draft.at(draft);
  return {option.setting.at(draft.settings), &draft.places[&option]};
}

void apply(const Flags& flags, const Option& option, const DraftCell& cell) {
  std::visit(
      [&](auto pointer) {
        using Pointer = decltype(pointer);
        if constexpr (std::is_same_v<Pointer, Texts*>) {
          if (!flags.given(option.flag)) return;
          if (!option.flag_appends) pointer->clear();
          for (const std::string& value : flags.texts(option.flag)) pointer->push_back({value, place(option)});
        } else if constexpr (!std::is_same_v<Pointer, std::monostate>) {
          if (const auto value = given(flags, option.flag, pointer)) {
            *pointer = *value;
            *cell.where = place(option);
          }
        }
      },
      cell.value);
}

struct FlatText {
  std::string text;
  int line = 0;
};

// "a.b[0].c" -> text. `line` is that of the key, since an empty value has none. The shape of the document was checked
// before.
void flatten(const YAML::Node& node, const std::string& key, int line, std::map<std::string, FlatText>& out) {
  if (node.IsMap()) {
    for (const auto& entry : node) {
      const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "?";
      flatten(entry.second, key.empty() ? name : key + "." + name, entry.first.Mark().line + 1, out);
    }
  } else if (node.IsSequence()) {
    for (std::size_t i = 0; i < node.size(); ++i) {
      flatten(node[i], key + "[" + std::to_string(i) + "]", node[i].Mark().line + 1, out);
    }
  } else {
    out[key] = {node.IsScalar() ? node.Scalar() : "", line};
  }
}

Fields fields(Document document) {
  Fields out = {{"apiVersion", nullptr}, {"kind", nullptr}};
  for (const Option& option : options()) {
    if (!option.field.empty() && option.document == document) out.emplace(option.field, &option);
  }
  return out;
}

}  // namespace

const Fields& fields_of(Document document) {
  static const Fields kube_proxy = fields(Document::kube_proxy);
  static const Fields sluice = fields(Document::sluice);
  return document == Document::sluice ? sluice : kube_proxy;
}

void read_field(const ConfigNode& node, const Option& option, Draft& draft) {
  if (option.read != nullptr) return option.read(node, option, draft);
  const DraftCell cell = cell_of(option, draft);
  std::visit(
      [&](auto pointer) {
        using Pointer = decltype(pointer);
        if constexpr (std::is_same_v<Pointer, Texts*>) {
          if (auto texts = node.texts(); !texts.empty()) *pointer = std::move(texts);
        } else if constexpr (!std::is_same_v<Pointer, std::monostate>) {
          if (const auto value = given(node, option, pointer)) {
            *pointer = *value;
            *cell.where = node.where();
          }
        }
      },
      cell.value);
}

void apply_flag(const Flags& flags, const Option& option, Draft& draft) {
  if (option.draft.at == nullptr && option.setting.at == nullptr) return;  // an action
  apply(flags, option, cell_of(option, draft));
  if (option.flag_sets_too.at != nullptr) apply(flags, option, option.flag_sets_too.at(draft));
}

Sourced<Value> value_of(const Option& option, const Draft& draft) {
  if (option.draft.get != nullptr) return option.draft.get(draft);
  if (option.setting.get == nullptr) return {};
  const auto found = draft.places.find(&option);
  return {option.setting.get(draft.settings), found == draft.places.end() ? std::string() : found->second};
}

std::string value_text(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* on = std::get_if<bool>(&value)) return *on ? "true" : "false";
  if (const auto* number = std::get_if<int>(&value)) return std::to_string(*number);
  if (const auto* time = std::get_if<Duration>(&value)) return go_duration(*time);
  std::ostringstream out;
  if (const auto* number = std::get_if<double>(&value)) out << *number;
  if (const auto* texts = std::get_if<Texts>(&value)) {
    for (const auto& entry : *texts) out << (&entry == &texts->front() ? "" : ",") << entry.value;
  }
  return out.str();
}

std::string default_text(const Option& option) {
  static const Draft defaults;
  if (!option.shown_default.empty()) return std::string(option.shown_default);
  const Value value = value_of(option, defaults).value;
  return value.index() == 0 && option.kind == FlagKind::boolean ? "false" : value_text(value);
}

namespace option_readers {

void read_feature_gates(const ConfigNode& map, const Option&, Draft& draft) {
  draft.feature_gates.clear();  // the last of a repeated field wins
  for (const auto& member : map.members()) {
    if (const auto on = member.node.boolean()) {
      draft.feature_gates.push_back({member.name + (*on ? "=true" : "=false"), member.node.where()});
    }
  }
}

// Old files contain nanoseconds, Go's format for a duration that is not a string.
void read_flush_frequency(const ConfigNode& node, const Option& option, Draft& draft) {
  if (const auto value = node.duration_or_nanoseconds(); value && value->count() != 0) {
    draft.settings.log.flush_frequency = *value;
    draft.places[&option] = node.where();
  }
}

void read_sections(const ConfigNode& map, const Option&, Draft& draft) {
  for (const auto& member : map.members()) {
    const ConfigNode& node = member.node;
    if (draft.sections.find(member.name) != draft.sections.end()) {
      node.error("is set twice; allowed: one section per backend");
      continue;
    }
    if (!node.yaml().IsMap() && !node.is_null()) {
      node.error("is not a map; allowed: the settings of backend " + member.name + " as fields");
      continue;
    }
    BackendSection section;
    std::map<std::string, FlatText> flat;
    flatten(node.yaml(), "", 0, flat);
    flat.erase("");  // the entry of an empty section
    for (auto& [key, value] : flat) {
      draft.section_places[member.name][key] = node.where_below(value.line, key);
      section.options[key] = std::move(value.text);
    }
    if (!node.is_null()) section.yaml = YAML::Dump(node.yaml());
    draft.sections[member.name] = {std::move(section), node.where()};
  }
}

void read_vmodule(const ConfigNode& list, const Option&, Draft& draft) {
  draft.vmodule.clear();
  for (const ConfigNode& element : list.elements()) {
    std::string pattern;
    int verbosity = 0;
    for (const auto& member : element.members()) {
      if (member.name == "filePattern") {
        pattern = member.node.text().value_or("");
      } else if (member.name == "verbosity") {
        verbosity = member.node.number().value_or(0);
      } else {
        member.node.error("unknown field; allowed: filePattern, verbosity");
      }
    }
    draft.vmodule.push_back({pattern + "=" + std::to_string(verbosity), element.where()});
  }
}

}  // namespace option_readers
}  // namespace sluice::config
