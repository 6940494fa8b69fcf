// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/daemon/reloads.hpp"

#include <utility>
#include <vector>

#include "core/plugin/lookup.hpp"

namespace sluice::daemon {

Reloads::Reloads(const Dependencies& dependencies, reload::ReadSettings read_again)
    : settings_(dependencies.settings),
      notifier_(dependencies.notifier),
      reports_(dependencies.reports),
      delivery_(dependencies.delivery),
      backends_(dependencies.backends),
      backend_part_(backends_, delivery_),
      reloader_(settings_, std::move(read_again), hooks(), dependencies.clock),
      file_watch_([this](const std::vector<std::string>& paths) {
        for (const auto& path : paths) reloader_.request(path + " has changed");
      }) {
  reloader_.add("logging", logging_part_);
  reloader_.add("kernel", dependencies.kernel);
  reloader_.add("addresses", dependencies.addresses);
  reloader_.add("source", delivery_.source());
  reloader_.add("backend", backend_part_);  // last, because a swap is not rolled back when another part fails
}

reload::ReloadHooks Reloads::hooks() {
  return {[this] {
            notifier_.reloading();
            file_watch_.accept_current_content();  // changes so far are part of this reload
          },
          [this](const reload::ReloadResult& result) {
            watch_files();
            notifier_.ready();
            reports_.reloaded(result);
          }};
}

lib::Status Reloads::start_file_watch() {
  if (auto status = file_watch_.start(); !status.ok()) return status;
  const auto settings = settings_.get();
  if (!settings->config_file.empty()) file_watch_.follow({{settings->config_file, {}}});
  return {};
}

void Reloads::start() {
  reloader_.start();
  watch_files();
}

void Reloads::stop() {
  file_watch_.stop();
  backends_.cancel_swap();
  reloader_.stop();  // waits for a running reload
}

// Watches every file that the running configuration depends on.
void Reloads::watch_files() {
  const auto settings = settings_.get();
  std::vector<reload::WatchedFile> files = delivery_.source().files();
  if (!settings->config_file.empty()) files.push_back({settings->config_file, {}});
  // By the path in the plugin folder, which may be a symlink to another target by now.
  const plugin::Folders folders(settings->plugins.folders.begin(), settings->plugins.folders.end());
  const plugin::Plugin& plugin = backends_.active_run()->plugin();
  const auto file = plugin::find_plugin(folders, plugin.id());
  files.push_back({file ? file->string() : plugin.file().string(), plugin.sha256()});
  file_watch_.follow(std::move(files));
}

}  // namespace sluice::daemon
