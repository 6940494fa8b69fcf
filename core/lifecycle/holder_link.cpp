// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/holder_link.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <cerrno>
#include <thread>
#include <utility>

#include "core/base/log_messages.hpp"

namespace sluice::lifecycle {
namespace {

using holding::Message;
using holding::Received;
using holding::Type;
using std::chrono::milliseconds;

// A holder whose connection has ended exits within microseconds.
constexpr int kReapAttempts = 100;
constexpr milliseconds kReapInterval{10};

bool send_to(int socket, const Message& message) { return holding::send(socket, holding::encode(message), -1) == 0; }

// For blocking calls.
void limit_waiting(int socket, milliseconds timeout) {
  const timeval time{timeout.count() / 1000, static_cast<suseconds_t>(timeout.count() % 1000 * 1000)};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

lib::Fd connect_to(const std::string& path, milliseconds patience) {
  const auto address = holding::address_of(path);
  lib::Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!address || !socket.valid()) return {};
  limit_waiting(socket.get(), patience);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) return {};
  return socket;
}

// A plugin that needs many descriptors raises the limit later.
void make_room(std::size_t count) {
  constexpr rlim_t kOthers = 512;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count + kOthers) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

void log_unusable(const std::string& why) {
  base::log(base::message::kHolderUnusable,
            "cannot take the sockets of the earlier process from the descriptor holder: " + why +
                "; new sockets are opened",
            {{"error", why}});
}

}  // namespace

HolderLink::~HolderLink() { close(); }

std::vector<base::PassedDescriptor> HolderLink::take() {
  lib::Fd socket = connect_to(options_.path, options_.patience);
  if (!socket.valid()) return {};
  const auto hello = greet(socket.get());
  if (!hello) {
    log_unusable("it does not answer");
    return {};
  }
  make_room(hello->number);
  auto taken = take_from(socket.get());
  if (!taken) {
    log_unusable("it did not send all of them");
    return {};
  }
  if (hello->version == holding::kVersion) {
    use(std::move(socket));
  } else {
    base::log(base::message::kHolderReplaced,
              "replacing the descriptor holder of another version: protocol " + std::to_string(hello->version) +
                  ", this daemon has " + std::to_string(holding::kVersion),
              {{"version", hello->version}});
    old_ = std::move(socket);
  }
  return *std::move(taken);
}

std::optional<Message> HolderLink::greet(int socket) const {
  Message hello{.type = Type::hello};
  hello.number = static_cast<std::uint32_t>(options_.timeout.count());
  Message reply;
  bool lost_fd = false;
  if (!send_to(socket, hello) || holding::receive(socket, reply, lost_fd, 0) != Received::message ||
      reply.type != Type::hello) {
    return std::nullopt;
  }
  return reply;
}

std::optional<std::vector<base::PassedDescriptor>> HolderLink::take_from(int socket) const {
  std::vector<base::PassedDescriptor> out;
  if (!send_to(socket, {.type = Type::give})) return std::nullopt;
  for (;;) {
    Message message;
    bool lost_fd = false;
    if (holding::receive(socket, message, lost_fd, 0) != Received::message || lost_fd) return std::nullopt;
    if (message.type == Type::done) return out;
    if (message.type == Type::descriptor && message.fd.valid()) {
      out.push_back({std::move(message.text), std::move(message.fd)});
    }
  }
}

void HolderLink::end() {
  if (!socket_.valid() && !old_.valid()) socket_ = connect_to(options_.path, options_.patience);
  for (lib::Fd* one : {&socket_, &old_}) {
    if (one->valid()) send_to(one->get(), {.type = Type::end});
    one->reset();
  }
  connected_ = false;
  reap(process_.exchange(0));
}

StoreLink::Opened HolderLink::open() {
  if (socket_.valid()) return Opened::same;
  if (!old_.valid()) {
    lib::Fd running = connect_to(options_.path, options_.patience);
    const auto hello = running.valid() ? greet(running.get()) : std::nullopt;
    if (hello && hello->version == holding::kVersion) {
      use(std::move(running));
      return Opened::empty;  // it may lack what was on its way
    }
    old_ = std::move(running);
  }
  if (!options_.may_start) {
    if (!std::exchange(start_failure_logged_, true)) {
      base::log(base::message::kHolderAbsent,
                "no descriptor holder runs: the daemon is process 1 of its container, and its sockets end with it; to keep "
                "them, run sluiced --hold-descriptors in another container with the same state directory");
    }
    return Opened::absent;
  }
  if (const auto status = options_.start(); !status.ok()) {
    if (!std::exchange(start_failure_logged_, true)) {
      base::log(base::message::kHolderNotStarted, "cannot start the descriptor holder: " + status.message(),
                {{"error", status.message()}});
    }
    return Opened::failed;
  }
  lib::Fd socket = connect_to(options_.path, options_.patience);
  if (!socket.valid() || !greet(socket.get())) return Opened::failed;
  start_failure_logged_ = false;
  use(std::move(socket));
  return Opened::empty;
}

void HolderLink::use(lib::Fd socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0) process_ = peer.pid;
  ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  socket_ = std::move(socket);
  connected_ = true;
}

void HolderLink::close() {
  if (!socket_.valid()) return;
  socket_.reset();
  connected_ = false;
  process_ = 0;
}

std::string HolderLink::store_message(const std::string& name) const {
  return holding::encode({.type = Type::store, .text = name});
}

std::string HolderLink::remove_message(const std::string& name) const {
  return holding::encode({.type = Type::remove, .text = name});
}

bool HolderLink::read() {
  for (;;) {
    Message message;
    bool lost_fd = false;
    switch (holding::receive(socket_.get(), message, lost_fd, MSG_DONTWAIT)) {
      case Received::nothing:
        return true;
      case Received::message:
        if (message.type == Type::refused && !std::exchange(refusal_logged_, true)) {
          base::log(base::message::kDescriptorRefused,
                    "the descriptor holder has no room for a descriptor; later failures are not logged",
                    {{"name", message.text}});
        }
        continue;
      case Received::malformed:
      case Received::end: {
        const pid_t ended = process_;
        close();
        reap(ended);
        return false;
      }
    }
  }
}

void HolderLink::settled() {
  if (!old_.valid()) return;
  send_to(old_.get(), {.type = Type::end});
  old_.reset();
}

// The holder is a child of this process only if it is process 1 of its container.
void HolderLink::reap(pid_t ended) {
  for (int i = 0; ended > 0 && i < kReapAttempts && ::waitpid(ended, nullptr, WNOHANG) == 0; ++i) {
    std::this_thread::sleep_for(kReapInterval);
  }
}

}  // namespace sluice::lifecycle
