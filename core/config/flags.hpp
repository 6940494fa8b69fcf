// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The command line, read as kube-proxy (pflag) reads it: "--name=value", "--name value",
// "--switch", "--switch=false", "-v 4", "-v=4", "-v4", "_" for "-" in names, the last
// of a repeated flag wins and lists are appended. Names are never completed, and there
// are no positional arguments.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/problems.hpp"

namespace sluice::config {

enum class Action { run, check, write_config, cleanup, init_only, version, version_raw, help };

// What was given, with values already known to be well formed for their kind.
class Flags {
 public:
  bool given(std::string_view name) const { return values_.find(name) != values_.end(); }
  // The last value; empty when not given.
  std::string text(std::string_view name) const;
  // REQUIRES: given(name) and a boolean flag.
  bool on(std::string_view name) const;
  // All values of a list or repeatable flag, in order.
  std::vector<std::string> values(std::string_view name) const;

  // Help beats version beats check beats write-config-to beats cleanup beats init-only.
  Action action() const;
  // Given flags the file takes the place of when --config is given; sorted, with "--".
  std::vector<std::string> ignored_with_file() const;

 private:
  friend Flags parse_flags(const std::vector<std::string>& arguments, Problems& problems);
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
};

// `arguments` without the program's name. Everything that is wrong goes to `problems`.
Flags parse_flags(const std::vector<std::string>& arguments, Problems& problems);

// Every flag with its value, given or by default, by name.
std::map<std::string, std::string> flag_values(const Flags& flags);

// The text of --help: usage and all flags in groups.
std::string help_text(std::string_view program, const std::string& default_plugin_dir,
                      const std::string& default_state_dir);

}  // namespace sluice::config
