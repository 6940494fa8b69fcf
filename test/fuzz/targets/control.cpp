// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Requests on the control socket. Each must get a one-line response, a result or an error, and
// the server must survive.
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "core/observe/control/control_server.hpp"
#include "lib/fd.hpp"
#include "test/fuzz/target.hpp"

namespace sluice::fuzz {
namespace {

class Server {
 public:
  Server() {
    char folder[] = "/tmp/sluice-fuzz-XXXXXX";
    FUZZ_REQUIRE(mkdtemp(folder) != nullptr, "a folder can be made");
    folder_ = folder;
    path_ = folder_ + "/control.sock";
    server_ = std::make_unique<observe::ControlServer>(path_);
    server_->on("status", [](const nlohmann::json& request) { return request; });
    server_->on("fail", [](const nlohmann::json&) -> nlohmann::json { throw std::runtime_error("failed"); });
    const lib::Status started = server_->start();
    FUZZ_REQUIRE(started.ok(), "the server starts");
  }
  ~Server() {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Sends everything, then reads until the server closes.
  std::string ask(std::string_view text) const {
    const lib::Fd client(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    FUZZ_REQUIRE(connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0,
                 "the server takes connections");
    while (!text.empty()) {
      const ssize_t sent = send(client.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (sent < 0) break;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    shutdown(client.get(), SHUT_WR);
    std::string answer;
    char piece[4096];
    for (ssize_t got = 0; (got = recv(client.get(), piece, sizeof piece, 0)) > 0;) {
      answer.append(piece, static_cast<std::size_t>(got));
    }
    return answer;
  }

 private:
  std::string folder_;
  std::string path_;
  std::unique_ptr<observe::ControlServer> server_;
};

FUZZ_TARGET(control) {
  static const Server server;
  // Below the limit of a request and the size of the socket buffer, so neither side blocks.
  const std::string answer = server.ask(input.substr(0, 4096));
  FUZZ_REQUIRE(answer.empty() || answer.back() == '\n', "answers are whole lines");
  for (std::size_t begin = 0; begin < answer.size();) {
    const std::size_t end = answer.find('\n', begin);
    const std::string_view line = std::string_view(answer).substr(begin, end - begin);
    FUZZ_REQUIRE(line.starts_with("{\"result\":") || line.starts_with("{\"error\":"),
                 "an answer is a result or an error");
    begin = end + 1;
  }
}

}  // namespace
}  // namespace sluice::fuzz
