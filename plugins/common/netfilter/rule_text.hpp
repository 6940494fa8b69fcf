// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Parts of rules that every backend writes. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sluice/abi/service.hpp"

namespace sluice::netfilter {

// Whether `name` has no blank, quote or newline, which could inject rules into a restore
// input. The API server rejects such names; a manifest file may contain them.
bool is_plain_name(std::string_view name) noexcept;

// Throws sdk::Failure, whose object is `name`: kUnsupported if the protocol is not known, kInvalid with the message
// `invalid` if a name is not plain or `name` has more than `most` bytes.
void check_key(const abi::ServicePortKey& key, const std::string& name, const char* invalid,
               std::size_t most = std::string::npos);

// '-m comment --comment "text"'. REQUIRES: no quotes or backslashes in `text`.
std::string quoted_comment(std::string_view text);

bool contains(const abi::Prefix& range, const abi::Address& address) noexcept;
// 127.0.0.0/8, ::1.
bool is_loopback(abi::Family family, const abi::Address& address) noexcept;

}  // namespace sluice::netfilter
