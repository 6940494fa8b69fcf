// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/watch/name_salvage.hpp"

#include <functional>
#include <utility>
#include <vector>

namespace sluice::kube {
namespace {

// The wanted fields are not deeper than this.
constexpr std::size_t kDepth = 3;

// Calls visit(path, text) for each member with a string value; the path is the keys joined by dots. Stops at the end of
// the text.
class TextWalker {
 public:
  using Visitor = std::function<void(const std::string& path, std::string_view text)>;
  explicit TextWalker(Visitor visit) : visit_(std::move(visit)) {}

  void walk(std::string_view text) {
    for (std::size_t at = 0; at < text.size(); ++at) {
      switch (text[at]) {
        case '"': {
          const std::size_t end = string_end(text, at);
          if (end == std::string_view::npos) return;
          if (deeper_ == 0) take_string(text.substr(at + 1, end - at - 1));
          at = end;
          break;
        }
        case '{':
        case '[':
          open(text[at] == '{');
          break;
        case '}':
        case ']':
          close();
          break;
        case ',':
          key_follows_ = !open_.empty() && open_.back().is_object;
          break;
        default:
          break;
      }
    }
  }

 private:
  struct Level {
    bool is_object;
    std::string_view key;  // the last one
  };

  void open(bool is_object) {
    if (open_.size() == kDepth) {
      ++deeper_;
    } else {
      open_.push_back({is_object, {}});
      key_follows_ = is_object;
    }
  }
  void close() {
    if (deeper_ != 0) {
      --deeper_;
    } else if (!open_.empty()) {
      open_.pop_back();
    }
    key_follows_ = false;
  }

  static std::size_t string_end(std::string_view text, std::size_t begin) {
    for (std::size_t at = begin + 1; at < text.size(); ++at) {
      if (text[at] == '\\') {
        ++at;
      } else if (text[at] == '"') {
        return at;
      }
    }
    return std::string_view::npos;
  }

  void take_string(std::string_view text) {
    if (key_follows_) {
      open_.back().key = text;
      key_follows_ = false;
      return;
    }
    std::string path;
    for (const Level& level : open_) {
      if (!level.is_object) return;
      if (!path.empty()) path += '.';
      path += level.key;
    }
    visit_(path, text);
  }

  Visitor visit_;
  std::vector<Level> open_;  // the outer ones, kDepth at most
  std::size_t deeper_ = 0;   // further ones
  bool key_follows_ = false;
};

SalvagedHead salvage(std::string_view text, const std::string& place) {
  SalvagedHead out;
  TextWalker walker([&](const std::string& path, std::string_view value) {
    if (path == "type") out.type = value;
    if (path == place + "kind") out.kind = value;
    if (path == place + "metadata.namespace") out.name_space = value;
    if (path == place + "metadata.name") out.name = value;
    if (path == place + "metadata.resourceVersion") out.resource_version = value;
  });
  walker.walk(text);
  return out;
}

}  // namespace

SalvagedHead salvage_object(std::string_view text) { return salvage(text, ""); }
SalvagedHead salvage_event(std::string_view text) { return salvage(text, "object."); }

}  // namespace sluice::kube
