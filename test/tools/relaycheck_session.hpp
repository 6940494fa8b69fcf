// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One end of a connection: sends its sequence in pieces of random size with random pauses, verifies every received
// byte, and closes its direction when it is its turn. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "netecho_socket.hpp"
#include "relaycheck_loop.hpp"
#include "relaycheck_stream.hpp"

namespace relaycheck {

struct Share {
  std::vector<unsigned char> first;  // sent before the sequence
  Sequence out{0};
  std::uint64_t out_bytes = 0;
  Sequence in{0};
  std::uint64_t in_bytes = 0;
  bool closes_second = false;   // only after the other side
  std::uint32_t pauses = 0;     // per 1000 pieces
  std::uint64_t read_rate = 0;  // bytes per second; 0: unlimited
};

class Session final : public Handler {
 public:
  struct Owner {
    // The first bytes of the other side have arrived, `first_bytes` of them. Returns nothing if they are invalid.
    std::function<std::optional<Share>(Session&, const std::vector<unsigned char>& first)> opened;
    // The session has ended; `problem` is empty on success. The session must be retired.
    std::function<void(Session&, const std::string& problem)> ended;
  };

  // `share`: the share of a client; a server gets its share from opened(). The socket is connecting or connected.
  Session(Loop& loop, const Owner& owner, netecho::Fd socket, std::size_t first_bytes, Share share, std::uint64_t seed);
  ~Session() override;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void start();
  // The sequence is not sent before this call. Sessions of a server do not need it.
  void go();
  // Whether data was received or sent since the last call.
  bool moved();

  bool opened() const { return opened_; }
  bool received_first() const { return !first_.empty(); }
  std::uint64_t sent() const { return sent_; }
  std::uint64_t received() const { return received_; }
  std::size_t number = 0;  // for the owner

 private:
  void on_events(std::uint32_t events) override;
  void on_deadline() override;
  // Return the problem, or an empty string if there is nothing more to do now.
  std::string receive();
  std::string receive_first();
  std::string send();
  void update();
  void end(const std::string& problem);
  bool in_open() const { return !in_closed_; }

  Loop& loop_;
  const Owner& owner_;
  const netecho::Fd socket_;
  const std::size_t first_bytes_;
  Share share_;
  Random random_;
  std::vector<unsigned char> first_;  // received
  std::size_t first_sent_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t moved_then_ = ~std::uint64_t{0};  // a new session is not stalled
  bool going_ = false;
  bool opened_ = false;
  bool in_closed_ = false;
  bool out_closed_ = false;
  bool ended_ = false;
  std::uint32_t watched_ = 0;
  Clock::time_point send_from_;  // pauses until then
  Clock::time_point read_from_;
  Clock::time_point deadline_ = Clock::time_point::max();
};

// An errno as a short word: "reset", "refused", …
std::string error_word(int error);

}  // namespace relaycheck
