// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The configuration file: byte 0 chooses whether to read it like --check, the rest is the
// file. Settings that are accepted without an error must be usable.
#include "core/config/file.hpp"
#include "core/config/validate.hpp"
#include "core/config/values.hpp"
#include "lib/duration.hpp"
#include "test/fuzz/target.hpp"

namespace sluice::fuzz {
namespace {

FUZZ_TARGET(config) {
  Input in(input);
  const bool strict = in.flag();
  const std::string text(in.rest());
  config::Draft draft;
  config::Problems problems;
  config::read_config_text(text, "config.yaml", {.strict = strict}, draft, problems);
  const config::Settings settings = config::validate(draft, {{"iptables", "print"}, "node-1"}, problems);
  for (const auto& problem : problems.all()) FUZZ_REQUIRE(!problem.text.empty(), "a problem has a text");
  if (problems.has_errors()) return;
  FUZZ_REQUIRE(!settings.node_name.empty() && !settings.backend.empty(), "settings name the node and the backend");
  FUZZ_REQUIRE(settings.masquerade_bit >= 0 && settings.masquerade_bit < 32, "the mark is one bit");
  FUZZ_REQUIRE(settings.min_sync_period <= settings.sync_period, "the shorter period is the shorter one");
  FUZZ_REQUIRE(lib::parse_duration(config::print_duration(settings.sync_period)) == settings.sync_period,
               "a period can be printed and read");
}

}  // namespace
}  // namespace sluice::fuzz
