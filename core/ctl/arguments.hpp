// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The command line of sluicectl.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ctl/explain_target.hpp"
#include "lib/status.hpp"

namespace sluice::ctl {

// An option of the command line. Texts are sentences in which names of options begin with two dashes.
struct CtlOption {
  std::string_view name;
  char letter = 0;  // "-o"; 0: none
  std::string_view value_name{};
  std::string_view help{};
  std::string_view shown_default{};
  std::string_view note{};  // for the manual page
  std::string_view commands{};  // "services, diff": only these have it; empty: all
};
std::span<const CtlOption> ctl_options();

// A command. `operand` is "[WHICH]" if it may be missing, and empty if there is none.
struct CtlCommand {
  std::string_view name;
  std::string_view operand;
  std::string_view help;
};
std::span<const CtlCommand> ctl_commands();

enum class Output { text, json, yaml };

struct Arguments {
  bool help = false;
  bool version = false;
  std::string state_dir = "/run/sluice";
  std::string command;  // a known command, unless help or version is set
  Output output = Output::text;
  // The operand of services, counters, diff and explain: "shop/cart", "172.30.0.41:80"; empty: all. The daemon parses it.
  std::string query;
  int family = 0;  // 4, 6; 0: both
  // For the command services.
  bool kernel = true;
  // For the command counters.
  bool endpoints = false;
  // For the command explain.
  Client client;
  // For the command status: how long to wait until all rules are written; nothing: do not wait.
  std::optional<std::chrono::seconds> wait;
  // For the command reload: how long to wait for its end.
  std::chrono::seconds timeout{600};
};

// `words`: without the name of the program. The error message contains the allowed values.
lib::Result<Arguments> parse_arguments(const std::vector<std::string>& words);

std::string usage();

}  // namespace sluice::ctl
