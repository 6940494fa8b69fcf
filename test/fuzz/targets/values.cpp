// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Small parsers on the same text: an accepted value that is printed must be parsed to the
// same value again.
#include "core/config/values.hpp"

#include <chrono>
#include <cstdlib>

#include "core/kube/access/base64.hpp"
#include "core/kube/access/server_url.hpp"
#include "lib/duration.hpp"
#include "lib/ip.hpp"
#include "lib/rfc3339.hpp"
#include "sluice/sdk/address.hpp"
#include "test/fuzz/target.hpp"

namespace sluice::fuzz {
namespace {

void addresses(std::string_view text) {
  if (const auto address = lib::IpAddress::parse(text)) {
    FUZZ_REQUIRE(lib::IpAddress::parse(address->to_string()) == address, "an address survives printing");
    FUZZ_REQUIRE(lib::IpPrefix(*address, lib::family_bits(address->family())).contains(*address),
                 "an address is in the prefix of itself");
  }
  if (const auto prefix = lib::IpPrefix::parse(text)) {
    FUZZ_REQUIRE(lib::IpPrefix::parse(prefix->to_string()) == prefix, "a prefix survives printing");
    FUZZ_REQUIRE(prefix->contains(prefix->address()) && prefix->contains(*prefix), "a prefix holds itself");
  }
  for (const auto family : {abi::Family::kIpv4, abi::Family::kIpv6}) {
    if (const auto address = sdk::parse_address(std::string(text), family)) {
      FUZZ_REQUIRE(sdk::parse_address(sdk::to_string(*address, family), family) == address,
                   "an address of the ABI survives printing");
    }
  }
}

void times(std::string_view text) {
  using namespace std::chrono;
  if (const auto duration = lib::parse_duration(text)) {
    FUZZ_REQUIRE(lib::parse_duration(config::print_duration(*duration)) == duration, "a duration survives printing");
  }
  if (const auto time = lib::parse_rfc3339(text)) {
    FUZZ_REQUIRE(lib::parse_rfc3339(lib::rfc3339(*time, lib::Fraction::nanoseconds_or_none)) == time, "a time survives printing");
  }
}

void credentials(std::string_view text) {
  if (const auto url = kube::parse_server_url(std::string(text))) {
    const auto again = kube::parse_server_url(url->to_string());
    FUZZ_REQUIRE(again && again->to_string() == url->to_string(), "a server's address survives printing");
  }
  const auto decoded = kube::base64_decode(kube::base64_encode(std::string(text)));
  FUZZ_REQUIRE(decoded && *decoded == text, "base64 gives back what it was given");
  if (const auto bytes = kube::base64_decode(std::string(text))) {
    FUZZ_REQUIRE(*kube::base64_decode(kube::base64_encode(*bytes)) == *bytes, "bytes survive base64");
  }
}

FUZZ_TARGET(values) {
  addresses(input);
  times(input);
  credentials(input);
  if (const auto number = config::parse_number(input)) {
    FUZZ_REQUIRE(config::parse_number(std::to_string(*number)) == number, "a number survives printing");
  }
  std::size_t length = 0;
  for (const std::string& part : config::split_list(input)) length += part.size() + 1;
  FUZZ_REQUIRE(length == (input.empty() ? 0 : input.size() + 1), "a list keeps all of its text");
}

}  // namespace
}  // namespace sluice::fuzz
