// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Collects all errors and warnings of a configuration, so that they are reported together.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace sluice::config {

struct Problem {
  enum class Severity { warning, error };
  Severity severity = Severity::error;
  std::string where;  // "--cluster-cidr", "/etc/sluice/config.yaml:12: clusterCIDR", or empty
  std::string text;   // the error and the allowed values

  std::string to_string() const { return where.empty() ? text : where + ": " + text; }
};

class Problems {
 public:
  void error(std::string where, std::string text) {
    all_.push_back({Problem::Severity::error, std::move(where), std::move(text)});
    ++errors_;
  }
  void warning(std::string where, std::string text) {
    all_.push_back({Problem::Severity::warning, std::move(where), std::move(text)});
  }
  bool has_errors() const { return errors_ != 0; }
  std::size_t errors() const { return errors_; }
  const std::vector<Problem>& all() const { return all_; }

 private:
  std::vector<Problem> all_;
  std::size_t errors_ = 0;
};

}  // namespace sluice::config
