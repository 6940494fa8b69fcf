// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Parts of rules that every backend writes. Pure.
#pragma once

#include <string>
#include <string_view>

#include "sluice/abi/types.hpp"

namespace sluice::netfilter {

// Whether `name` has no blank, quote or newline, which could inject rules into a restore
// input. The API server rejects such names; a manifest file may contain them.
bool is_plain_name(std::string_view name) noexcept;

// '-m comment --comment "text"'. REQUIRES: no quotes or backslashes in `text`.
std::string quoted_comment(std::string_view text);

bool contains(const abi::Prefix& range, const abi::Address& address) noexcept;
// 127.0.0.0/8, ::1.
bool is_loopback(abi::Family family, const abi::Address& address) noexcept;

}  // namespace sluice::netfilter
