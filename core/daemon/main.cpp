// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// sluiced: parses the command line, then checks, cleans up or runs. The exit status is 0, or
// 1 for every error.
#include <signal.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "core/base/log_messages.hpp"
#include "core/base/memory.hpp"
#include "core/base/notify.hpp"
#include "core/base/passed_descriptors.hpp"
#include "core/config/draft.hpp"
#include "core/config/flags.hpp"
#include "core/daemon/actions.hpp"
#include "core/daemon/build_info.hpp"
#include "core/daemon/clean_up.hpp"
#include "core/daemon/daemon.hpp"
#include "core/daemon/init_only.hpp"
#include "core/daemon/option_help.hpp"
#include "core/daemon/reader_environment.hpp"
#include "core/lifecycle/holder_process.hpp"
#include "core/lifecycle/state_dir.hpp"
#include "core/logging/logging.hpp"
#include "core/reload/settings_reader.hpp"
#include "lib/clock.hpp"

namespace {

using namespace sluice;

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

void log_start(const config::Settings& settings, const config::Problems& problems) {
  if (settings.log.verbosity >= 1) {
    for (const auto& [name, value] : settings.flags)
      base::log(base::message::kFlagValue, "FLAG: --" + name + "=\"" + value + "\"",
                {{"name", name}, {"value", value}});
  }
  for (const auto& problem : problems.all())
    base::log(base::message::kConfigurationWarning, problem.to_string(), {{"error", problem.to_string()}});
  if (!settings.backend_reason.empty())
    base::log(base::message::kModeChosen, settings.backend_reason, {{"backend", settings.backend}});
}

// Input from the service manager; read before threads start.
struct Manager {
  base::Notifier notifier;
  std::vector<base::PassedDescriptor> passed;
};

int run(lib::Clock::Time begun, config::Settings settings, Manager manager, reload::ReadSettings read_again) {
  base::share_one_heap();
  block_signals();
  daemon::Daemon daemon(begun, std::move(settings), std::move(read_again), std::move(manager.notifier),
                        std::move(manager.passed));
  lib::Status status = daemon.start();
  if (status.ok()) status = daemon.run();
  if (status.ok()) return 0;
  base::log(base::message::kDaemonFailed, status.message(), {{"error", status.message()}});
  return 1;
}

int start(lib::Clock::Time begun, const std::vector<std::string>& arguments) {
  // First, before other code opens descriptors.
  auto passed = base::take_passed_descriptors();
  Manager manager{base::Notifier::from_environment(), std::move(passed)};
  config::Problems problems;
  const config::Flags flags = config::parse_flags(arguments, problems);
  if (problems.has_errors()) return daemon::print(problems);
  const reload::ReaderEnvironment environment = daemon::reader_environment();
  const config::Action action = flags.action();
  if (action == config::Action::help) {
    config::Problems ignored;
    const auto plugins = config::read_configuration(flags, environment.defaults, ignored).plugins();
    std::fputs(config::help_text("sluiced", daemon::kPluginDir, environment.defaults.state_dir).c_str(), stdout);
    std::fputs(daemon::option_help(plugins).c_str(), stdout);
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
    if (problems.has_errors()) return daemon::print(problems);
    logging::set_up_logging(draft.log());
    return daemon::clean_up(plugins, draft.settings.state_dir) ? 0 : 1;
  }
  if (action == config::Action::hold_descriptors) {
    if (problems.has_errors()) return daemon::print(problems);
    const lib::Status status = lifecycle::hold_in_foreground(lifecycle::StateDir(draft.settings.state_dir).holder_socket());
    std::fprintf(stderr, "error: %s\n", status.message().c_str());
    return 1;
  }
  logging::set_up_logging(draft.log());  // before mode auto, which loads plugins and logs
  const config::Settings settings = reload::validated(draft, environment, nullptr, problems);
  if (action == config::Action::check) return daemon::check(settings, problems);
  if (problems.has_errors()) return daemon::print(problems);
  if (action == config::Action::write_config) {
    return daemon::write_configuration(flags.text("write-config-to"), draft, settings, problems);
  }
  logging::set_up_logging(settings.log);
  log_start(settings, problems);
  if (action == config::Action::init_only) {
    const lib::Status status = daemon::init_only(settings);
    if (!status.ok()) base::log(base::message::kInitFailed, status.message(), {{"error", status.message()}});
    return status.ok() ? 0 : 1;
  }
  return run(begun, settings, std::move(manager), [&](const config::Settings& running, config::Problems& reload_problems) {
    return reload::read_settings(arguments, environment, running, reload_problems);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const lib::Clock::Time begun = lib::SteadyClock().now();
  try {
    if (const auto status = lifecycle::run_holder({argv, argv + argc})) return *status;
    const int status = start(begun, {argv + 1, argv + argc});
    logging::flush_logging();
    return status;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
