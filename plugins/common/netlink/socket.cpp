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

std::unique_ptr<lib::netlink::Wire> open_kernel(int protocol) {
  auto wire = lib::netlink::open_kernel(protocol);
  if (!wire) fail(wire.status().os_errno(), {}, "cannot open a netlink socket of protocol " + std::to_string(protocol));
  return std::move(*wire);
}

Socket::Socket(int protocol, std::string what)
    : Socket([protocol] { return open_kernel(protocol); }, std::move(what)) {}

Socket::Socket(OpenWire open, std::string what, std::chrono::milliseconds patience)
    : Base([open = std::move(open)] { return lib::Result<std::unique_ptr<lib::netlink::Wire>>(open()); }, std::move(what),
           patience) {}

template <class T>
T Socket::value(lib::Result<T> result) const {
  if (result) return std::move(*result);
  const lib::Status status = result.status();
  throw sdk::Failure(code_of(status.os_errno()), what(), status.message(), status.os_errno());
}

int Socket::request(const Message& message, const Take& take) { return value(Base::request(header(message), take)); }

int Socket::dump(const Message& message, const std::function<void()>& begin, const Take& take, InterruptibleDump* loose) {
  return value(Base::dump(header(message), begin, take, loose));
}

std::vector<int> Socket::batch(std::size_t count, const std::function<Message(std::size_t index)>& make) {
  Message message;
  return value(Base::batch(count, [&](std::size_t index) {
    message = make(index);
    return header(message);
  }));
}

}  // namespace sluice::netlink
