// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/flows/flow_keeper.hpp"

#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <netlink/msg.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <span>
#include <system_error>
#include <utility>

#include "lib/netlink/error.hpp"
#include "lib/signals_blocked.hpp"
#include "plugins/common/log_ids.hpp"
#include "plugins/ipvs/flows/forgotten_flow.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::ipvs {
namespace {

constexpr std::size_t kBuffer = 64 * 1024;

}  // namespace

FlowKeeper::FlowKeeper(netlink::OpenRawSocket open, abi::Family family, sdk::Logger log)
    : open_(std::move(open)), family_(family), log_(log) {}

FlowKeeper::~FlowKeeper() { stop(); }

void FlowKeeper::listen() {
  if (!open_ || events_) return;
  try {
    events_ = open_();
    // A busy node expires thousands of flows per second. If the kernel cannot filter those out, keep() ignores them.
    static_cast<void>(events_->filter_by_attribute(CTA_TIMEOUT, sizeof(nfgenmsg)));
    const int refused = events_->set_membership(NFNLGRP_CONNTRACK_DESTROY, true);
    if (refused != 0) give_up(lib::netlink::error_text(refused));
  } catch (const sdk::Failure& failure) {
    give_up(failure.what());
  }
}

void FlowKeeper::start(const std::vector<ServerKey>& servers) {
  if (!events_ || running()) return;
  if (servers.empty()) return stop();
  if (const int failure = wake_.open(); failure != 0) return give_up("no eventfd: " + lib::netlink::error_text(failure));
  requests_ = std::make_unique<netlink::Socket>(open_, "connection tracking");
  servers_ = {servers.begin(), servers.end()};
  buffer_.resize(kBuffer);
  restored_ = late_ = 0;
  failure_.clear();
  ending_ = false;
  const lib::SignalsBlocked blocked;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& caught) {
    give_up("no thread: " + lib::netlink::error_text(caught.code().value()));
  }
}

void FlowKeeper::give_up(const std::string& why) {
  stop();
  if (std::exchange(warned_, true)) return;
  log_.warning(
      log_id::kFlowKeeperFailed,
      "a client that reuses a port may lose its connection while ipvs mode retires: cannot receive conntrack events: " +
          why);
}

void FlowKeeper::stop(std::chrono::milliseconds linger) {
  if (thread_.joinable()) {
    std::this_thread::sleep_for(linger);
    ending_ = true;
    wake_.signal();
    thread_.join();
    if (restored_ != 0)
      log_.info(log_id::kFlowsRestored, "restored conntrack entries that IPVS removed: " + std::to_string(restored_));
    if (late_ != 0)
      log_.warning(log_id::kFlowsRestoredLate,
                   "conntrack entries that IPVS removed were not restored in time: " + std::to_string(late_));
    if (!failure_.empty())
      log_.warning(log_id::kConnectionsMaybeReset,
                   "connections may have been reset when ipvs mode retired: " + failure_);
  }
  wake_ = lib::WakeUp();
  events_.reset();
  requests_.reset();
}

void FlowKeeper::run() {
  for (bool last = false; !last;) {
    pollfd wait[] = {{wake_.descriptor(), POLLIN, 0}, {events_->descriptor(), POLLIN, 0}};
    ::poll(wait, 2, -1);
    last = ending_;
    try {
      if (!read_all()) return;
    } catch (const std::exception& caught) {
      if (failure_.empty()) failure_ = caught.what();
    }
  }
}

// False: no more notifications will arrive.
bool FlowKeeper::read_all() {
  for (;;) {
    const long size = events_->receive(std::span<char>(buffer_), std::chrono::milliseconds(0));
    if (size == -EAGAIN) return true;
    if (size == -EINTR) continue;
    if (size < 0) {
      if (failure_.empty())
        failure_ = "conntrack notifications were lost: " + lib::netlink::error_text(static_cast<int>(-size));
      if (size != -ENOBUFS) return false;
      continue;
    }
    int left = static_cast<int>(std::min(size, static_cast<long>(buffer_.size())));
    auto* message = reinterpret_cast<nlmsghdr*>(buffer_.data());
    for (; nlmsg_ok(message, left); message = nlmsg_next(message, &left)) restore(message);
  }
}

void FlowKeeper::restore(nlmsghdr* message) {
  const auto flow = read_forgotten(message, family_);
  if (!flow || !servers_.contains(flow->service)) return;
  const int refused = requests_->request(restore_request(*flow, family_));
  if (refused == 0) {
    ++restored_;
  } else if (refused == EEXIST) {
    ++late_;
  } else if (failure_.empty()) {
    failure_ = "cannot restore a conntrack entry: " + lib::netlink::error_text(refused);
  }
}

}  // namespace sluice::ipvs
