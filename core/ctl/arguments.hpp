// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The command line of sluicectl.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.hpp"

namespace sluice::ctl {

enum class Output { text, json, yaml };

struct Arguments {
  bool help = false;
  bool version = false;
  std::string state_dir = "/run/sluice";
  std::string command;  // known, unless help or version is asked for
  Output output = Output::text;
  // Of the command services.
  std::string query;  // "shop/cart", "172.30.0.41:80"; empty: all. The daemon reads it
  int family = 0;     // 4, 6; 0: both
  bool kernel = true;
  // Of the command status: how long to wait until all rules are written; nothing: not at all.
  std::optional<std::chrono::seconds> wait;
  // Of the command reload: how long it may take.
  std::chrono::seconds timeout{600};
};

// `words` without the program's name. A failure is a sentence that says what is allowed.
base::Result<Arguments> parse_arguments(const std::vector<std::string>& words);

std::string usage();

}  // namespace sluice::ctl
