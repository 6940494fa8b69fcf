// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The control socket: a Unix socket with a JSON lines protocol, for root only. A request
// is {"command":"status", …}; the answer is {"result":…} or {"error":"sentence"}, each
// on one line; a client may send any number of requests, one after the other.
//
// One thread serves all clients with poll(). The cost of clients is bounded: the length
// of a request, one pending answer, the time for each, the number of clients. Handlers
// run on that thread and must be quick; a slow handler answers later from another thread,
// and the next request of its client waits for that.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/observe/control/control_reply.hpp"
#include "lib/clock.hpp"
#include "lib/fd.hpp"
#include "lib/status.hpp"
#include "lib/wake_up.hpp"

namespace sluice::observe {

struct ControlOptions {
  std::vector<uid_t> users{0, ::geteuid()};  // that may connect: root and the user of the daemon
  std::size_t max_clients = 32;
  std::size_t request_limit = 64u << 10;            // bytes of one line
  std::chrono::milliseconds request_time{10'000};   // from connecting to the end of the first request
  std::chrono::milliseconds idle_time{60'000};      // from an answer to the end of the next request
  std::chrono::milliseconds response_time{30'000};  // for taking one answer
};

class ControlServer {
 public:
  // Returns the result of a request; an exception becomes an error answer.
  using Handler = std::function<nlohmann::json(const nlohmann::json&)>;

  // Starts an operation and returns at once; the operation answers with the ControlReply, on any thread.
  struct Pending {
    std::chrono::milliseconds timeout;
    MakeResult on_timeout;  // builds the answer after the timeout
  };
  using SlowHandler = std::function<Pending(const nlohmann::json&, ControlReply)>;

  explicit ControlServer(std::string path, ControlOptions options = {})
      : path_(std::move(path)), options_(std::move(options)) {}
  ~ControlServer() { stop(); }
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  // REQUIRES: not started.
  void on(std::string command, Handler handler) { handlers_[std::move(command)] = std::move(handler); }

  void on_slow(std::string command, SlowHandler handler) { slow_handlers_[std::move(command)] = std::move(handler); }

  // Creates the socket (mode 0600) and starts the thread. Replaces a socket at the path.
  // REQUIRES: no other process serves there, which the lock of the state directory ensures.
  lib::Status start();
  // Ends the thread, closes all clients, removes the socket. Not from a handler.
  void stop();

 private:
  using Time = lib::Clock::Time;
  struct Client {
    lib::Fd fd;
    std::string input;        // at most request_limit
    std::string output;       // one answer; no input is read until it is written
    std::size_t written = 0;  // bytes of output
    bool closing = false;     // no more requests; close when output is written
    // Of the pending slow request; 0: none. No input is read while it is pending.
    std::uint64_t ticket = 0;
    std::weak_ptr<ControlReply::State> reply;
    MakeResult on_timeout;
    Time deadline;
  };

  lib::Status bind_socket();
  void run();
  void accept_clients(Time now);
  void deliver_answers(Time now);
  void answered(Client& client, std::string line, Time now);
  // False: drop the client.
  bool serve(Client& client, short events, Time now);
  bool read_input(Client& client);
  bool write_output(Client& client, Time now);
  // Answers the next complete request in the input, if there is one.
  void answer_next(Client& client, Time now);
  void answer(Client& client, const std::string& line, Time now);
  void begin(Client& client, const SlowHandler& handler, const std::string& command, const nlohmann::json& request,
             Time now);
  static void forget_reply(std::weak_ptr<ControlReply::State>& reply);

  const std::string path_;
  const ControlOptions options_;
  std::map<std::string, Handler> handlers_;
  std::map<std::string, SlowHandler> slow_handlers_;
  lib::SteadyClock clock_;
  lib::Fd listener_;
  lib::WakeUp stop_event_;
  std::shared_ptr<ReplyMailbox> mailbox_;
  std::uint64_t last_ticket_ = 0;
  std::list<Client> clients_;
  Time accept_from_{};  // no accept() before this time; in the future after descriptors ran out
  std::thread thread_;
};

}  // namespace sluice::observe
