// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// sluiced: parses the command line, then checks, cleans up or runs. The exit status is 0, or
// 1 for every error.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "core/base/log.hpp"
#include "core/base/memory.hpp"
#include "core/base/notify.hpp"
#include "core/base/passed_descriptors.hpp"
#include "core/config/draft.hpp"
#include "core/config/flags.hpp"
#include "core/config/render.hpp"
#include "core/config/validate.hpp"
#include "core/daemon/actions.hpp"
#include "core/daemon/build_info.hpp"
#include "core/daemon/clean_up.hpp"
#include "core/daemon/daemon.hpp"
#include "core/daemon/init_only.hpp"
#include "core/daemon/logging.hpp"
#include "core/daemon/source.hpp"
#include "core/lifecycle/choose_backend.hpp"
#include "core/plugin/lookup.hpp"
#include "core/reload/settings_reader.hpp"
#include "lib/files.hpp"

namespace {

using namespace sluice;

std::string host_name() {
  char buffer[256] = "";
  return gethostname(buffer, sizeof buffer - 1) == 0 ? buffer : "";
}

config::Defaults defaults() {
  config::Defaults out;
  for (const auto& folder : plugin::default_folders(daemon::kPluginDir, plugin::running_executable())) {
    out.plugin_dirs.push_back(folder.string());
  }
  return out;
}

// For command line errors, because logging is not set up yet. Returns the exit status.
int print(const config::Problems& problems) {
  for (const auto& problem : problems.all()) {
    std::fprintf(stderr, "%s: %s\n", problem.severity == config::Problem::Severity::error ? "error" : "warning",
                 problem.to_string().c_str());
  }
  return problems.has_errors() ? 1 : 0;
}

// Threads inherit the mask, so that only the main thread receives signals.
void block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);  // a write to a closed connection returns an error
  signal(SIGXFSZ, SIG_IGN);  // a write beyond the file size limit returns an error
}

int check(const config::Settings& settings, config::Problems& problems) {
  if (!problems.has_errors()) daemon::check_references(settings, problems);
  const int status = print(problems);
  if (status == 0 && !settings.backend_reason.empty()) std::puts(settings.backend_reason.c_str());
  std::puts(status == 0 ? "configuration is usable" : "configuration is not usable");
  return status;
}

// `path` may be a device such as /dev/stdout, which cannot be replaced atomically.
int write_configuration(const std::string& path, const std::string& text) {
  std::error_code error;
  const auto kind = std::filesystem::status(path, error).type();
  if (kind == std::filesystem::file_type::regular || kind == std::filesystem::file_type::not_found) {
    const lib::Status status = lib::write_file_atomically(path, text);
    if (!status.ok()) std::fprintf(stderr, "error: --write-config-to: %s\n", status.message().c_str());
    return status.ok() ? 0 : 1;
  }
  std::ofstream out(path, std::ios::app);
  out << text << std::flush;
  if (!out) std::fprintf(stderr, "error: --write-config-to: cannot write to %s\n", path.c_str());
  return out ? 0 : 1;
}

reload::ReaderEnvironment reader_environment() {
  reload::ReaderEnvironment out;
  out.defaults = defaults();
  out.host_name = host_name();
  out.installed_backends = [](const config::PluginSettings& plugins) {
    return plugin::available_plugins({plugins.folders.begin(), plugins.folders.end()});
  };
  out.recorded_node = daemon::recorded_node;
  out.choose_backend = lifecycle::choose_backend;
  return out;
}

void log_start(const config::Settings& settings, const config::Problems& problems) {
  if (settings.log.verbosity >= 1) {
    for (const auto& [name, value] : settings.flags) base::log_info("app", "FLAG: --" + name + "=\"" + value + "\"");
  }
  for (const auto& problem : problems.all()) base::log_warning("app", problem.to_string());
  if (!settings.backend_reason.empty()) base::log_info("app", settings.backend_reason);
}

// Input from the service manager; read before threads start.
struct Manager {
  base::Notifier notifier;
  std::vector<base::PassedDescriptor> passed;
};

int run(config::Settings settings, Manager manager, reload::ReadSettings read_again) {
  base::share_one_heap();
  block_signals();
  daemon::Daemon daemon(std::move(settings), std::move(read_again), std::move(manager.notifier),
                        std::move(manager.passed));
  lib::Status status = daemon.start();
  if (status.ok()) status = daemon.run();
  if (status.ok()) return 0;
  base::log_error("app", status.message());
  return 1;
}

int start(const std::vector<std::string>& arguments) {
  // First, before other code opens descriptors.
  auto passed = base::take_passed_descriptors();
  Manager manager{base::Notifier::from_environment(), std::move(passed)};
  config::Problems problems;
  const config::Flags flags = config::parse_flags(arguments, problems);
  if (problems.has_errors()) return print(problems);
  const reload::ReaderEnvironment environment = reader_environment();
  const config::Action action = flags.action();
  if (action == config::Action::help) {
    std::fputs(config::help_text("sluiced", daemon::kPluginDir, environment.defaults.state_dir).c_str(), stdout);
    return 0;
  }
  if (action == config::Action::version) {
    std::printf("sluiced %s\n", daemon::kVersion);
    return 0;
  }
  if (action == config::Action::version_raw) {
    std::printf("%s\n", daemon::kVersion);
    return 0;
  }

  const config::Draft draft = config::read_configuration(flags, environment.defaults, problems);
  const config::PluginSettings plugins = draft.plugins();
  if (action == config::Action::cleanup) {
    if (problems.has_errors()) return print(problems);
    daemon::set_up_logging(draft.log());
    return daemon::clean_up(plugins, draft.settings.state_dir) ? 0 : 1;
  }
  daemon::set_up_logging(draft.log());  // before mode auto, which loads plugins and logs
  const config::Settings settings = reload::validated(draft, environment, nullptr, problems);
  if (action == config::Action::check) return check(settings, problems);
  if (problems.has_errors()) return print(problems);
  if (action == config::Action::write_config) {
    config::warn_not_written(draft, settings, problems);
    print(problems);
    return write_configuration(flags.text("write-config-to"), config::configuration_yaml(draft, settings));
  }
  daemon::set_up_logging(settings.log);
  log_start(settings, problems);
  if (action == config::Action::init_only) {
    const lib::Status status = daemon::init_only(settings);
    if (!status.ok()) base::log_error("app", status.message());
    return status.ok() ? 0 : 1;
  }
  return run(settings, std::move(manager), [&](const config::Settings& running, config::Problems& reload_problems) {
    return reload::read_settings(arguments, environment, running, reload_problems);
  });
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int status = start({argv + 1, argv + argc});
    daemon::flush_logging();
    return status;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
