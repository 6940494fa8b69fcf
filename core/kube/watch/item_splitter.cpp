// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/watch/item_splitter.hpp"

#include <algorithm>
#include <utility>

namespace sluice::kube {
namespace {

bool is_json_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string shown(char c) {
  if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) {
    return "byte " + std::to_string(static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return std::string("'") + c + "'";
}

}  // namespace

std::size_t ObjectScanner::scan(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    if (in_string_) {
      if (escaped_) {
        escaped_ = false;
        ++i;
        continue;
      }
      while (i < text.size() && text[i] != '"' && text[i] != '\\') ++i;
      if (i == text.size()) break;
      escaped_ = text[i] == '\\';
      in_string_ = escaped_;
      ++i;
      continue;
    }
    const char c = text[i++];
    if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
      started_ = true;
    } else if (c == '}' || c == ']') {
      if (--depth_ == 0) return i;
    }
  }
  return text.size();
}

lib::Status ObjectCutter::take(std::string_view& bytes, bool& done) {
  const std::size_t used = scanner_.scan(bytes);
  const std::string_view part = bytes.substr(0, used);
  bytes.remove_prefix(used);
  done = scanner_.complete();
  if (done) scanner_.reset();
  // Complete objects inside one chunk are visited without a copy.
  if (done && partial_.empty() && part.size() <= limit_) return visit_(part);
  if (auto status = keep(part); !status.ok() || !done) return status;
  lib::Status status = skipped_ != 0 ? visit_oversized() : visit_(partial_);
  clear_buffer(partial_);
  return status;
}

lib::Status ObjectCutter::keep(std::string_view part) {
  if (skipped_ == 0 && partial_.size() + part.size() <= limit_) {
    partial_ += part;
    return {};
  }
  const bool is_first = skipped_ == 0;
  skipped_ = (is_first ? partial_.size() : skipped_) + part.size();
  if (!oversized_ || skipped_ > kMaxSkippedBytes) {
    return object_too_large(oversized_ ? kMaxSkippedBytes : limit_);
  }
  if (is_first) {
    if (partial_.size() < kKeptOfOversized) partial_ += part.substr(0, kKeptOfOversized - partial_.size());
    partial_.resize(std::min(partial_.size(), kKeptOfOversized));
    partial_.shrink_to_fit();
  }
  return {};
}

lib::Status ObjectCutter::visit_oversized() {
  skipped_ = 0;
  return oversized_(partial_);
}

lib::Status DocumentSplitter::append(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!inside_) {
      const char c = bytes.front();
      if (is_json_space(c)) {
        bytes.remove_prefix(1);
        continue;
      }
      if (c != '{') return lib::invalid("an object was expected, not " + shown(c));
      inside_ = true;
    }
    bool done = false;
    if (auto status = cutter_.take(bytes, done); !status.ok()) return status;
    inside_ = !done;
  }
  return {};
}

lib::Status ListSplitter::append(std::string_view bytes) {
  while (!bytes.empty()) {
    lib::Status status;
    switch (place_) {
      case Place::envelope:
        status = consume_envelope(bytes);
        break;
      case Place::before_item:
      case Place::after_item:
        status = consume_between(bytes);
        break;
      case Place::item:
        status = consume_item(bytes);
        break;
    }
    if (!status.ok()) return status;
  }
  return {};
}

lib::Status ListSplitter::consume_envelope(std::string_view& bytes) {
  while (!bytes.empty()) {
    const char c = bytes.front();
    if (depth_ == 0) {
      if (is_json_space(c)) {
        bytes.remove_prefix(1);
        continue;
      }
      if (!envelope_.empty()) return lib::invalid("there is more text behind the end of the list");
      if (c != '{') return lib::invalid("a list was expected, not " + shown(c));
    }
    bytes.remove_prefix(1);
    if (envelope_.size() >= kMaxEnvelopeBytes) {
      return envelope_too_large();
    }
    envelope_ += c;
    if (in_string_) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_string_ = false;
        if (depth_ == 1) key_end_ = envelope_.size() - 1;
      }
      continue;
    }
    if (c == '"') {
      in_string_ = true;
      if (depth_ == 1) key_begin_ = key_end_ = envelope_.size();
    } else if (c == '{' || c == '[') {
      ++depth_;
      if (c == '[' && depth_ == 2 && last_key_is_items()) {
        place_ = Place::before_item;
        after_comma_ = false;
        return {};
      }
    } else if (c == '}' || c == ']') {
      --depth_;
    }
  }
  return {};
}

// Whether the '[' just taken belongs to the key "items": `"items" : [`.
bool ListSplitter::last_key_is_items() const {
  if (std::string_view(envelope_).substr(key_begin_, key_end_ - key_begin_) != "items") return false;
  bool colon = false;
  for (std::size_t i = key_end_ + 1; i + 1 < envelope_.size(); ++i) {
    if (envelope_[i] == ':' && !colon) {
      colon = true;
    } else if (!is_json_space(envelope_[i])) {
      return false;
    }
  }
  return colon;
}

lib::Status ListSplitter::consume_between(std::string_view& bytes) {
  const char c = bytes.front();
  if (is_json_space(c)) {
    bytes.remove_prefix(1);
    return {};
  }
  const bool first = place_ == Place::before_item;
  if (first && c == '{') {
    place_ = Place::item;
    return {};
  }
  bytes.remove_prefix(1);
  if (!first && c == ',') {
    place_ = Place::before_item;
    after_comma_ = true;
    return {};
  }
  if (c == ']' && !(first && after_comma_)) {
    envelope_ += c;
    --depth_;
    place_ = Place::envelope;
    return {};
  }
  return lib::invalid("items[" + std::to_string(items_) + "]: an object was expected, not " + shown(c));
}

lib::Status ListSplitter::consume_item(std::string_view& bytes) {
  bool done = false;
  auto status = cutter_.take(bytes, done);
  if (status.ok() && done) {
    ++items_;
    place_ = Place::after_item;
  }
  return status;
}

lib::Result<std::string> ListSplitter::finish() {
  if (place_ != Place::envelope || depth_ != 0 || envelope_.empty()) {
    return list_incomplete(items_);
  }
  return envelope_;
}

}  // namespace sluice::kube
