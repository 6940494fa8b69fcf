// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/manifests/yaml_line.hpp"

#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <sstream>
#include <utility>
#include <vector>

#include "core/kube/manifests/yaml_events.hpp"

namespace sluice::kube {
namespace {

// Splits "spec.ports[0].port" into spec, ports, 0, port, and "labels[a.b/c]" into labels, a.b/c.
std::vector<std::string> steps_of(std::string_view path) {
  std::vector<std::string> out;
  while (!path.empty()) {
    const bool bracketed = path.front() == '[';
    if (bracketed) path.remove_prefix(1);
    const auto end = path.find_first_of(bracketed ? "]" : ".[");
    out.emplace_back(path.substr(0, end));
    if (end == std::string_view::npos) break;
    path.remove_prefix(bracketed || path[end] == '.' ? end + 1 : end);
    if (bracketed && path.starts_with('.')) path.remove_prefix(1);
  }
  return out;
}

// Finds the deepest existing part of the path.
class LineFinder final : public YamlEvents {
 public:
  explicit LineFinder(std::vector<std::string> steps) : steps_(std::move(steps)) {}

  int line() const { return line_; }
  void clear() {
    levels_.clear();
    line_ = 0;
    found_ = 0;
  }

  void begin_document(const YAML::Mark&) override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { value(mark, {}); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { value(mark, {}); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t, const std::string& text) override {
    value(mark, text);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    open(mark, false);
  }
  void OnSequenceEnd() override { levels_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    open(mark, true);
  }
  void OnMapEnd() override { levels_.pop_back(); }

 private:
  struct Level {
    bool map = false;
    bool on_path = false;
    bool at_key = true;
    std::size_t index = 0;  // of the next element
    std::string key;
    int key_line = 0;
  };

  // Handles a key or a value. Returns whether it is a value on the path.
  bool value(const YAML::Mark& mark, const std::string& text) {
    int line = mark.line + 1;
    bool on_path = true;
    if (!levels_.empty()) {
      Level& level = levels_.back();
      if (level.map && level.at_key) {
        level.key = text;
        level.key_line = line;
        level.at_key = false;
        return false;
      }
      level.at_key = true;
      const std::string step = level.map ? level.key : std::to_string(level.index++);
      if (level.map) line = level.key_line;
      on_path = level.on_path && levels_.size() <= steps_.size() && step == steps_[levels_.size() - 1];
    }
    // The last of duplicate keys counts, as in the decoder.
    if (on_path && levels_.size() >= found_) {
      found_ = levels_.size();
      line_ = line;
    }
    return on_path;
  }

  void open(const YAML::Mark& mark, bool map) {
    Level level;
    level.map = map;
    level.on_path = value(mark, {});
    levels_.push_back(level);
  }

  const std::vector<std::string> steps_;
  std::vector<Level> levels_;
  std::size_t found_ = 0;
  int line_ = 0;
};

}  // namespace

int yaml_line_of(const std::string& text, int document, std::string_view path) {
  LineFinder finder(steps_of(path));
  try {
    std::istringstream input(text);
    YAML::Parser parser(input);
    for (int number = 1; number <= document; ++number) {
      finder.clear();
      if (!parser.HandleNextDocument(finder)) return 0;
    }
  } catch (const YamlRefused&) {
    return 0;
  } catch (const YAML::Exception&) {
    return 0;
  }
  return finder.line();
}

}  // namespace sluice::kube
