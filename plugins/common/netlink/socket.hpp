// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Netlink requests and their replies, with errors as sdk::Failure. One thread at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/netlink/message.hpp"
#include "lib/netlink/raw_socket.hpp"
#include "lib/netlink/socket.hpp"

namespace sluice::netlink {

using OpenRawSocket = std::function<std::unique_ptr<lib::netlink::RawSocket>()>;

// As lib::netlink::open_raw_socket(). Throws sdk::Failure.
std::unique_ptr<lib::netlink::RawSocket> open_raw_socket(int protocol);

// Where lib::netlink::Socket returns a status this throws sdk::Failure: kRetry for shortages and timeouts, otherwise the
// code of code_of().
class Socket : private lib::netlink::Socket {
  using Base = lib::netlink::Socket;

 public:
  using Base::datagrams;
  using Base::InterruptibleDump;
  using Base::kDatagram;
  using Base::kTimeout;
  using Base::kTries;
  using Base::kWindow;
  using Base::reason;
  using Base::requests;
  using Base::Take;

  Socket(int protocol, std::string what);
  Socket(OpenRawSocket open, std::string what, std::chrono::milliseconds timeout = kTimeout);

  [[nodiscard]] int request(const lib::netlink::Message& message, const Take& take = {});
  [[nodiscard]] int dump(const lib::netlink::Message& message, const std::function<void()>& begin, const Take& take,
                         InterruptibleDump* loose = nullptr);
  std::vector<int> batch(std::size_t count, const std::function<lib::netlink::Message(std::size_t index)>& make);

 private:
  template <class T>
  T value(lib::Result<T> result) const;
};

}  // namespace sluice::netlink
