// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// sluiced: reads the command line, then checks, cleans up or runs. The only file that
// decides the exit status: 0, or 1 for every error.
#include <signal.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/app/actions.hpp"
#include "core/app/build_info.hpp"
#include "core/app/choose_backend.hpp"
#include "core/app/cleanup/clean_up.hpp"
#include "core/app/daemon.hpp"
#include "core/app/config/draft.hpp"
#include "core/app/config/flags.hpp"
#include "core/app/init_only.hpp"
#include "core/app/logging.hpp"
#include "core/app/source.hpp"
#include "core/app/config/render.hpp"
#include "core/app/config/validate.hpp"
#include "core/base/files.hpp"
#include "core/base/log.hpp"
#include "core/base/memory.hpp"
#include "core/base/notify.hpp"
#include "core/plugin/lookup.hpp"

#include <unistd.h>

namespace {

using namespace sluice;

std::string host_name() {
  char buffer[256] = "";
  return gethostname(buffer, sizeof buffer - 1) == 0 ? buffer : "";
}

app::Defaults defaults() {
  app::Defaults out;
  for (const auto& folder : plugin::default_folders(app::kPluginDir, plugin::running_executable())) {
    out.plugin_dirs.push_back(folder.string());
  }
  return out;
}

// What this node is called when nobody says. A recording is about the node it was made on.
std::string default_node_name(const app::Draft& draft) {
  const std::string recorded = draft.replay.given() ? app::recorded_node(draft.replay.value) : std::string();
  return recorded.empty() ? host_name() : recorded;
}

// Errors of the command line come before logging is set up and go out as they are.
int tell(const app::Problems& problems) {
  for (const auto& problem : problems.all()) {
    std::fprintf(stderr, "%s: %s\n", problem.severity == app::Problem::Severity::error ? "error" : "warning",
                 problem.to_string().c_str());
  }
  return problems.has_errors() ? 1 : 0;
}

// Threads inherit the mask, so that signals reach the one that waits for them.
void block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  sigaddset(&signals, SIGUSR1);  // from the watch of the configuration file
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);  // a closed connection is an error return, not an end
  signal(SIGXFSZ, SIG_IGN);  // so is a file that may not grow
}

int check(const app::Settings& settings, app::Problems& problems) {
  if (!problems.has_errors()) app::check_surroundings(settings, problems);
  const int status = tell(problems);
  if (status == 0 && !settings.backend_reason.empty()) std::puts(settings.backend_reason.c_str());
  std::puts(status == 0 ? "configuration is usable" : "configuration is not usable");
  return status;
}

// Where to is any file, /dev/stdout too, which cannot be replaced.
int write_configuration(const std::string& path, const std::string& text) {
  std::error_code error;
  const auto kind = std::filesystem::status(path, error).type();
  if (kind == std::filesystem::file_type::regular || kind == std::filesystem::file_type::not_found) {
    const base::Status status = base::write_file_atomically(path, text);
    if (!status.ok()) std::fprintf(stderr, "error: --write-config-to: %s\n", status.message().c_str());
    return status.ok() ? 0 : 1;
  }
  std::ofstream out(path, std::ios::app);
  out << text << std::flush;
  if (!out) std::fprintf(stderr, "error: --write-config-to: cannot write to %s\n", path.c_str());
  return out ? 0 : 1;
}

// Once a process: what was chosen at the start stays, whatever a look at the configuration later finds.
base::Result<app::BackendChoice> chosen_backend(const app::PluginSettings& plugins, const app::LogSettings& log) {
  static const base::Result<app::BackendChoice> choice = [&] {
    app::set_up_logging(log);  // loading plugins has something to say
    return app::choose_backend(plugins);
  }();
  return choice;
}

app::Settings validated(const app::Draft& draft, app::Problems& problems) {
  const app::PluginSettings plugins = draft.plugins();
  const plugin::Folders folders(plugins.folders.begin(), plugins.folders.end());
  const auto choose = [&draft](const app::PluginSettings& where) { return chosen_backend(where, draft.log()); };
  return app::validate(draft, {plugin::available_plugins(folders), default_node_name(draft), choose}, problems);
}

void tell_start(const app::Settings& settings, const app::Problems& problems) {
  if (settings.log.verbosity >= 1) {
    for (const auto& [name, value] : settings.flags) base::log_info("app", "FLAG: --" + name + "=\"" + value + "\"");
  }
  for (const auto& problem : problems.all()) base::log_warning("app", problem.to_string());
  if (!settings.backend_reason.empty()) base::log_info("app", settings.backend_reason);
}

int run(app::Settings settings, base::Notifier notifier, const app::ReadSettings& read_again) {
  base::share_one_heap();
  block_signals();
  app::Daemon daemon(std::move(settings));
  base::Status status = daemon.start();
  if (status.ok()) status = daemon.run(std::move(notifier), read_again);
  if (status.ok()) return 0;
  base::log_error("app", status.message());
  return 1;
}

int start(const std::vector<std::string>& arguments) {
  base::Notifier notifier = base::Notifier::from_environment();  // before there are threads
  app::Problems problems;
  const app::Flags flags = app::parse_flags(arguments, problems);
  if (problems.has_errors()) return tell(problems);
  const app::Defaults found = defaults();
  const app::Action action = flags.action();
  if (action == app::Action::help) {
    std::fputs(app::help_text("sluiced", app::kPluginDir, found.state_dir).c_str(), stdout);
    return 0;
  }
  if (action == app::Action::version) {
    std::printf("sluiced %s\n", app::kVersion);
    return 0;
  }
  if (action == app::Action::version_raw) {
    std::printf("%s\n", app::kVersion);
    return 0;
  }

  const app::Draft draft = app::read_configuration(flags, found, problems);
  const app::PluginSettings plugins = draft.plugins();
  if (action == app::Action::cleanup) {
    if (problems.has_errors()) return tell(problems);
    app::set_up_logging(draft.log());
    return app::clean_up(plugins, draft.state_dir.value) ? 0 : 1;
  }
  const app::Settings settings = validated(draft, problems);
  if (action == app::Action::check) {
    app::set_up_logging(draft.log());
    return check(settings, problems);
  }
  if (problems.has_errors()) return tell(problems);
  if (action == app::Action::write_config) {
    app::tell_not_written(draft, settings, problems);
    tell(problems);
    return write_configuration(flags.text("write-config-to"), app::configuration_yaml(draft, settings));
  }
  app::set_up_logging(settings.log);
  tell_start(settings, problems);
  if (action == app::Action::init_only) {
    const base::Status status = app::init_only(settings);
    if (!status.ok()) base::log_error("app", status.message());
    return status.ok() ? 0 : 1;
  }
  return run(settings, std::move(notifier), [&arguments](app::Problems& found_again) {
    const app::Flags again = app::parse_flags(arguments, found_again);
    return validated(app::read_configuration(again, defaults(), found_again), found_again);
  });
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int status = start({argv + 1, argv + argc});
    app::flush_logging();
    return status;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
