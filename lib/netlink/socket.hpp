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
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/netlink/raw_socket.hpp"
#include "lib/status.hpp"

namespace sluice::lib::netlink {

// Opens its raw socket on first use, in the current network namespace, and reopens it after any error, so that a late
// reply is never taken for the reply to another request. Requests are messages of any library; their sequence number,
// their port ID and the flags NLM_F_REQUEST, NLM_F_ACK and NLM_F_DUMP are set here.
//
// A refusal of the kernel is an errno. A status means that the result is unknown; its os_errno() is the reason,
// ETIMEDOUT after a timeout.
class Socket {
 public:
  // Receives one message of the kernel; the socket owns its memory.
  using Take = std::function<void(nlmsghdr* message)>;
  // The same; returning false ends the dump.
  using Visit = std::function<bool(nlmsghdr* message)>;

  // Options and result of a dump whose caller can handle an interruption (NLM_F_DUMP_INTR) itself.
  struct InterruptibleDump {
    std::function<bool()> stop;  // called before each part, true cancels the dump; may be empty
    bool interrupted = false;    // result
  };

  // How one try of a dump ended.
  struct DumpEnd {
    enum class Broken { kNo, kAgain, kSilent, kForGood };  // kAgain, kSilent (timeout): another try may succeed
    Broken broken = Broken::kNo;
    int error = 0;             // 0, the errno of the refusal or of what broke it, or ECANCELED: the caller ended it
    bool interrupted = false;  // the data changed meanwhile (NLM_F_DUMP_INTR)
    std::string why;           // it is broken
  };

  // Which requests of a batch the kernel acknowledges. It reports each refusal in any case.
  enum class Acks { kEach, kLast };

  static constexpr std::chrono::milliseconds kTimeout{5000};  // timeout for one reply
  static constexpr int kTries = 5;                             // of a dump
  // Requests in one datagram. Each acknowledgement takes up to 1 KiB of the receive buffer, whose default is at least
  // 208 KiB.
  static constexpr std::size_t kWindow = 128;
  static constexpr std::size_t kDatagram = 48 * 1024;  // bytes in one datagram

  // `what` names the subsystem in error messages: "IPVS".
  Socket(int protocol, std::string what);
  Socket(OpenRawSocket open, std::string what, std::chrono::milliseconds timeout = kTimeout);
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // Sends one request and waits for its acknowledgement; other replies go to `take`. Returns 0 or the errno of the
  // refusal.
  Result<int> request(nlmsghdr* message, const Take& take = {});

  // A complete dump. It is repeated if it was interrupted or truncated; `begin` is called before each try and must
  // discard the messages taken so far. Returns 0 or the errno of the refusal; a status after kTries. With `loose` only a
  // truncated dump is repeated; returns ECANCELED if its `stop` returned true.
  Result<int> dump(nlmsghdr* message, const std::function<void()>& begin, const Take& take, InterruptibleDump* loose = nullptr);

  // One try of a dump.
  DumpEnd read_dump(nlmsghdr* message, const Visit& visit, const std::function<bool()>& stop = {});

  // Sends many requests in order, several per datagram. `make` is called once per index; its message is valid until the
  // next call. Returns 0 or the errno of the refusal for each; a status if one result is unknown: later requests have
  // then not been sent, or their results are unknown, too.
  Result<std::vector<int>> batch(std::size_t count, const std::function<nlmsghdr*(std::size_t index)>& make,
                                 Acks acks = Acks::kEach);

  // Sends changes of nfnetlink as one datagram between the messages that begin and end their transaction. Returns 0 or
  // the errno of the first refusal; then nothing was changed.
  Result<int> transact(nlmsghdr* begin, std::span<nlmsghdr* const> changes, nlmsghdr* end);

  const std::string& what() const noexcept { return what_; }
  // The kernel's message (extended ACK) for the last refused request; often empty.
  const std::string& reason() const noexcept { return reason_; }
  // Requests sent by batch() and request(), and datagrams sent, since the object was created.
  std::uint64_t requests() const noexcept { return requests_; }
  std::uint64_t datagrams() const noexcept { return datagrams_; }

 private:
  Status open();
  void close() noexcept;
  // Appends the message to the datagram and returns its sequence number. REQUIRES: the raw socket is open.
  std::uint32_t append(std::string& datagram, nlmsghdr* message, int flags);
  std::uint32_t stamp(nlmsghdr* message, int flags);
  Status send(std::string_view datagram);
  long receive();
  // Reads the replies to the requests that are numbered from `first`, until each answer that is kMissing has come. With
  // `whole` a refusal ends it.
  Status take_answers(std::uint32_t first, std::span<int> answers, const Take& take, bool whole = false);
  int answer(nlmsghdr* message);
  // Closes the raw socket.
  Status give_up(const Status& status);
  Status give_up(int error, const std::string& why);

  OpenRawSocket open_;
  std::string what_;
  std::chrono::milliseconds timeout_;
  std::unique_ptr<RawSocket> raw_socket_;
  std::vector<char> buffer_;
  std::string reason_;
  std::uint32_t sequence_ = 0;
  std::uint64_t requests_ = 0;
  std::uint64_t datagrams_ = 0;
};

}  // namespace sluice::lib::netlink
