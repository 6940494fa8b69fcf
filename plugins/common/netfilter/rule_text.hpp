// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Pieces of rules that every backend writes. Pure.
#pragma once

#include <string>
#include <string_view>

#include "sluice/abi/types.hpp"

namespace sluice::netfilter {

// A restore input is made of lines and words: a name with a blank, a quote or a line
// feed could say anything. The API server allows none of them; a file may.
bool is_plain_name(std::string_view name) noexcept;

// '-m comment --comment "text"'. REQUIRES: neither quotes nor backslashes in `text`.
std::string quoted_comment(std::string_view text);

bool contains(const abi::Prefix& range, const abi::Address& address) noexcept;
// 127.0.0.0/8, ::1.
bool is_loopback(abi::Family family, const abi::Address& address) noexcept;

}  // namespace sluice::netfilter
