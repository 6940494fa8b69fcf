// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The number of random histories of a test. With a sanitizer a tenth of the histories takes as long as all of them
// without it. The long form (SLUICE_LONG=1) always runs all.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace sluice::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

inline bool is_long_form() {
  const char* const text = std::getenv("SLUICE_LONG");
  return text != nullptr && std::string_view(text) != "" && std::string_view(text) != "0";
}

inline unsigned repetitions(unsigned usual, unsigned in_long_form) {
  if (is_long_form()) return in_long_form;
  return kSanitized ? std::max(1u, usual / 10) : usual;
}

inline unsigned repetitions(unsigned usual) { return repetitions(usual, usual); }

}  // namespace sluice::test
