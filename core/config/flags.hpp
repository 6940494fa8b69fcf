// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The command line, parsed as in kube-proxy (pflag): "--name=value", "--name value", "--switch", "--switch=false", "-v
// 4",
// "-v=4", "-v4", "_" for "-" in names; the last of a repeated flag wins, and lists are appended. Names are never
// completed, and there are no positional arguments.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/problems.hpp"

namespace sluice::config {

enum class Action { run, check, write_config, cleanup, init_only, hold_descriptors, version, version_raw, help };

// The given flags; all values are well formed for their kind.
class Flags {
 public:
  bool given(std::string_view name) const { return given_.find(name) != given_.end(); }
  // The last value; empty if not given.
  std::string text(std::string_view name) const;
  // REQUIRES: given(name) and a boolean flag.
  bool on(std::string_view name) const;
  // All values of a list or repeatable flag, in order.
  std::vector<std::string> texts(std::string_view name) const;

  // Precedence: help, version, check, write-config-to, cleanup, init-only, hold-descriptors.
  Action action() const;
  // Given flags that are ignored because of --config; sorted, with "--".
  std::vector<std::string> ignored_with_file() const;

 private:
  friend Flags parse_flags(const std::vector<std::string>& arguments, Problems& problems);
  std::map<std::string, std::vector<std::string>, std::less<>> given_;
};

// `arguments`: without the name of the program. Adds all errors to `problems`.
Flags parse_flags(const std::vector<std::string>& arguments, Problems& problems);

// Every flag with its given or default value, by name.
std::map<std::string, std::string> flag_values(const Flags& flags);

// The text of --help: usage and all flags in groups.
std::string help_text(std::string_view program, const std::string& default_plugin_dir,
                      const std::string& default_state_dir);

}  // namespace sluice::config
