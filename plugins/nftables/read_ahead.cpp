// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/read_ahead.hpp"

#include <new>
#include <system_error>
#include <utility>

#include "lib/signals_blocked.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::nftables {

void ReadAhead::start() {
  forget();
  const lib::SignalsBlocked blocked;
  try {
    thread_ = std::thread([this] {
      // The next listing meets the same failure and reports it.
      try {
        listing_ = kernel_.list();
      } catch (const sdk::Failure&) {
      } catch (const std::bad_alloc&) {
      }
    });
  } catch (const std::system_error&) {
  }
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
