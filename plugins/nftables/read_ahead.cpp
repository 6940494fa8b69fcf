// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/read_ahead.hpp"

#include <new>
#include <system_error>
#include <utility>

#include "lib/signals_blocked.hpp"
#include "plugins/nftables/wanted_listing.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::nftables {

void ReadAhead::run(std::function<void()> body) {
  forget();
  const lib::SignalsBlocked blocked;
  try {
    thread_ = std::thread([body = std::move(body)] {
      try {
        body();
      } catch (const sdk::Failure&) {
      } catch (const std::bad_alloc&) {
      }
    });
  } catch (const std::system_error&) {
  }
}

void ReadAhead::start() {
  run([this] {
    listing_ = file_.load(kernel_);
    if (!listing_) listing_ = kernel_.list();
  });
}

void ReadAhead::check(Listing wanted, std::function<void(const std::string& difference)> report) {
  checked_ = false;
  run([this, wanted = std::move(wanted), report = std::move(report)] {
    const auto difference = first_difference(wanted, kernel_.list());
    if (difference) return report(*difference);
    checked_ = true;
  });
}

std::optional<Listing> ReadAhead::take() {
  wait();
  std::optional<Listing> taken = std::exchange(listing_, std::nullopt);
  if (taken && kernel_.generation() != taken->generation) taken.reset();
  return taken;
}

void ReadAhead::forget() noexcept {
  wait();
  listing_.reset();
}

void ReadAhead::wait() noexcept {
  if (thread_.joinable()) thread_.join();
}

}  // namespace sluice::nftables
