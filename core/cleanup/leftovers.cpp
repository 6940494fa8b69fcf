// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cleanup/leftovers.hpp"

#include <exception>
#include <string>

#include "core/cleanup/chains.hpp"
#include "core/cleanup/ipsets.hpp"
#include "core/cleanup/links.hpp"
#include "core/cleanup/nft_tables.hpp"
#include "core/cleanup/virtual_servers.hpp"

namespace sluice::cleanup {

Removal remove_leftovers(const Selection& selection, const std::function<bool()>& stopped) {
  Removal out;
  // Rules first, since they use the sets. Virtual servers before the link and the sets, which show the virtual servers
  // that kube-proxy made.
  const std::function<void()> steps[] = {
      [&] { remove_tables(selection, out); },
      [&] { remove_chains(selection, lib::Family::ipv4, out); },
      [&] { remove_chains(selection, lib::Family::ipv6, out); },
      [&] {
        if (selection.virtual_servers()) remove_virtual_servers(out);
      },
      [&] { remove_links(selection, out); },
      [&] { remove_sets(selection, out); },
  };
  for (const auto& step : steps) {
    if (stopped && stopped()) break;
    try {
      step();
    } catch (const std::exception& caught) {
      out.failures.push_back(std::string("clean-up: ") + caught.what());
    }
  }
  return out;
}

}  // namespace sluice::cleanup
