// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What happens to one packet, for `sluicectl explain`: the rules that match it, the proxy socket, and the endpoints.
#pragma once

#include "plugins/common/inspection/rows.hpp"
#include "plugins/userspace/portal/portal_writer.hpp"
#include "plugins/userspace/relay/client_policy.hpp"
#include "plugins/userspace/service_table.hpp"
#include "plugins/userspace/settings.hpp"

namespace sluice::userspace {

struct ExplanationSources {
  PortalWriter& writer;
  const ServiceTable& table;
  const Settings& settings;
  const ClientPolicy& clients;
};

// Reads the rules, and queries the proxy socket. Changes nothing. Throws sdk::Failure.
void explain(const ExplanationSources& from, inspection::Explanation& explanation);

}  // namespace sluice::userspace
