// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/control/control_server.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <exception>
#include <set>

#include "core/base/log_messages.hpp"
#include "lib/text.hpp"

namespace sluice::observe {
namespace {

using lib::Clock;

constexpr int kControlBacklog = 16;
constexpr std::chrono::seconds kControlAcceptPause{1};

std::string to_line(const nlohmann::json& value) {
  // Names from clients may be invalid UTF-8, which must not make dump() throw.
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string error_line(const std::string& text) { return to_line({{"error", text}}); }

template <class Make>
std::string result_line(const std::string& what, Make&& make) {
  try {
    return to_line({{"result", make()}});
  } catch (const std::exception& e) {
    return error_line(what.empty() ? std::string(e.what()) : what + " failed: " + e.what());
  }
}

lib::Result<sockaddr_un> socket_address(const std::string& path) {
  sockaddr_un out{};
  out.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof out.sun_path) {
    return lib::invalid("invalid control socket path " + path + ": must be 1 to " +
                        std::to_string(sizeof out.sun_path - 1) + " bytes");
  }
  std::memcpy(out.sun_path, path.data(), path.size());
  return out;
}

lib::Fd unix_socket() { return lib::Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

bool bind_to(const lib::Fd& fd, const sockaddr_un& address) {
  return ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

}  // namespace

lib::Status ControlServer::bind_socket() {
  const auto address = socket_address(path_);
  if (!address) return address.status();
  const std::string action = "cannot create the control socket " + path_;
  listener_ = unix_socket();
  if (!listener_.valid()) return lib::errno_status(action, errno);
  // Before bind(), so that the file never has another mode.
  if (::fchmod(listener_.get(), 0600) != 0) return lib::errno_status(action, errno);
  if (!bind_to(listener_, *address)) {
    if (errno != EADDRINUSE) return lib::errno_status(action, errno);
    struct stat info {};
    if (::lstat(path_.c_str(), &info) == 0 && !S_ISSOCK(info.st_mode)) {
      return lib::invalid(action + ": the path exists and is not a socket; remove it");
    }
    if (::unlink(path_.c_str()) != 0 && errno != ENOENT) return lib::errno_status(action, errno);
    if (!bind_to(listener_, *address)) return lib::errno_status(action, errno);
  }
  if (::listen(listener_.get(), kControlBacklog) != 0) return lib::errno_status(action, errno);
  return {};
}

lib::Status ControlServer::start() {
  if (const int failure = stop_event_.open(); failure != 0) {
    return lib::errno_status("cannot start the control server", failure);
  }
  auto mailbox = ReplyMailbox::make();
  if (!mailbox) return mailbox.status();
  mailbox_ = std::move(*mailbox);
  if (lib::Status status = bind_socket(); !status.ok()) {
    listener_.reset();
    return status;
  }
  thread_ = std::thread([this] { run(); });
  return {};
}

void ControlServer::stop() {
  if (!thread_.joinable()) return;
  stop_event_.signal();
  thread_.join();
  for (Client& client : clients_) forget_reply(client.reply);
  clients_.clear();
  listener_.reset();
  ::unlink(path_.c_str());
}

void ControlServer::run() {
  for (;;) {
    Time now = clock_.now();
    const bool accepting = accept_from_ <= now;
    Time due = accepting ? Time::max() : accept_from_;
    std::vector<pollfd> waits{{stop_event_.descriptor(), POLLIN, 0},
                              {mailbox_->fd(), POLLIN, 0},
                              {accepting ? listener_.get() : -1, POLLIN, 0}};
    for (const Client& client : clients_) {
      // While a slow request is pending, only a disconnect matters, which poll() always reports.
      const int events = client.ticket != 0 ? 0 : client.output.empty() ? POLLIN : POLLOUT;
      waits.push_back({client.fd.get(), static_cast<short>(events), 0});
      due = std::min(due, client.deadline);
    }
    int timeout = -1;
    if (due != Time::max()) {
      const auto wait = std::chrono::ceil<std::chrono::milliseconds>(due - now).count();
      timeout = static_cast<int>(std::clamp<std::int64_t>(wait, 0, 60'000));
    }
    if (::poll(waits.data(), waits.size(), timeout) < 0 && errno != EINTR) {
      const std::string error = lib::errno_status("poll", errno).message();
      base::log(base::message::kControlSocketClosed, "control socket closed: " + error, {{"error", error}});
      return;
    }
    if (waits[0].revents != 0) return;
    now = clock_.now();
    if (waits[1].revents != 0) deliver_answers(now);
    std::size_t i = 3;
    for (auto client = clients_.begin(); client != clients_.end(); ++i) {
      if (serve(*client, waits[i].revents, now)) {
        ++client;
      } else {
        forget_reply(client->reply);
        client = clients_.erase(client);
      }
    }
    // Last, so that the descriptors polled above still belong to the clients in order.
    if (waits[2].revents != 0) accept_clients(now);
  }
}

void ControlServer::accept_clients(Time now) {
  for (;;) {
    lib::Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) {
      // Out of descriptors or memory: the waiting connection would make poll() spin.
      if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) accept_from_ = now + kControlAcceptPause;
      return;
    }
    ucred peer{};
    socklen_t size = sizeof peer;
    const bool known = ::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
                       lib::contains(options_.users, peer.uid);
    std::string refusal;
    if (!known)
      refusal = error_line("only root may use the control socket");
    else if (clients_.size() >= options_.max_clients)
      refusal = error_line("too many clients; try again later");
    if (!refusal.empty()) {
      // Fits into the empty buffer of a new socket.
      [[maybe_unused]] const ssize_t sent = ::send(fd.get(), refusal.data(), refusal.size(), MSG_NOSIGNAL);
      continue;
    }
    Client client;
    client.fd = std::move(fd);
    client.deadline = now + options_.request_time;
    clients_.push_back(std::move(client));
  }
}

// Drops answers whose client has disconnected or timed out.
void ControlServer::deliver_answers(Time now) {
  for (auto& letter : mailbox_->take_all()) {
    const auto client =
        std::find_if(clients_.begin(), clients_.end(), [&](const Client& one) { return one.ticket == letter.ticket; });
    if (client != clients_.end()) answered(*client, result_line("", letter.make), now);
  }
}

void ControlServer::answered(Client& client, std::string line, Time now) {
  forget_reply(client.reply);
  client.ticket = 0;
  client.on_timeout = nullptr;
  client.output = std::move(line);
  client.deadline = now + options_.response_time;
}

bool ControlServer::serve(Client& client, short events, Time now) {
  if (client.ticket != 0) {
    if ((events & (POLLERR | POLLHUP | POLLNVAL)) != 0) return false;
    if (now < client.deadline) return true;
    const MakeResult on_timeout = std::move(client.on_timeout);
    answered(client, result_line("", on_timeout), now);
    events = 0;
  }
  if (client.deadline <= now || (events & (POLLERR | POLLNVAL)) != 0) return false;
  if (events != 0 && client.output.empty() && !read_input(client)) return false;
  // The input may hold several requests; each is handled after the answer before it is written.
  while (true) {
    if (client.output.empty()) answer_next(client, now);
    if (client.ticket != 0) return true;
    if (client.output.empty()) return !client.closing;
    if (!write_output(client, now)) return false;
    if (!client.output.empty()) return true;
    if (client.closing) return false;
  }
}

bool ControlServer::read_input(Client& client) {
  char buffer[4096];
  const ssize_t n = ::recv(client.fd.get(), buffer, sizeof buffer, 0);
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  if (n == 0) {
    // No more input; complete requests are still answered.
    client.closing = true;
    return true;
  }
  client.input.append(buffer, static_cast<std::size_t>(n));
  return true;
}

void ControlServer::answer_next(Client& client, Time now) {
  const auto end = client.input.find('\n');
  if (end == std::string::npos && client.input.size() <= options_.request_limit) return;
  client.written = 0;
  client.deadline = now + options_.response_time;
  if (end == std::string::npos || end > options_.request_limit) {
    client.output = error_line("the request is longer than " + std::to_string(options_.request_limit) + " bytes");
    client.closing = end == std::string::npos;
  } else {
    answer(client, client.input.substr(0, end), now);
  }
  client.input.erase(0, end == std::string::npos ? 0 : end + 1);
}

bool ControlServer::write_output(Client& client, Time now) {
  while (client.written < client.output.size()) {
    const ssize_t n = ::send(client.fd.get(), client.output.data() + client.written,
                             client.output.size() - client.written, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN;
    client.written += static_cast<std::size_t>(n);
  }
  client.output.clear();
  client.output.shrink_to_fit();
  client.deadline = now + options_.idle_time;
  return true;
}

void ControlServer::answer(Client& client, const std::string& line, Time now) {
  const nlohmann::json request = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (request.is_discarded() || !request.is_object() || !request.contains("command") ||
      !request["command"].is_string()) {
    client.output = error_line("a request is one line such as {\"command\":\"status\"}");
    return;
  }
  const std::string command = request["command"].get<std::string>();
  if (const auto found = handlers_.find(command); found != handlers_.end()) {
    client.output = result_line(command, [&] { return found->second(request); });
  } else if (const auto slow = slow_handlers_.find(command); slow != slow_handlers_.end()) {
    begin(client, slow->second, command, request, now);
  } else {
    std::set<std::string> known;
    for (const auto& one : handlers_) known.insert(one.first);
    for (const auto& one : slow_handlers_) known.insert(one.first);
    client.output = error_line("unknown command '" + command + "'; known: " + lib::joined(known));
  }
}

void ControlServer::begin(Client& client, const SlowHandler& handler, const std::string& command,
                          const nlohmann::json& request, Time now) {
  const ControlReply reply(mailbox_, ++last_ticket_);
  client.reply = reply.state_;
  try {
    Pending pending = handler(request, reply);
    client.ticket = last_ticket_;
    client.on_timeout = std::move(pending.on_timeout);
    client.deadline = now + pending.timeout;
  } catch (const std::exception& e) {
    forget_reply(client.reply);
    client.output = error_line(command + " failed: " + e.what());
  }
}

// Lets the operation skip the work for an unwanted answer.
void ControlServer::forget_reply(std::weak_ptr<ControlReply::State>& reply) {
  if (const auto state = reply.lock()) state->wanted = false;
  reply.reset();
}

}  // namespace sluice::observe
