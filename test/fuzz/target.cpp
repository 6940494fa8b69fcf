// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "test/fuzz/target.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace sluice::fuzz {
namespace {

std::vector<Target>& registered() {
  static std::vector<Target> all;
  return all;
}

}  // namespace

Registration::Registration(const Target& target) {
  auto& all = registered();
  all.insert(std::upper_bound(all.begin(), all.end(), target,
                              [](const Target& a, const Target& b) { return a.name < b.name; }),
             target);
}

const std::vector<Target>& targets() { return registered(); }

const Target* find_target(std::string_view name) {
  const auto& all = registered();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Target& target) { return target.name == name; });
  return found == all.end() ? nullptr : &*found;
}

void broken(const char* what, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: broken: %s\n", file, line, what);
  std::abort();
}

std::uint8_t Input::byte() {
  const std::string_view one = take(1);
  return one.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(one.front());
}

std::size_t Input::below(std::size_t limit) { return byte() % limit; }

std::string_view Input::take(std::size_t count) {
  const std::string_view taken = bytes_.substr(0, count);
  bytes_.remove_prefix(taken.size());
  return taken;
}

std::vector<std::string_view> cut(std::string_view text, std::string_view sizes) {
  std::vector<std::string_view> pieces;
  for (std::size_t i = 0; !text.empty(); ++i) {
    const std::size_t size =
        sizes.empty() ? text.size() : std::size_t{static_cast<std::uint8_t>(sizes[i % sizes.size()])} + 1;
    pieces.push_back(text.substr(0, size));
    text.remove_prefix(pieces.back().size());
  }
  return pieces;
}

bool is_one_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

}  // namespace sluice::fuzz
