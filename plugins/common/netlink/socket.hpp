// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Requests to the kernel and what it answers. One thread at a time.
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

// Opens its wire at first use (it belongs to the network namespace of that moment), and again after anything
// went wrong with it, so that no late answer is taken for another one's.
class Socket {
 public:
  // One message of the kernel; the memory is the socket's.
  using Take = std::function<void(nlmsghdr* message)>;

  // A dump that may be interrupted: who asks for it knows what that means.
  struct Loose {
    std::function<bool()> stop;  // asked before each part; may be empty
    bool interrupted = false;    // told here
  };

  static constexpr std::chrono::milliseconds kPatience{5000};  // for one answer
  static constexpr int kTries = 5;                             // of a dump
  // Requests in one datagram. Each acknowledgement takes up to 1 KiB of the receive buffer, and the smallest one
  // there is by default holds 208 KiB.
  static constexpr std::size_t kWindow = 128;
  static constexpr std::size_t kDatagram = 48 * 1024;  // bytes in one datagram

  // `what` names the other end in failures: "IPVS".
  Socket(int protocol, std::string what);
  Socket(OpenWire open, std::string what, std::chrono::milliseconds patience = kPatience);
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // Sends one request and waits for its acknowledgement; what else is answered goes to `take`. 0, or the errno the
  // request was refused with. Throws sdk::Failure when it is not known whether it was carried out: kRetry for shortages and
  // for an answer that does not come, otherwise as code_of() says.
  [[nodiscard]] int request(const Message& message, const Take& take = {});

  // A whole dump. It is repeated when it was interrupted or cut off: `begin` is called before each try, for what was taken
  // before is void. 0 or the errno it was refused with. Throws sdk::Failure as above, kRetry after kTries. With `loose` only one
  // that was cut off is repeated; ECANCELED when that stopped it.
  [[nodiscard]] int dump(const Message& message, const std::function<void()>& begin, const Take& take, Loose* loose = nullptr);

  // Many requests, many in one datagram, in their order; `make` is called once for each index. For each of them 0 or the errno
  // it was refused with. Throws sdk::Failure when that is not known for one of them; later ones have not been sent
  // then, or also are not known.
  std::vector<int> batch(std::size_t count, const std::function<Message(std::size_t index)>& make);

  // What the kernel said in words of the last request it refused; often empty.
  const std::string& reason() const noexcept { return reason_; }
  // Messages sent that ask for a change (batch() and request()), and datagrams sent, since the object was made.
  std::uint64_t requests() const noexcept { return requests_; }
  std::uint64_t datagrams() const noexcept { return datagrams_; }

 private:
  enum class Broken { kNo, kAgain, kSilent };

  Wire& wire();
  void close() noexcept;
  std::uint32_t stamp(nlmsghdr* header, int flags);
  void send(std::string_view datagram);
  long receive();
  // The answers to `count` requests numbered from `first`; throws unless there is one to each.
  void take_answers(std::uint32_t first, std::size_t count, int* answers, const Take& take);
  int try_dump(const Message& message, const Take& take, Loose* loose, Broken& broken, std::string& why);
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
