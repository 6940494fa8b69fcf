// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conntrack/table.hpp"

#include <linux/netlink.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/conntrack/message.hpp"
#include "lib/number.hpp"
#include "lib/sysctl.hpp"

namespace sluice::conntrack {
namespace {

// The kernel sends at most 32 KiB at once.
constexpr std::size_t kReceiveRoom = 32u << 10;
// The replies to that many removals fit into the default receive buffer of a socket, even if all of them fail.
constexpr std::size_t kRemovalsAtOnce = 64;

lib::Status failure(lib::Family family, const char* what, int error) {
  std::string action = std::string(what) + " tracked " + std::string(lib::family_name(family)) + " flows";
  if (error == EPERM || error == EACCES) action += " (CAP_NET_ADMIN is needed)";
  // Errors of a kernel without nf_conntrack_netlink.
  if (error == EINVAL || error == EOPNOTSUPP || error == EPROTONOSUPPORT) {
    return {lib::StatusCode::unsupported,
            lib::errno_status(action + " (is module nf_conntrack_netlink there?)", error).message(), error};
  }
  return lib::errno_status(action, error);
}

class Socket {
 public:
  Socket() : socket_(mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC)) {
    if (socket_ != nullptr && mnl_socket_bind(socket_, 0, MNL_SOCKET_AUTOPID) != 0) {
      error_ = errno;
      mnl_socket_close(socket_);
      socket_ = nullptr;
    } else if (socket_ == nullptr) {
      error_ = errno;
    } else {
      // Error replies without a copy of the request; kernels before 4.3 always send one.
      int on = 1;
      mnl_socket_setsockopt(socket_, NETLINK_CAP_ACK, &on, sizeof on);
    }
  }
  ~Socket() {
    if (socket_ != nullptr) mnl_socket_close(socket_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  int error() const { return error_; }
  unsigned port() const { return mnl_socket_get_portid(socket_); }
  // 0 or an errno.
  int send(const void* data, std::size_t size) { return mnl_socket_sendto(socket_, data, size) < 0 ? errno : 0; }
  // The bytes received, or a negative errno. Continues after a signal.
  ssize_t receive(std::vector<char>& room) {
    for (;;) {
      const ssize_t got = mnl_socket_recvfrom(socket_, room.data(), room.size());
      if (got >= 0) return got;
      if (errno != EINTR) return -errno;
    }
  }

 private:
  mnl_socket* socket_;
  int error_ = 0;
};

// The errno of an NLMSG_ERROR; 0 for an acknowledgement.
int error_of(const nlmsghdr* message) {
  if (mnl_nlmsg_get_payload_len(message) < sizeof(nlmsgerr)) return EBADMSG;
  return -static_cast<const nlmsgerr*>(mnl_nlmsg_get_payload(message))->error;
}

bool fits_ports(const FlowQuery& query, const Flow& flow) {
  return (query.destination_port == 0 || query.destination_port == flow.destination.port) &&
         (query.reply_source_port == 0 || query.reply_source_port == flow.reply_source.port);
}

int dump(lib::Family family, const FlowQuery& query, bool filtered, std::uint32_t sequence, bool& filter_ignored,
         const ConntrackTable::Visitor& visitor) {
  // One socket per visit, since a visit that ends early leaves unread data in it.
  Socket socket;
  if (socket.error() != 0) return socket.error();
  alignas(nlmsghdr) char request[kConntrackRequestRoom];
  const nlmsghdr* message = put_conntrack_dump(request, family, query, filtered, sequence);
  if (const int error = socket.send(message, message->nlmsg_len); error != 0) return error;

  std::vector<char> room(kReceiveRoom);
  bool interrupted = false;
  for (;;) {
    const ssize_t got = socket.receive(room);
    if (got < 0) return static_cast<int>(-got);
    int left = static_cast<int>(got);
    for (const auto* at = reinterpret_cast<const nlmsghdr*>(room.data()); mnl_nlmsg_ok(at, left);
         at = mnl_nlmsg_next(at, &left)) {
      if (!mnl_nlmsg_seq_ok(at, sequence) || !mnl_nlmsg_portid_ok(at, socket.port())) continue;
      // Read the rest anyway: a partial scan is better than none.
      interrupted = interrupted || (at->nlmsg_flags & NLM_F_DUMP_INTR) != 0;
      if (at->nlmsg_type == NLMSG_DONE) return interrupted ? EINTR : 0;
      if (at->nlmsg_type == NLMSG_ERROR) return error_of(at);
      const auto flow = read_conntrack_entry(at);
      if (!flow || flow->source.address.family() != family) continue;
      if (filtered && !fits_ports(query, *flow)) filter_ignored = true;
      if (!visitor(*flow)) return 0;
    }
  }
}

std::optional<std::uint64_t> read_table_setting(std::string_view name) {
  const auto text = lib::Sysctl().read(name);
  return text ? lib::parse_number<std::uint64_t>(*text) : std::nullopt;
}
// Of this network namespace. The kernel also walks the entries of other namespaces and does not report their number.
std::optional<std::uint64_t> count_entries() { return read_table_setting("net/netfilter/nf_conntrack_count"); }
std::optional<std::uint64_t> count_buckets() { return read_table_setting("net/netfilter/nf_conntrack_buckets"); }

}  // namespace

// Whether the table is small enough for filtered dumps.
bool KernelConntrackTable::filtering() const {
  if (!filters_) return false;
  const auto count = count_entries();
  return count && *count <= most_filtered_;
}

FlowQuery KernelConntrackTable::supported_query(lib::Family family, const FlowQuery& query) const {
  if (!filtering()) return {};
  if (family == lib::Family::ipv4) return query;
  // Kernels up to at least 6.18 invert the comparison of IPv6 addresses in a filter and return all other addresses.
  // Ports are compared correctly.
  return {std::nullopt, query.destination_port, std::nullopt, query.reply_source_port};
}

bool KernelConntrackTable::is_whole_cheaper(lib::Family family, std::size_t visits) const {
  const auto entries = count_entries();
  const auto buckets = count_buckets();
  if (!entries || !buckets) return false;
  const std::uint64_t copied = std::min(*entries, shown_[lib::family_index(family)]);
  return *buckets + copied * buckets_per_entry_ <= visits * *buckets;
}

lib::Status KernelConntrackTable::visit(lib::Family family, const FlowQuery& query, const Visitor& visitor) {
  bool filter_ignored = false;
  const bool filtered = filtering();
  std::uint64_t shown = 0;
  const auto counting = [&](const Flow& flow) {
    ++shown;
    return visitor(flow);
  };
  int error = dump(family, query, filtered, ++sequence_, filter_ignored, counting);
  if (filtered && (error == EOPNOTSUPP || error == EINVAL)) {
    // The kernel does not support the filter. If connection tracking is missing, the second attempt fails as well.
    error = dump(family, query, false, ++sequence_, filter_ignored, counting);
    if (error == 0) filters_ = false;
  }
  if (filter_ignored) filters_ = false;
  if (error == 0 && query.everything()) shown_[lib::family_index(family)] = shown;
  return error == 0 ? lib::Status() : failure(family, "reading", error);
}

lib::Result<std::size_t> KernelConntrackTable::remove(lib::Family family, std::span<const Flow> flows) {
  Socket socket;
  if (socket.error() != 0) return failure(family, "removing", socket.error());
  std::vector<char> requests(kRemovalsAtOnce * kConntrackRequestRoom);
  std::vector<char> room(kReceiveRoom);
  std::size_t removed = 0;
  while (!flows.empty()) {
    const std::size_t count = std::min(flows.size(), kRemovalsAtOnce);
    std::size_t size = 0;
    nlmsghdr* last = nullptr;
    for (const Flow& flow : flows.first(count)) {
      last = put_conntrack_delete(requests.data() + size, family, flow, ++sequence_);
      size += MNL_ALIGN(last->nlmsg_len);
    }
    // The kernel replies to failures only; NLM_F_ACK on the last request marks the end.
    last->nlmsg_flags = static_cast<std::uint16_t>(last->nlmsg_flags | NLM_F_ACK);
    if (const int error = socket.send(requests.data(), size); error != 0) return failure(family, "removing", error);
    std::size_t failed = 0;
    for (bool waiting = true; waiting;) {
      const ssize_t got = socket.receive(room);
      if (got < 0) return failure(family, "removing", static_cast<int>(-got));
      int left = static_cast<int>(got);
      for (const auto* at = reinterpret_cast<const nlmsghdr*>(room.data()); mnl_nlmsg_ok(at, left);
           at = mnl_nlmsg_next(at, &left)) {
        if (at->nlmsg_type != NLMSG_ERROR) continue;
        const int error = error_of(at);
        // ENOENT: the entry timed out, or the client created it again.
        if (error != 0 && error != ENOENT) return failure(family, "removing", error);
        failed += error == 0 ? 0 : 1;
        waiting = waiting && at->nlmsg_seq != sequence_;
      }
    }
    removed += count - failed;
    flows = flows.subspan(count);
  }
  return removed;
}

}  // namespace sluice::conntrack
