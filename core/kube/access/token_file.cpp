// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/access/token_file.hpp"

#include <algorithm>

#include "lib/files.hpp"
#include "lib/text.hpp"

namespace sluice::kube {
namespace {

constexpr std::size_t kMaxTokenBytes = 1u << 20;
constexpr auto kFresh = std::chrono::seconds(50);

}  // namespace

lib::Result<std::string> TokenFile::read() const {
  std::string text = source_.inline_content;
  if (!source_.file.empty()) {
    auto content = lib::read_file(source_.file, kMaxTokenBytes);
    if (!content) return content.status().prefixed("the token");
    text = std::move(*content);
  }
  text = std::string(lib::trimmed(text));
  if (text.empty()) return lib::invalid("the token " + source_.origin + " is empty");
  const auto printable = [](char c) { return c > 0x20 && c < 0x7f; };
  if (!std::all_of(text.begin(), text.end(), printable)) {
    return lib::invalid("the token " + source_.origin + " holds characters a token cannot have");
  }
  return text;
}

lib::Result<std::string> TokenFile::token() {
  const lib::Lock lock(mutex_);
  const auto now = clock_.now();
  if (fresh_until_ && now < *fresh_until_) return last_;
  auto read_now = read();
  if (read_now) {
    last_ = std::move(*read_now);
    kept_.renewed("the token " + source_.origin);
  } else if (last_.empty()) {
    return read_now.status();
  } else {
    kept_.kept(read_now.status().message());
  }
  fresh_until_ = now + kFresh;
  return last_;
}

void TokenFile::refused(const std::string& token) {
  const lib::Lock lock(mutex_);
  if (token == last_) fresh_until_.reset();
}

}  // namespace sluice::kube
