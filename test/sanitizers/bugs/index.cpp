// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Deliberately wrong: a character of a view that has none; the library's own checks see it.
#include <string_view>

int main(int argc, char**) {
  const std::string_view text("abc", argc > 0 ? 0 : 3);
  return text[0] == 'a' ? 0 : 1;
}
