// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/manifests/yaml_to_json.hpp"

#include <simdjson.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

#include "core/kube/decode/json_text.hpp"
#include "core/kube/manifests/yaml_events.hpp"
#include "lib/number.hpp"

namespace sluice::kube {
namespace {

// Aliases can expand a kilobyte of YAML to gigabytes.
constexpr std::size_t kMaxJsonBytes = 256u << 20;
constexpr std::size_t kMaxDepth = 200;

bool all_of_digits(std::string_view text, std::string_view digits) {
  return !text.empty() && text.find_first_not_of(digits) == std::string_view::npos;
}

// "[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"
bool is_float(std::string_view text) {
  std::size_t i = 0;
  const auto digits = [&] {
    const std::size_t begin = i;
    while (i < text.size() && text[i] >= '0' && text[i] <= '9') ++i;
    return i - begin;
  };
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
  const std::size_t whole = digits();
  std::size_t fraction = 0;
  if (i < text.size() && text[i] == '.') {
    ++i;
    fraction = digits();
  }
  if (whole + fraction == 0) return false;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
    if (digits() == 0) return false;
  }
  return i == text.size();
}

// Converts a plain scalar to JSON by the core schema.
std::string plain_to_json(const YAML::Mark& mark, const std::string& text) {
  const auto is_any = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), text) != names.end();
  };
  if (is_any({"", "~", "null", "Null", "NULL"})) return "null";
  if (is_any({"true", "True", "TRUE"})) return "true";
  if (is_any({"false", "False", "FALSE"})) return "false";

  std::string_view digits = text;
  const bool negative = digits.front() == '-';
  if (negative || digits.front() == '+') digits.remove_prefix(1);
  int base = 0;
  if (all_of_digits(digits, "0123456789")) {
    base = 10;
  } else if (text.starts_with("0o") && all_of_digits(digits.substr(2), "01234567")) {
    base = 8;
  } else if (text.starts_with("0x") && all_of_digits(digits.substr(2), "0123456789abcdefABCDEF")) {
    base = 16;
  }
  if (base != 0) {
    if (base != 10) digits.remove_prefix(2);
    const std::string signed_digits = (negative ? "-" : "") + std::string(digits);
    std::int64_t value = 0;
    if (!lib::read_number(signed_digits, value, base)) {
      throw YamlRefused{mark, "the number " + text.substr(0, 40) + " is too large"};
    }
    return std::to_string(value);
  }
  if (is_float(text)) {
    const double value = std::strtod(text.c_str(), nullptr);
    if (!std::isfinite(value)) throw YamlRefused{mark, "the number " + text.substr(0, 40) + " is too large"};
    char buffer[40];
    std::snprintf(buffer, sizeof buffer, "%.17g", value);
    std::string out = buffer;
    // A float stays a float: 80.0 must not become an integer.
    if (out.find_first_of(".e") == std::string::npos) out += ".0";
    return out;
  }
  std::string out;
  append_json_string(out, text);
  return out;
}

// Writes JSON while the parser reads, without building a tree.
class JsonWriter final : public YamlEvents {
 public:
  std::string& json() { return json_; }
  int line() const { return line_; }
  void clear() {
    json_.clear();
    levels_.clear();
    anchors_.clear();
  }

  void begin_document(const YAML::Mark& mark) override { line_ = mark.line + 1; }

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (begin_value(mark, "null")) return;
    const std::size_t begin = json_.size();
    json_ += "null";
    remember(anchor, begin);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto it = anchors_.find(anchor);
    if (it == anchors_.end()) throw YamlRefused{mark, "the alias refers to a value that contains it"};
    if (at_key()) throw YamlRefused{mark, "an alias cannot be a key"};
    begin_value(mark, "");
    json_ += it->second;
    check_size(mark);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    // The YAML parser accepts any bytes; the JSON parser would reject them without a line number.
    if (!simdjson::validate_utf8(value)) throw YamlRefused{mark, "the text is not valid UTF-8"};
    if (begin_value(mark, value)) return;
    const std::size_t begin = json_.size();
    // "?" marks a plain scalar, "!" a quoted one; explicit tags such as !!int select the rules for plain scalars.
    if (tag == "?" || (tag.starts_with("tag:yaml.org,2002:") && tag != "tag:yaml.org,2002:str")) {
      json_ += plain_to_json(mark, value);
    } else {
      append_json_string(json_, value);
    }
    remember(anchor, begin);
    check_size(mark);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, '[', anchor);
  }
  void OnSequenceEnd() override { close(']'); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, '{', anchor);
  }
  void OnMapEnd() override { close('}'); }

 private:
  struct Level {
    bool map = false;
    bool at_key = false;
    bool first = true;
    YAML::anchor_t anchor = 0;
    std::size_t begin = 0;
    std::set<std::string> keys;
  };

  bool at_key() const { return !levels_.empty() && levels_.back().map && levels_.back().at_key; }

  // Writes the separator before a value. Returns true if `text` is a key, which it has then written.
  bool begin_value(const YAML::Mark& mark, const std::string& text) {
    if (levels_.empty()) {
      line_ = mark.line + 1;
      return false;
    }
    Level& level = levels_.back();
    if (level.map && !level.at_key) {
      level.at_key = true;
      return false;
    }
    if (!level.first) json_ += ',';
    level.first = false;
    if (!level.map) return false;
    if (text == "<<") throw YamlRefused{mark, "merge keys (<<) are not supported; write the fields out"};
    if (!level.keys.insert(text).second) throw YamlRefused{mark, "the key \"" + text + "\" occurs twice"};
    append_json_string(json_, text);
    json_ += ':';
    level.at_key = false;
    return true;
  }

  void open(const YAML::Mark& mark, char bracket, YAML::anchor_t anchor) {
    if (at_key()) throw YamlRefused{mark, "a key must be a text"};
    if (levels_.size() >= kMaxDepth) throw YamlRefused{mark, "nested more than " + std::to_string(kMaxDepth) + " deep"};
    begin_value(mark, "");
    Level level;
    level.map = level.at_key = bracket == '{';
    level.anchor = anchor;
    level.begin = json_.size();
    json_ += bracket;
    levels_.push_back(std::move(level));
  }

  void close(char bracket) {
    json_ += bracket;
    const Level level = std::move(levels_.back());
    levels_.pop_back();
    remember(level.anchor, level.begin);
  }

  void remember(YAML::anchor_t anchor, std::size_t begin) {
    if (anchor != 0) anchors_[anchor] = json_.substr(begin);
  }

  void check_size(const YAML::Mark& mark) const {
    if (json_.size() > kMaxJsonBytes)
      throw YamlRefused{mark, "the document is too large once its aliases are resolved"};
  }

  std::string json_;
  int line_ = 0;
  std::vector<Level> levels_;
  std::map<YAML::anchor_t, std::string> anchors_;
};

}  // namespace

YamlStream yaml_to_json(const std::string& text) {
  YamlStream out;
  int number = 0;
  try {
    std::istringstream input(text);
    YAML::Parser parser(input);
    JsonWriter writer;
    while (true) {
      ++number;
      writer.clear();
      if (!parser.HandleNextDocument(writer)) break;
      if (writer.json().empty() || writer.json() == "null") continue;
      out.documents.push_back({number, writer.line(), std::move(writer.json())});
    }
  } catch (const YamlRefused& refused) {
    out.errors.push_back({number, refused.mark.line + 1, refused.problem});
  } catch (const YAML::Exception& exception) {
    out.errors.push_back({number, exception.mark.line + 1, exception.msg});
  }
  return out;
}

}  // namespace sluice::kube
