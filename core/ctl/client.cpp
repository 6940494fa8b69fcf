// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/ctl/client.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "lib/fd.hpp"

namespace sluice::ctl {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

constexpr std::size_t kReplyLimit = 256u << 20;

lib::Status connect_failure(const std::string& path, int error) {
  if (error == ENOENT) {
    return lib::unavailable("sluiced is not running: there is no socket " + path +
                            " (is it another state directory? see --state-dir)");
  }
  if (error == ECONNREFUSED) {
    return lib::unavailable("sluiced is not running: connection refused at " + path +
                            ", which an earlier sluiced left behind");
  }
  if (error == EACCES || error == EPERM) {
    return {lib::StatusCode::denied, "only root may talk to sluiced: no permission for " + path};
  }
  return lib::errno_status("cannot connect to " + path, error);
}

lib::Result<lib::Fd> connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return lib::invalid("the path " + path + " is too long for a socket");
  std::memcpy(address.sun_path, path.data(), path.size());
  lib::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return lib::errno_status("cannot make a socket", errno);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return connect_failure(path, errno);
  }
  return fd;
}

// False if the socket is not ready before `until`.
bool wait_for(const lib::Fd& fd, short events, SteadyTime until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
    pollfd wait{fd.get(), events, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(std::max<decltype(left)>(left, 0)));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

lib::Status timeout_error(std::chrono::milliseconds timeout) {
  return lib::unavailable("sluiced does not answer within " + std::to_string(timeout.count()) + " ms");
}

}  // namespace

lib::Result<nlohmann::json> send_request(const std::string& state_dir, const nlohmann::json& request,
                                         std::chrono::milliseconds timeout) {
  const SteadyTime until = std::chrono::steady_clock::now() + timeout;
  const auto connected = connect_to(state_dir + "/control.sock");
  if (!connected) return connected.status();
  const lib::Fd& fd = *connected;

  const std::string line = request.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  // The request fits into the buffer of a new socket. If the daemon has already rejected the connection and closed it,
  // the error that it sent is read below.
  [[maybe_unused]] const ssize_t sent = ::send(fd.get(), line.data(), line.size(), MSG_NOSIGNAL);

  std::string reply;
  for (std::size_t searched = 0; reply.find('\n', searched) == std::string::npos;) {
    searched = reply.size();
    if (!wait_for(fd, POLLIN, until)) return timeout_error(timeout);
    char buffer[65536];
    const ssize_t n = ::recv(fd.get(), buffer, sizeof buffer, 0);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) return lib::unavailable("sluiced closed the connection without an answer");
    reply.append(buffer, static_cast<std::size_t>(n));
    if (reply.size() > kReplyLimit) return lib::invalid("the answer of sluiced is too long to be one");
  }
  const nlohmann::json parsed = nlohmann::json::parse(reply, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_object() && parsed.contains("result")) return parsed["result"];
  if (parsed.is_object() && parsed.contains("error") && parsed["error"].is_string()) {
    return lib::Status(lib::StatusCode::invalid, "sluiced says: " + parsed["error"].get<std::string>());
  }
  return lib::invalid("the answer of sluiced is not understood; are daemon and sluicectl of the same version?");
}

}  // namespace sluice::ctl
