// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/daemon/option_help.hpp"

#include <sstream>
#include <string_view>

#include "core/lifecycle/option_check.hpp"
#include "core/plugin/lookup.hpp"
#include "sluice/sdk/option_table.hpp"

namespace sluice::daemon {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::string_view kIndent = "      ";

std::string wrapped(const std::string& text) {
  std::string out;
  std::size_t used = kColumns;
  std::istringstream words(text);
  for (std::string word; words >> word; used += word.size()) {
    const bool fits = used + 1 + word.size() <= kColumns;
    out.append(fits ? " " : out.empty() ? "" : "\n").append(fits ? "" : kIndent).append(word);
    used = fits ? used + 1 : kIndent.size();
  }
  return out + "\n";
}

std::string row(const abi::OptionSpec& spec) {
  const std::string by_default(sdk::text(spec.default_value));
  return "  " + std::string(sdk::option_name(spec)) + "\n" +
         wrapped(std::string(sdk::text(spec.help)) + " Values: " + sdk::allowed_text(spec) + "." +
                 (by_default.empty() ? "" : " Default: " + by_default + ".") +
                 (spec.reload == abi::OptionReload::kRestart ? " A change needs a restart." : ""));
}

std::string of_backend(const config::PluginSettings& plugins, const std::string& id) {
  const std::string title = "\nOptions of backend " + id;
  const auto declared = lifecycle::declared_options(plugins, id);
  if (!declared) return title + ": not known: " + declared.status().message() + "\n";
  if (*declared == nullptr) return title + ": not declared by the plugin\n";
  if ((*declared)->specs().empty()) return title + ": none\n";
  std::string out = title + " (section backends." + id + " of the configuration file):\n";
  for (const abi::OptionSpec& spec : (*declared)->specs()) out += row(spec);
  return out;
}

}  // namespace

std::string option_help(const config::PluginSettings& plugins) {
  std::string out;
  for (const std::string& id : plugin::available_plugins({plugins.folders.begin(), plugins.folders.end()})) {
    out += of_backend(plugins, id);
  }
  return out;
}

}  // namespace sluice::daemon
