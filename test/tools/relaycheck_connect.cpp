// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// relaycheck connect: opens many connections, sends data in both directions and verifies every byte.
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unordered_map>

#include "netecho_options.hpp"
#include "relaycheck_commands.hpp"
#include "relaycheck_session.hpp"
#include "relaycheck_tally.hpp"

namespace relaycheck {
namespace {

struct Wanted {
  netecho::Address target;
  std::size_t at_once = 1;
  std::size_t total = 1;
  std::uint64_t up = 0;
  std::uint64_t down = 0;
  bool vary = false;      // random sizes up to these, small ones as often as large ones
  bool together = false;  // no data before all connections are open
  std::chrono::milliseconds hold{0};
  std::chrono::milliseconds patience{0};
  std::uint64_t read_rate = 0;
  std::uint64_t server_read_rate = 0;
  std::uint32_t pauses = 0;
  std::uint64_t seed = 1;
};

class Client final : private Handler {
 public:
  explicit Client(Wanted wanted) : wanted_(std::move(wanted)) {}

  int run() {
    check_at_ = loop_.now() + wanted_.patience;
    arm();
    begin_more();
    loop_.run();
    tally_.print(sessions_.size());
    loop_.set_deadline(*this, deadline_, Clock::time_point::max());
    sessions_.clear();
    return tally_.failed == 0 ? 0 : 1;
  }

 private:
  void on_events(std::uint32_t) override {}

  // A header describes a connection completely, and depends only on its number.
  Header header(std::size_t number) const {
    Random random(wanted_.seed + number * 1000003);
    Header out;
    out.seed = random.next() >> 2;
    out.up = amount(random, wanted_.up);
    out.down = amount(random, wanted_.down);
    out.read_rate = wanted_.server_read_rate;
    out.closes_first = static_cast<ClosesFirst>(number % 3);
    out.pauses = wanted_.pauses;
    return out;
  }
  std::uint64_t amount(Random& random, std::uint64_t most) const {
    if (!wanted_.vary || most == 0) return most;
    unsigned bits = 1;
    while ((most >> bits) != 0) ++bits;
    return std::min<std::uint64_t>(random.size(bits) - 1, most);
  }
  Share share(const Header& header) const {
    Share out;
    out.first.resize(sizeof header);
    std::memcpy(out.first.data(), &header, sizeof header);
    out.out = Sequence(up_seed(header));
    out.out_bytes = header.up;
    out.in = Sequence(down_seed(header));
    out.in_bytes = header.down;
    out.closes_second = header.closes_first == ClosesFirst::server;
    out.pauses = header.pauses;
    out.read_rate = wanted_.read_rate;
    return out;
  }

  void begin_more() {
    while (sessions_.size() < wanted_.at_once && begun_ < wanted_.total) {
      const std::size_t number = begun_++;
      netecho::Fd socket = netecho::open_socket(wanted_.target.family(), netecho::Protocol::tcp);
      if (!socket.valid() ||
          (::connect(socket.get(), wanted_.target.raw(), wanted_.target.length) != 0 && errno != EINPROGRESS)) {
        tally_.add_problem(number, "connect, " + error_word(errno));
        continue;
      }
      auto session = std::make_unique<Session>(loop_, owner_, std::move(socket), sizeof(std::uint64_t),
                                               share(header(number)), wanted_.seed + number);
      session->number = number;
      session->start();
      if (!wanted_.together) session->go();
      sessions_.emplace(number, std::move(session));
      tally_.most_open = std::max(tally_.most_open, sessions_.size());
    }
    if (sessions_.empty()) loop_.stop();
  }

  std::optional<Share> opened(Session& session, const std::vector<unsigned char>& first) {
    const Header asked = header(session.number);
    std::uint64_t answer = 0;
    std::memcpy(&answer, first.data(), sizeof answer);
    if (answer != acknowledgement(asked)) return std::nullopt;
    if (wanted_.together && ++opened_ == wanted_.at_once) {
      std::printf("all open\n");
      std::fflush(stdout);
      go_at_ = loop_.now() + wanted_.hold;
      arm();
    }
    return share(asked);
  }

  void ended(Session& session, const std::string& problem) {
    tally_.bytes_up += session.sent();
    tally_.bytes_down += session.received();
    if (problem.empty()) {
      ++tally_.ok;
    } else {
      tally_.add_problem(session.number, problem);
    }
    const auto at = sessions_.find(session.number);
    loop_.retire(std::move(at->second));
    sessions_.erase(at);
    begin_more();
  }

  void arm() { loop_.set_deadline(*this, deadline_, std::min(check_at_, go_at_)); }

  void on_deadline() override {
    const auto now = loop_.now();
    if (now >= go_at_) {
      go_at_ = Clock::time_point::max();
      check_at_ = now + wanted_.patience;
      for (auto& [number, session] : sessions_) {
        session->moved();
        session->go();
      }
    }
    if (now >= check_at_) {
      check_at_ = now + wanted_.patience;
      give_up_stalled();
    }
    arm();
  }

  // A connection without progress since the last check has stalled.
  void give_up_stalled() {
    const bool holding = go_at_ != Clock::time_point::max();
    for (auto at = sessions_.begin(); at != sessions_.end();) {
      if (at->second->moved() || (holding && at->second->opened())) {
        ++at;
        continue;
      }
      tally_.add_problem(at->first, "stalled: sent " + std::to_string(at->second->sent()) + ", received " +
                                        std::to_string(at->second->received()));
      at = sessions_.erase(at);
    }
    begin_more();
  }

  const Wanted wanted_;
  Loop loop_;
  Tally tally_;
  const Session::Owner owner_{
      [this](Session& session, const std::vector<unsigned char>& first) { return opened(session, first); },
      [this](Session& session, const std::string& problem) { ended(session, problem); }};
  std::unordered_map<std::size_t, std::unique_ptr<Session>> sessions_;
  std::size_t begun_ = 0;
  std::size_t opened_ = 0;
  Clock::time_point check_at_;
  Clock::time_point go_at_ = Clock::time_point::max();
  Clock::time_point deadline_ = Clock::time_point::max();
};

}  // namespace

int connect(const std::vector<std::string>& words) {
  const netecho::Options options(words, {{"--connections", "--total", "--up", "--down", "--hold", "--timeout", "--read-rate",
                                          "--server-read-rate", "--pauses", "--seed"},
                                         {"--vary", "--together"},
                                         2});
  Wanted wanted;
  wanted.target = netecho::make_address(options.positional(0), netecho::parse_port(options.positional(1)));
  wanted.at_once = options.number("--connections", 1);
  wanted.total = options.number("--total", static_cast<unsigned>(wanted.at_once));
  wanted.up = options.number("--up", 0);
  wanted.down = options.number("--down", 0);
  wanted.vary = options.has("--vary");
  wanted.together = options.has("--together");
  wanted.hold = options.milliseconds("--hold", 0);
  wanted.patience = options.milliseconds("--timeout", 20000);
  wanted.read_rate = options.number("--read-rate", 0);
  wanted.server_read_rate = options.number("--server-read-rate", 0);
  wanted.pauses = options.number("--pauses", 0);
  wanted.seed = options.number("--seed", 1);
  if (wanted.together && wanted.total != wanted.at_once) {
    throw netecho::UsageError("--together needs all connections at once: omit --total");
  }
  raise_descriptor_limit();
  return Client(std::move(wanted)).run();
}

}  // namespace relaycheck
