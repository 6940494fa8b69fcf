// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Netlink requests and their replies. One thread at a time.
#pragma once

#include <linux/netlink.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/netlink/message.hpp"
#include "plugins/common/netlink/wire.hpp"

namespace sluice::netlink {

// Opens its wire on first use, in the current network namespace, and reopens it after any error, so that a late reply
// is never taken for the reply to another request.
class Socket {
 public:
  // Receives one message of the kernel; the socket owns its memory.
  using Take = std::function<void(nlmsghdr* message)>;

  // Options and result of a dump whose caller can handle an interruption (NLM_F_DUMP_INTR) itself.
  struct InterruptibleDump {
    std::function<bool()> stop;  // called before each part, true cancels the dump; may be empty
    bool interrupted = false;    // result
  };

  static constexpr std::chrono::milliseconds kPatience{5000};  // timeout for one reply
  static constexpr int kTries = 5;                             // of a dump
  // Requests in one datagram. Each acknowledgement takes up to 1 KiB of the receive buffer, whose default is at least
  // 208 KiB.
  static constexpr std::size_t kWindow = 128;
  static constexpr std::size_t kDatagram = 48 * 1024;  // bytes in one datagram

  // `what` names the subsystem in error messages: "IPVS".
  Socket(int protocol, std::string what);
  Socket(OpenWire open, std::string what, std::chrono::milliseconds patience = kPatience);
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // Sends one request and waits for its acknowledgement; other replies go to `take`. Returns 0 or the errno of the
  // refusal. Throws sdk::Failure if the result is unknown: kRetry for shortages and timeouts, otherwise the code of
  // code_of().
  [[nodiscard]] int request(const Message& message, const Take& take = {});

  // A complete dump. It is repeated if it was interrupted or truncated; `begin` is called before each try and must
  // discard the messages taken so far. Returns 0 or the errno of the refusal. Throws sdk::Failure as above, kRetry
  // after kTries. With `loose` only a truncated dump is repeated; returns ECANCELED if its `stop` returned true.
  [[nodiscard]] int dump(const Message& message, const std::function<void()>& begin, const Take& take,
                         InterruptibleDump* loose = nullptr);

  // Sends many requests in order, several per datagram; `make` is called once per index. Returns 0 or the errno of the
  // refusal for each. Throws sdk::Failure if one result is unknown; later requests have then not been sent, or their
  // results are unknown, too.
  std::vector<int> batch(std::size_t count, const std::function<Message(std::size_t index)>& make);

  // The kernel's message (extended ACK) for the last refused request; often empty.
  const std::string& reason() const noexcept { return reason_; }
  // Requests sent by batch() and request(), and datagrams sent, since the object was created.
  std::uint64_t requests() const noexcept { return requests_; }
  std::uint64_t datagrams() const noexcept { return datagrams_; }

 private:
  enum class Broken { kNo, kAgain, kSilent };

  Wire& wire();
  void close() noexcept;
  std::uint32_t stamp(nlmsghdr* header, int flags);
  void send(std::string_view datagram);
  long receive();
  // Reads the replies to `count` requests numbered from `first`; throws unless each has one.
  void take_answers(std::uint32_t first, std::size_t count, int* answers, const Take& take);
  int try_dump(const Message& message, const Take& take, InterruptibleDump* loose, Broken& broken, std::string& why);
  int answer(nlmsghdr* header);
  [[noreturn]] void give_up(int error, const std::string& why);

  OpenWire open_;
  std::string what_;
  std::chrono::milliseconds patience_;
  std::unique_ptr<Wire> wire_;
  std::vector<char> buffer_;
  std::string reason_;
  std::uint32_t sequence_ = 0;
  std::uint64_t requests_ = 0;
  std::uint64_t datagrams_ = 0;
};

}  // namespace sluice::netlink
