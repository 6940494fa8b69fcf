// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/daemon/actions.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "core/config/render.hpp"
#include "core/daemon/source.hpp"
#include "core/lifecycle/load_backend.hpp"
#include "lib/files.hpp"

namespace sluice::daemon {
namespace {

void check_references(const config::Settings& settings, config::Problems& problems) {
  if (const auto loaded = lifecycle::load_backend(settings.plugins, settings.backend); !loaded) {
    problems.error("backend " + settings.backend, loaded.status().message());
  }
  for (const auto& sentence : check_source(settings)) problems.error("", sentence);
}

// `path` may be a device such as /dev/stdout, which cannot be replaced atomically.
int write_text(const std::string& path, const std::string& text) {
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

}  // namespace

int print(const config::Problems& problems) {
  for (const auto& problem : problems.all()) {
    std::fprintf(stderr, "%s: %s\n", problem.severity == config::Problem::Severity::error ? "error" : "warning",
                 problem.to_string().c_str());
  }
  return problems.has_errors() ? 1 : 0;
}

int check(const config::Settings& settings, config::Problems& problems) {
  if (!problems.has_errors()) check_references(settings, problems);
  const int status = print(problems);
  if (status == 0 && !settings.backend_reason.empty()) std::puts(settings.backend_reason.c_str());
  std::puts(status == 0 ? "configuration is usable" : "configuration is not usable");
  return status;
}

int write_configuration(const std::string& path, const config::Draft& draft, const config::Settings& settings,
                        config::Problems& problems) {
  config::warn_not_written(draft, settings, problems);
  print(problems);
  return write_text(path, config::configuration_yaml(draft, settings));
}

}  // namespace sluice::daemon
