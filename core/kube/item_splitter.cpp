// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/item_splitter.hpp"

#include <cstring>

namespace sluice::kube {
namespace {

// kind, apiVersion and metadata; a continue token is a few hundred bytes.
constexpr std::size_t kMaxEnvelopeBytes = 256u << 10;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string shown(char c) {
  if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) {
    return "byte " + std::to_string(static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return std::string("'") + c + "'";
}

base::Status too_large(std::size_t limit) {
  return base::invalid("an object is larger than " + std::to_string(limit >> 20) + " MiB");
}

// The object at the front of `bytes`, or its next part. Takes it off `bytes`; whole
// objects inside one piece are visited in place, without a copy.
base::Status take_object(std::string_view& bytes, ObjectScanner& scanner, std::string& partial, std::size_t limit,
                         const ObjectVisitor& visit, bool& done) {
  const std::size_t used = scanner.scan(bytes);
  if (partial.size() + used > limit) return too_large(limit);
  const std::string_view part = bytes.substr(0, used);
  bytes.remove_prefix(used);
  done = scanner.complete();
  if (!done) {
    partial += part;
    return {};
  }
  scanner.reset();
  if (partial.empty()) return visit(part);
  partial += part;
  base::Status status = visit(partial);
  // Keeps the room of usual objects, not that of a rare giant.
  if (partial.capacity() > (1u << 20)) {
    partial = std::string();
  } else {
    partial.clear();
  }
  return status;
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

base::Status DocumentSplitter::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!inside_) {
      const char c = bytes.front();
      if (is_space(c)) {
        bytes.remove_prefix(1);
        continue;
      }
      if (c != '{') return base::invalid("an object was expected, not " + shown(c));
      inside_ = true;
    }
    bool done = false;
    if (auto status = take_object(bytes, scanner_, partial_, limit_, visit_, done); !status.ok()) return status;
    inside_ = !done;
  }
  return {};
}

base::Status ListSplitter::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    base::Status status;
    switch (place_) {
      case Place::envelope:
        status = feed_envelope(bytes);
        break;
      case Place::before_item:
      case Place::after_item:
        status = feed_between(bytes);
        break;
      case Place::item:
        status = feed_item(bytes);
        break;
    }
    if (!status.ok()) return status;
  }
  return {};
}

base::Status ListSplitter::feed_envelope(std::string_view& bytes) {
  while (!bytes.empty()) {
    const char c = bytes.front();
    if (depth_ == 0) {
      if (is_space(c)) {
        bytes.remove_prefix(1);
        continue;
      }
      if (!envelope_.empty()) return base::invalid("there is more text behind the end of the list");
      if (c != '{') return base::invalid("a list was expected, not " + shown(c));
    }
    bytes.remove_prefix(1);
    if (envelope_.size() >= kMaxEnvelopeBytes) {
      return base::invalid("the list has more than " + std::to_string(kMaxEnvelopeBytes >> 10) +
                           " KiB beside its items");
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
    } else if (!is_space(envelope_[i])) {
      return false;
    }
  }
  return colon;
}

base::Status ListSplitter::feed_between(std::string_view& bytes) {
  const char c = bytes.front();
  if (is_space(c)) {
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
  return base::invalid("items[" + std::to_string(items_) + "]: an object was expected, not " + shown(c));
}

base::Status ListSplitter::feed_item(std::string_view& bytes) {
  bool done = false;
  auto status = take_object(bytes, scanner_, partial_, limit_, visit_, done);
  if (done) {
    ++items_;
    place_ = Place::after_item;
  }
  return status;
}

base::Result<std::string> ListSplitter::finish() const {
  if (place_ != Place::envelope || depth_ != 0 || envelope_.empty()) {
    return base::unavailable("the list ended too early, after " + std::to_string(items_) + " complete items");
  }
  return envelope_;
}

}  // namespace sluice::kube
