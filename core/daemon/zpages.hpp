// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The pages /statusz and /flagz as Kubernetes' components have them (BEH 10.3): text for people, or JSON for a client
// that names the kind and its version in Accept. Pure.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "core/observe/http/http_message.hpp"

namespace sluice::daemon {

struct StatusPage {
  std::chrono::system_clock::time_point started;  // the process
  std::chrono::system_clock::time_point now;
  std::string version;             // of this build
  std::string emulation_version;   // of Kubernetes, "1.36"
  std::vector<std::string> paths;  // in order
};

// `accept` is the header of the request. The answer is 406 when it allows none of the forms.
observe::HttpResponse statusz(const StatusPage& page, const std::string& accept);
observe::HttpResponse flagz(const std::map<std::string, std::string>& flags, const std::string& accept);

}  // namespace sluice::daemon
