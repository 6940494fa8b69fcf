// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/option_check.hpp"

#include <utility>
#include <vector>

#include "core/plugin/loader.hpp"
#include "core/plugin/lookup.hpp"
#include "lib/sha256.hpp"
#include "sluice/sdk/option_table.hpp"

namespace sluice::lifecycle {
namespace {

plugin::Folders folders_of(const config::PluginSettings& plugins) {
  return {plugins.folders.begin(), plugins.folders.end()};
}

// A different spelling of the same value is no change.
std::string canonical(const sdk::OptionValue& value) {
  if (value.type == abi::OptionType::kInteger) return std::to_string(value.number);
  return value.type == abi::OptionType::kDuration ? sdk::print_nanoseconds(value.number) : value.text;
}

lib::Result<std::shared_ptr<const plugin::Plugin>> load_quietly(const config::PluginSettings& plugins,
                                                               const std::string& id, bool copy) {
  const auto file = plugin::find_plugin(folders_of(plugins), id);
  if (!file) return file.status();
  return plugin::load_plugin({*file, id, {folders_of(plugins), plugins.relax_ownership}, copy, /*quiet=*/true});
}

}  // namespace

lib::Result<std::shared_ptr<const plugin::DeclaredOptions>> declared_options(const config::PluginSettings& plugins,
                                                                             const std::string& id) {
  const auto loaded = load_quietly(plugins, id, /*copy=*/false);
  if (!loaded) return loaded.status();
  return (*loaded)->options();
}

OptionCheck::Declared OptionCheck::declared(const config::PluginSettings& plugins, const std::string& id, bool running) {
  if (!known_.empty()) {
    const auto file = plugin::find_plugin(folders_of(plugins), id);
    const auto hash = file ? lib::file_sha256(file->string()) : lib::Result<std::string>(file.status());
    const auto found = hash ? known_.find(*hash) : known_.end();
    if (found != known_.end()) return found->second;
  }
  const auto loaded = load_quietly(plugins, id, running);
  return loaded ? known_.emplace((*loaded)->sha256(), (*loaded)->options()).first->second : nullptr;
}

config::CheckedOptions OptionCheck::check(const config::PluginSettings& plugins, const std::string& id,
                                          const config::OptionTexts& given, bool running) {
  config::CheckedOptions out;
  const Declared table = declared(plugins, id, running);
  if (table == nullptr) return out;
  std::vector<sdk::OptionValue> typed;
  for (sdk::OptionProblem& problem : sdk::read_options(table->specs(), given, typed)) {
    out.problems.emplace_back(std::move(problem.key), std::move(problem.text));
  }
  for (const abi::OptionSpec& spec : table->specs()) {
    if (spec.reload != abi::OptionReload::kRestart) continue;
    std::string& all = out.restart_options[std::string(sdk::option_name(spec))];
    for (const sdk::OptionValue& value : typed) {
      if (sdk::option_name_of(value.key) == sdk::option_name(spec)) all += (all.empty() ? "" : ", ") + canonical(value);
    }
  }
  return out;
}

}  // namespace sluice::lifecycle
