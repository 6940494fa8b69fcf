// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/holder_server.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <thread>
#include <utility>

namespace sluice::lifecycle {
namespace {

using holding::Message;
using holding::Received;
using holding::Type;
using std::chrono::milliseconds;

constexpr milliseconds kAnswerInterval{5};
constexpr std::size_t kMaxName = 64;

lib::Clock::Time time_now() { return lib::SteadyClock().now(); }

ino_t inode_of(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

}  // namespace

HolderServer::~HolderServer() {
  if (inode_ != 0 && inode_of(options_.path) == inode_) ::unlink(options_.path.c_str());
}

lib::Status HolderServer::listen() {
  const std::string temporary = options_.path + ".new";
  const std::string action = "cannot listen at " + options_.path;
  const auto address = holding::address_of(temporary);
  if (!address) return lib::invalid(action + ": the path is too long");
  lib::Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return lib::errno_status(action, errno);
  ::unlink(temporary.c_str());
  const mode_t before = ::umask(0177);
  const int bound = ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address);
  const int error = errno;
  ::umask(before);
  if (bound != 0) return lib::errno_status(action, error);
  if (::listen(socket.get(), static_cast<int>(options_.max_clients)) != 0) return lib::errno_status(action, errno);
  // A client finds the earlier holder or this one.
  if (::rename(temporary.c_str(), options_.path.c_str()) != 0) return lib::errno_status(action, errno);
  inode_ = inode_of(options_.path);
  listener_ = std::move(socket);
  return {};
}

void HolderServer::run() {
  while (!ended(time_now())) {
    std::vector<pollfd> waits;
    // More clients wait in the queue of the socket.
    waits.push_back({clients_.size() < options_.max_clients ? listener_.get() : -1, POLLIN, 0});
    for (const Client& client : clients_) waits.push_back({client.fd.get(), POLLIN, 0});
    int wait = -1;
    if (deadline_) {
      const auto left = std::chrono::ceil<milliseconds>(*deadline_ - time_now()).count();
      wait = static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
    }
    if (::poll(waits.data(), waits.size(), wait) < 0 && errno != EINTR) return;
    // By index: a hello closes other clients, and none is erased or added here.
    for (std::size_t i = 0; i < clients_.size() && !end_; ++i) {
      if (waits[i + 1].revents != 0 && clients_[i].fd.valid()) serve(clients_[i]);
    }
    std::erase_if(clients_, [](const Client& client) { return !client.fd.valid(); });
    if (waits[0].revents != 0) accept_client();
  }
  // No client finds this holder any more before its clients see the end.
  if (inode_of(options_.path) == inode_) ::unlink(options_.path.c_str());
  listener_.reset();
  held_.clear();
  clients_.clear();
}

void HolderServer::accept_client() {
  lib::Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd.valid()) {
    // Out of descriptors: the waiting client would make poll() return at once.
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) std::this_thread::sleep_for(kAnswerInterval);
    return;
  }
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return;
  if (std::find(options_.users.begin(), options_.users.end(), peer.uid) == options_.users.end()) return;
  clients_.push_back({std::move(fd), false});
}

void HolderServer::serve(Client& client) {
  for (int i = 0; i < options_.messages_at_once && client.fd.valid() && !end_; ++i) {
    Message message;
    bool lost_fd = false;
    switch (holding::receive(client.fd.get(), message, lost_fd, MSG_DONTWAIT)) {
      case Received::message:
        handle(client, std::move(message), lost_fd);
        break;
      case Received::nothing:
        return;
      case Received::malformed:
      case Received::end:
        client.fd.reset();
        return;
    }
  }
}

void HolderServer::handle(Client& client, Message message, bool lost_fd) {
  switch (message.type) {
    case Type::hello:
      return hello(client, message.number);
    case Type::give:
      return give(client);
    case Type::end:
      return end();
    case Type::store:
      return store(client, std::move(message), lost_fd);
    case Type::remove:
      if (held_.erase(message.text) != 0 && held_.empty()) end();
      return;
    case Type::descriptor:
    case Type::done:
    case Type::refused:
      return;
  }
}

void HolderServer::hello(Client& client, std::uint32_t timeout) {
  // The lock of the state directory allows one daemon, so the earlier one has ended. What it sent is older.
  for (Client& other : clients_) {
    if (&other == &client || !other.is_daemon) continue;
    // More messages than that do not fit into the queue of a socket.
    for (std::size_t turns = 0; other.fd.valid() && turns < options_.max_descriptors; ++turns) serve(other);
    other.fd.reset();
  }
  client.is_daemon = true;
  served_ = true;  // it may have left already
  timeout_ = milliseconds(timeout);
  Message reply{.type = Type::hello, .version = options_.version};
  reply.number = static_cast<std::uint32_t>(held_.size());
  answer(client, reply);
}

void HolderServer::give(Client& client) {
  Message done{.type = Type::done};
  for (const auto& [name, fd] : held_) {
    if (!answer(client, {.type = Type::descriptor, .text = name}, fd.get())) return;
    ++done.number;
  }
  answer(client, done);
}

void HolderServer::store(Client& client, Message message, bool lost_fd) {
  const bool is_name = !message.text.empty() && message.text.size() <= kMaxName;
  const bool has_room = held_.contains(message.text) || held_.size() < options_.max_descriptors;
  if (!is_name || !has_room || lost_fd || !message.fd.valid()) {
    answer(client, {.type = Type::refused, .text = message.text.substr(0, kMaxName)});
    return;
  }
  held_[message.text] = std::move(message.fd);
}

bool HolderServer::answer(Client& client, const Message& message, int fd) {
  const std::string bytes = holding::encode(message);
  const auto until = time_now() + options_.patience;
  for (;;) {
    const int error = holding::send(client.fd.get(), bytes, fd);
    if (error == 0) return true;
    const bool full = error == EAGAIN || error == EINTR || error == ENOBUFS || error == ENOMEM || error == ETOOMANYREFS;
    if (!full || time_now() >= until) break;
    pollfd room{client.fd.get(), POLLOUT, 0};
    ::poll(&room, 1, static_cast<int>(kAnswerInterval.count()));
    if (error != EAGAIN) std::this_thread::sleep_for(kAnswerInterval);
  }
  client.fd.reset();
  return false;
}

bool HolderServer::has_daemon() const {
  return std::any_of(clients_.begin(), clients_.end(), [](const Client& client) { return client.is_daemon; });
}

void HolderServer::end() {
  held_.clear();
  served_ = false;
  end_ = !options_.stays;
}

bool HolderServer::ended(lib::Clock::Time now) {
  if (end_) return true;
  if (has_daemon()) {
    deadline_.reset();
    return false;
  }
  if (!deadline_) deadline_ = now + timeout_;
  // Nothing to wait for, or no daemon came.
  if ((served_ && held_.empty()) || now >= *deadline_) end();
  if (options_.stays && held_.empty()) deadline_.reset();
  return end_;
}

}  // namespace sluice::lifecycle
