// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/node/address_monitor.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "core/base/log_messages.hpp"

namespace sluice::node {
namespace {

int poll_timeout(lib::Clock::Time now, lib::Clock::Time due) {
  if (due == lib::Clock::Time::max()) return -1;
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(due - now).count();
  return static_cast<int>(std::clamp<std::int64_t>(wait, 0, 60'000));
}

}  // namespace

lib::Result<InterfaceAddresses> AddressMonitor::start() {
  if (const int failure = stop_event_.open(); failure != 0) {
    return lib::errno_status("cannot watch the addresses of this node", failure);
  }
  if (const lib::Status status = events_.open(); !status.ok()) return status;
  lib::Result<InterfaceAddresses> addresses = options_.read();
  if (!addresses) return addresses;
  last_ = *addresses;
  thread_ = std::thread([this] { run(); });
  return addresses;
}

void AddressMonitor::stop() {
  if (!thread_.joinable()) return;
  stop_event_.signal();
  thread_.join();
}

void AddressMonitor::run() {
  for (;;) {
    pollfd waits[] = {{stop_event_.descriptor(), POLLIN, 0}, {events_.descriptor(), POLLIN, 0}};
    // A closed socket is -1, which poll() skips: the retry subscribes again.
    const int ready = ::poll(waits, 2, poll_timeout(clock_.now(), debounce_.due()));
    if (ready < 0 && errno != EINTR) {
      const std::string error = lib::errno_status("poll", errno).message();
      base::log(base::message::kAddressMonitorEnded, "watching the addresses of this node ended: " + error,
                {{"error", error}});
      return;
    }
    if (ready > 0 && waits[0].revents != 0) return;
    if (ready > 0 && waits[1].revents != 0) drain_events();
    if (debounce_.take(clock_.now())) refresh();
  }
}

// Only the link index of a notification is read, so truncated notifications suffice.
void AddressMonitor::drain_events() {
  switch (events_.drain()) {
    case AddressEvents::Outcome::kNothing: return;
    case AddressEvents::Outcome::kChanged: debounce_.event(clock_.now()); return;
    case AddressEvents::Outcome::kBroken: debounce_.retry(clock_.now(), options_.retry); return;
  }
}

void AddressMonitor::refresh() {
  const lib::Status subscribed = events_.descriptor() >= 0 ? lib::Status() : events_.open();
  const lib::Result<InterfaceAddresses> now = subscribed.ok() ? options_.read() : subscribed;
  if (!now) {
    base::log(base::message::kAddressesUnreadable, now.status().message() + "; will retry",
              {{"error", now.status().message()}});
    debounce_.retry(clock_.now(), options_.retry);
    return;
  }
  if (*now == last_) return;
  last_ = *now;
  options_.changed(last_);
}

}  // namespace sluice::node
