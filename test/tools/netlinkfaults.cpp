// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// netlinkfaults: injects faults into the netlink exchanges of a program (LD_PRELOAD). The file $SLUICE_NETLINK_FAULTS,
// which may be replaced (rename) at any time, has one fault per line:
//   SUBSYSTEM FAULT SKIP TIMES
// SUBSYSTEM: generic, route, ipset, nftables, or notices (notifications of nftables). The first SKIP matching datagrams
// pass, and the next TIMES have the fault. FAULT:
//   send:ERRNO      a datagram that requests changes is not sent, and the call fails
//   lost:ERRNO      the answers of the kernel to changes are dropped, and the call fails (ENOBUFS: as with a full
//                   receive buffer)
//   receive:ERRNO   the call fails; the next call returns the datagram (EINTR)
//   answer:ERRNO    an acknowledgement becomes an error
//   whole:ERRNO     an acknowledgement becomes an error of the whole transaction; nftables only
//   cut             a datagram of a dump ends in the middle of a message
//   interrupted     a datagram of a dump has NLM_F_DUMP_INTR: the state changed during the dump
// Each injected fault appends a line with the first two words to $SLUICE_NETLINK_FAULTS.hits. Other notifications pass.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

namespace {

constexpr std::size_t kMaxFaults = 16;

enum class Kind { kSend, kLost, kReceive, kAnswer, kWhole, kCut, kInterrupted };

struct Fault {
  char subsystem[16];
  char name[32];
  Kind kind;
  int error;
  unsigned skip;
  unsigned times;
};

struct Faults {
  std::mutex mutex;
  struct stat file_status {};
  Fault list[kMaxFaults]{};
  std::size_t count = 0;
};
constinit Faults faults;
constinit std::atomic<std::uint32_t> last_begin{0};  // number of the message a transaction began with

// NOLINTNEXTLINE(cert-err58-cpp): read before threads start.
const char* const path = std::getenv("SLUICE_NETLINK_FAULTS");

template <class Function>
Function original(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

bool parse(const char* word, Fault& fault) {
  constexpr struct {
    const char* name;
    Kind kind;
  } kKinds[] = {
      {"send:", Kind::kSend},   {"lost:", Kind::kLost}, {"receive:", Kind::kReceive},       {"answer:", Kind::kAnswer},
      {"whole:", Kind::kWhole}, {"cut", Kind::kCut},    {"interrupted", Kind::kInterrupted}};
  constexpr struct {
    const char* name;
    int number;
  } kErrors[] = {{"ENOBUFS", ENOBUFS}, {"EINTR", EINTR},      {"EEXIST", EEXIST}, {"ENOENT", ENOENT},
                 {"ESRCH", ESRCH},     {"ENOMEM", ENOMEM},    {"EBUSY", EBUSY},   {"EADDRNOTAVAIL", EADDRNOTAVAIL},
                 {"ENFILE", ENFILE},   {"ERESTART", ERESTART}};
  for (const auto& known : kKinds) {
    const std::size_t length = std::strlen(known.name);
    if (std::strncmp(word, known.name, length) != 0) continue;
    fault.kind = known.kind;
    if (word[length] == '\0') return true;
    for (const auto& error : kErrors) {
      if (std::strcmp(word + length, error.name) != 0) continue;
      fault.error = error.number;
      return true;
    }
  }
  return false;
}

// REQUIRES: the lock. With a new file, counting starts again.
void read_file() {
  struct stat now {};
  if (::stat(path, &now) != 0) {
    faults.count = 0;
    faults.file_status = {};
    return;
  }
  if (now.st_ino == faults.file_status.st_ino && now.st_mtim.tv_sec == faults.file_status.st_mtim.tv_sec &&
      now.st_mtim.tv_nsec == faults.file_status.st_mtim.tv_nsec) {
    return;
  }
  faults.file_status = now;
  faults.count = 0;
  std::FILE* const file = std::fopen(path, "re");
  if (file == nullptr) return;
  Fault fault{};
  while (faults.count < kMaxFaults &&
         std::fscanf(file, "%15s %31s %u %u", fault.subsystem, fault.name, &fault.skip, &fault.times) == 4) {
    fault.error = 0;
    if (!parse(fault.name, fault)) {
      std::fprintf(stderr, "netlinkfaults: no such fault: %s\n", fault.name);
      std::abort();
    }
    faults.list[faults.count++] = fault;
  }
  std::fclose(file);
}

void record_hit(const Fault& fault) {
  char name[4096];
  char line[64];
  std::snprintf(name, sizeof(name), "%s.hits", path);
  const int length = std::snprintf(line, sizeof(line), "%s %s\n", fault.subsystem, fault.name);
  const int file = ::open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(file, line, static_cast<std::size_t>(length));
  ::close(file);
}

// Whether a fault of this kind is due now; `error` is its errno.
bool due(const char* subsystem, Kind kind, int& error) {
  const int before = errno;
  const std::lock_guard<std::mutex> lock(faults.mutex);
  read_file();
  bool found = false;
  for (std::size_t i = 0; i < faults.count && !found; ++i) {
    Fault& fault = faults.list[i];
    if (fault.kind != kind || std::strcmp(fault.subsystem, subsystem) != 0 || fault.times == 0) continue;
    if (fault.skip > 0) {
      --fault.skip;
      continue;
    }
    --fault.times;
    error = fault.error;
    record_hit(fault);
    found = true;
  }
  errno = before;
  return found;
}

int protocol_of(int fd) {
  const int before = errno;
  int domain = 0, protocol = -1;
  socklen_t size = sizeof(domain);
  if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 || domain != AF_NETLINK) {
    errno = before;
    return -1;
  }
  size = sizeof(protocol);
  ::getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size);
  errno = before;
  return protocol;
}

// The first message; null if the datagram is too short. With MSG_TRUNC, `size` may exceed the received bytes.
nlmsghdr* first_of(void* data, ssize_t size) {
  auto* const header = static_cast<nlmsghdr*>(data);
  return header != nullptr && size >= static_cast<ssize_t>(sizeof(nlmsghdr)) ? header : nullptr;
}

// Whether the socket is subscribed to multicast groups.
bool is_listener(int fd) {
  const int before = errno;
  std::uint32_t groups[4]{};
  socklen_t size = sizeof(groups);
  const bool asked = ::getsockopt(fd, SOL_NETLINK, NETLINK_LIST_MEMBERSHIPS, groups, &size) == 0;
  errno = before;
  return asked && std::any_of(groups, groups + 4, [](std::uint32_t word) { return word != 0; });
}

// The subsystem of a message; of NETLINK_NETFILTER only ipset and nftables. Null: let the message pass.
const char* subsystem_of(int fd, int protocol, const nlmsghdr* header) {
  if (header == nullptr) return nullptr;
  if (protocol == NETLINK_GENERIC) return "generic";
  if (protocol == NETLINK_ROUTE) return header->nlmsg_seq == 0 ? nullptr : "route";
  if (protocol != NETLINK_NETFILTER) return nullptr;
  const nlmsghdr* about = header;
  if (header->nlmsg_type == NLMSG_ERROR && header->nlmsg_len >= NLMSG_LENGTH(sizeof(nlmsgerr))) {
    about = &static_cast<const nlmsgerr*>(NLMSG_DATA(header))->msg;
  }
  switch (about->nlmsg_type >> 8) {
    case NFNL_SUBSYS_IPSET:
      return "ipset";
    case NFNL_SUBSYS_NFTABLES:
      return is_listener(fd) ? "notices" : "nftables";
    // Begin and end of a transaction.
    case 0:
      return about->nlmsg_type >= NLMSG_MIN_TYPE ? "nftables" : nullptr;
    default:
      return nullptr;
  }
}

bool of_dump(const nlmsghdr* header) {
  return header != nullptr && (header->nlmsg_flags & NLM_F_MULTI) != 0 && header->nlmsg_type >= NLMSG_MIN_TYPE;
}

// Read requests are dumps, or have a separate type for one object.
bool requests_changes(int protocol, const nlmsghdr& header) {
  if ((header.nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP) return false;
  if (protocol == NETLINK_NETFILTER && header.nlmsg_type >> 8 != NFNL_SUBSYS_IPSET) {
    return header.nlmsg_type == NFNL_MSG_BATCH_BEGIN;
  }
  return protocol != NETLINK_ROUTE || header.nlmsg_type % 4 != RTM_GETLINK % 4;
}

bool acknowledges(const nlmsghdr* header) {
  return header != nullptr && header->nlmsg_type == NLMSG_ERROR && (header->nlmsg_flags & NLM_F_MULTI) == 0;
}

// Every third type of nf_tables is a query (NFT_MSG_GETTABLE, NFT_MSG_GETCHAIN … NFT_MSG_GETGEN).
bool answers_a_query(const nlmsgerr& answer) {
  return answer.msg.nlmsg_type >> 8 == NFNL_SUBSYS_NFTABLES && (answer.msg.nlmsg_type & 0xff) % 3 == 1;
}

// Changes a received datagram; returns its new size.
ssize_t inject(const char* subsystem, void* data, ssize_t size) {
  int error = 0;
  int left = static_cast<int>(size);
  auto* header = static_cast<nlmsghdr*>(data);
  if (of_dump(header)) {
    if (due(subsystem, Kind::kCut, error))
      return size - static_cast<ssize_t>(std::min<std::size_t>(header->nlmsg_len / 2, 40));
    if (due(subsystem, Kind::kInterrupted, error)) header->nlmsg_flags |= NLM_F_DUMP_INTR;
    return size;
  }
  // The remaining size is negative after a last message without padding, so compare it before NLMSG_OK.
  for (; left > 0 && NLMSG_OK(header, static_cast<unsigned>(left)); header = NLMSG_NEXT(header, left)) {
    if (header->nlmsg_type != NLMSG_ERROR || header->nlmsg_len < NLMSG_LENGTH(sizeof(nlmsgerr))) continue;
    auto* const answer = static_cast<nlmsgerr*>(NLMSG_DATA(header));
    if (answer->error != 0 || answers_a_query(*answer)) continue;
    if (due(subsystem, Kind::kAnswer, error)) answer->error = -error;
    if (std::strcmp(subsystem, "nftables") == 0 && due(subsystem, Kind::kWhole, error)) {
      answer->error = -error;
      header->nlmsg_seq = answer->msg.nlmsg_seq = last_begin;
    }
  }
  return size;
}

// Receives a datagram into `room` bytes. `take` is the call; the first call peeks.
template <class Take>
ssize_t received(int fd, std::size_t room, int flags, Take take) {
  const int protocol = path == nullptr || (flags & MSG_PEEK) != 0 ? -1 : protocol_of(fd);
  if (protocol < 0) return take(flags).second;
  auto [data, peeked] = take(flags | MSG_PEEK);
  const char* const subsystem = peeked > 0 ? subsystem_of(fd, protocol, first_of(data, peeked)) : nullptr;
  if (subsystem == nullptr) return take(flags).second;
  int error = 0;
  if (due(subsystem, Kind::kReceive, error)) {
    errno = error;
    return -1;
  }
  const ssize_t size = take(flags).second;
  if (size <= 0 || static_cast<std::size_t>(size) > room) return size;
  if (acknowledges(first_of(data, size)) && due(subsystem, Kind::kLost, error)) {
    errno = error;
    return -1;
  }
  return inject(subsystem, data, size);
}

bool refuses_to_send(int fd, const void* data, std::size_t size) {
  const int protocol = path == nullptr ? -1 : protocol_of(fd);
  if (protocol < 0) return false;
  nlmsghdr header{};
  if (size < sizeof(header)) return false;
  std::memcpy(&header, data, sizeof(header));
  if (protocol == NETLINK_NETFILTER && header.nlmsg_type == NFNL_MSG_BATCH_BEGIN) last_begin = header.nlmsg_seq;
  header.nlmsg_seq = 1;
  const char* const subsystem = subsystem_of(fd, protocol, &header);
  int error = 0;
  if (subsystem == nullptr || !requests_changes(protocol, header) || !due(subsystem, Kind::kSend, error)) return false;
  errno = error;
  return true;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) ssize_t recvmsg(int fd, msghdr* message, int flags) {
  static const auto real = original<ssize_t (*)(int, msghdr*, int)>("recvmsg");
  const msghdr asked = *message;
  return received(fd, asked.msg_iovlen == 1 ? asked.msg_iov[0].iov_len : 0, flags, [&](int with) {
    *message = asked;
    const ssize_t size = real(fd, message, with);
    return std::pair(asked.msg_iovlen == 1 ? asked.msg_iov[0].iov_base : nullptr, size);
  });
}

__attribute__((visibility("default"))) ssize_t recvfrom(int fd, void* __restrict into, std::size_t room, int flags,
                                                        sockaddr* __restrict from, socklen_t* __restrict length) {
  static const auto real = original<ssize_t (*)(int, void*, std::size_t, int, sockaddr*, socklen_t*)>("recvfrom");
  const socklen_t asked = length == nullptr ? 0 : *length;
  return received(fd, room, flags, [&](int with) {
    if (length != nullptr) *length = asked;
    return std::pair(into, real(fd, into, room, with, from, length));
  });
}

__attribute__((visibility("default"))) ssize_t recv(int fd, void* into, std::size_t room, int flags) {
  static const auto real = original<ssize_t (*)(int, void*, std::size_t, int)>("recv");
  return received(fd, room, flags, [&](int with) { return std::pair(into, real(fd, into, room, with)); });
}

__attribute__((visibility("default"))) ssize_t sendto(int fd, const void* data, std::size_t size, int flags,
                                                      const sockaddr* to, socklen_t length) {
  static const auto real =
      original<ssize_t (*)(int, const void*, std::size_t, int, const sockaddr*, socklen_t)>("sendto");
  return refuses_to_send(fd, data, size) ? -1 : real(fd, data, size, flags, to, length);
}

__attribute__((visibility("default"))) ssize_t send(int fd, const void* data, std::size_t size, int flags) {
  static const auto real = original<ssize_t (*)(int, const void*, std::size_t, int)>("send");
  return refuses_to_send(fd, data, size) ? -1 : real(fd, data, size, flags);
}

__attribute__((visibility("default"))) ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  static const auto real = original<ssize_t (*)(int, const msghdr*, int)>("sendmsg");
  if (message->msg_iovlen == 1 && refuses_to_send(fd, message->msg_iov[0].iov_base, message->msg_iov[0].iov_len))
    return -1;
  return real(fd, message, flags);
}

}  // extern "C"
