// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The descriptor holder: keeps descriptors of a daemon and gives them to the next one. Its only state is in memory. One
// thread, which waits for no client longer than a few seconds.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/lifecycle/holder_message.hpp"
#include "lib/clock.hpp"
#include "lib/fd.hpp"
#include "lib/status.hpp"

namespace sluice::lifecycle {

class HolderServer {
 public:
  struct Options {
    std::string path;                   // of its socket
    std::chrono::milliseconds timeout;  // without a daemon; the daemon may send another one
    std::vector<uid_t> users;           // of clients; others are disconnected
    std::size_t max_descriptors = 16384;
    std::size_t max_clients = 16;
    int messages_at_once = 256;                 // of one client, before the others have their turn
    std::chrono::milliseconds patience{5'000};  // with a client that does not read
    std::uint16_t version = holding::kVersion;
    bool stays = false;  // instead of ending, closes everything that it has
  };

  explicit HolderServer(Options options) : options_(std::move(options)) {}
  // Removes its socket, unless that of another holder has replaced it.
  ~HolderServer();
  HolderServer(const HolderServer&) = delete;
  HolderServer& operator=(const HolderServer&) = delete;

  // Replaces a socket with that path.
  lib::Status listen();
  // Returns when a daemon ends it, when the last descriptor is removed, or when the timeout expires without a daemon;
  // never with `stays`.
  void run();

 private:
  struct Client {
    lib::Fd fd;
    bool is_daemon = false;
  };

  void accept_client();
  // Handles pending messages; closes the client's descriptor at its end.
  void serve(Client& client);
  void handle(Client& client, holding::Message message, bool lost_fd);
  void hello(Client& client, std::uint32_t timeout);
  void give(Client& client);
  void store(Client& client, holding::Message message, bool lost_fd);
  // Waits for a client that reads slowly, but not for one that does not read. Closes its descriptor then.
  bool answer(Client& client, const holding::Message& message, int fd = -1);
  bool has_daemon() const;
  void end();
  bool ended(lib::Clock::Time now);

  const Options options_;
  std::chrono::milliseconds timeout_{options_.timeout};
  lib::Fd listener_;
  ino_t inode_ = 0;  // of the socket's path
  std::vector<Client> clients_;
  std::map<std::string, lib::Fd> held_;
  std::optional<lib::Clock::Time> deadline_;
  bool served_ = false;  // a daemon has connected
  bool end_ = false;
};

}  // namespace sluice::lifecycle
