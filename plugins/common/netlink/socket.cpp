// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netlink/socket.hpp"

#include <memory>
#include <utility>

#include "lib/status.hpp"
#include "plugins/common/netlink/error.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::netlink {

using lib::netlink::Message;

std::unique_ptr<lib::netlink::RawSocket> open_raw_socket(int protocol) {
  auto raw_socket = lib::netlink::open_raw_socket(protocol);
  if (!raw_socket) {
    fail(raw_socket.status().os_errno(), {}, "cannot open a netlink socket of protocol " + std::to_string(protocol));
  }
  return std::move(*raw_socket);
}

Socket::Socket(int protocol, std::string what)
    : Socket([protocol] { return open_raw_socket(protocol); }, std::move(what)) {}

Socket::Socket(OpenRawSocket open, std::string what, std::chrono::milliseconds timeout)
    : Base([open = std::move(open)] { return lib::Result<std::unique_ptr<lib::netlink::RawSocket>>(open()); },
           std::move(what), timeout) {}

template <class T>
T Socket::value(lib::Result<T> result) const {
  if (result) return std::move(*result);
  const lib::Status status = result.status();
  throw sdk::Failure(code_of(status.os_errno()), what(), status.message(), status.os_errno());
}

int Socket::request(const Message& message, const Take& take) { return value(Base::request(header_of(message), take)); }

int Socket::dump(const Message& message, const std::function<void()>& begin, const Take& take, InterruptibleDump* loose) {
  return value(Base::dump(header_of(message), begin, take, loose));
}

std::vector<int> Socket::batch(std::size_t count, const std::function<Message(std::size_t index)>& make) {
  Message message;
  return value(Base::batch(count, [&](std::size_t index) {
    message = make(index);
    return header_of(message);
  }));
}

}  // namespace sluice::netlink
