// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conntrack/table.hpp"

#include <linux/netlink.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>

#include "core/conntrack/message.hpp"
#include "lib/netlink/socket.hpp"
#include "lib/number.hpp"
#include "lib/sysctl.hpp"

namespace sluice::conntrack {
namespace {

using lib::netlink::Socket;

constexpr char kSubsystem[] = "connection tracking";
// The replies to that many removals fit into the default receive buffer of a socket, even if all of them fail.
constexpr std::size_t kRemovalsAtOnce = 64;

lib::Status failure(lib::Family family, const char* action, int error) {
  std::string what = std::string(action) + " tracked " + std::string(lib::family_name(family)) + " flows";
  if (error == EPERM || error == EACCES) what += " (CAP_NET_ADMIN is needed)";
  // Errors of a kernel without nf_conntrack_netlink.
  if (error == EINVAL || error == EOPNOTSUPP || error == EPROTONOSUPPORT) {
    return {lib::StatusCode::unsupported,
            lib::errno_status(what + " (is module nf_conntrack_netlink there?)", error).message(), error};
  }
  return lib::errno_status(what, error);
}

bool fits_ports(const FlowQuery& query, const Flow& flow) {
  return (query.destination_port == 0 || query.destination_port == flow.destination.port) &&
         (query.reply_source_port == 0 || query.reply_source_port == flow.reply_source.port);
}

int dump_flows(lib::Family family, const FlowQuery& query, bool filtered, bool& filter_ignored,
               const ConntrackTable::Visitor& visitor) {
  // One socket per dump, since the visitor may call remove().
  Socket socket(NETLINK_NETFILTER, kSubsystem);
  alignas(nlmsghdr) char request[kConntrackRequestRoom];
  bool ended = false;
  const auto take = [&](const nlmsghdr* message) {
    const auto flow = read_conntrack_entry(message);
    if (!flow || flow->source.address.family() != family) return true;
    if (filtered && !fits_ports(query, *flow)) filter_ignored = true;
    ended = !visitor(*flow);
    return !ended;
  };
  // One try, since the visitor has seen what came before an error.
  const Socket::DumpEnd end = socket.read_dump(put_conntrack_dump(request, family, query, filtered), take);
  if (ended) return 0;
  return end.error == 0 && end.interrupted ? EINTR : end.error;
}

std::optional<std::uint64_t> read_table_setting(std::string_view name) {
  const auto text = lib::Sysctl().read(name);
  return text ? lib::parse_number<std::uint64_t>(*text) : std::nullopt;
}
// Of this network namespace. The kernel also walks the entries of other namespaces and does not report their number.
std::optional<std::uint64_t> count_entries() { return read_table_setting("net/netfilter/nf_conntrack_count"); }
std::optional<std::uint64_t> count_buckets() { return read_table_setting("net/netfilter/nf_conntrack_buckets"); }

}  // namespace

// Whether to request filtered dumps: the kernel supports filters and the table is small enough.
bool KernelConntrackTable::filtering() const {
  if (!supports_filters_) return false;
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

bool KernelConntrackTable::is_full_dump_cheaper(lib::Family family, std::size_t filtered_dumps) const {
  const auto entries = count_entries();
  const auto buckets = count_buckets();
  if (!entries || !buckets) return false;
  const std::uint64_t copied = std::min(*entries, flows_of_full_dump_[lib::family_index(family)]);
  return *buckets + copied * buckets_per_entry_ <= filtered_dumps * *buckets;
}

lib::Status KernelConntrackTable::dump(lib::Family family, const FlowQuery& query, const Visitor& visitor) {
  bool filter_ignored = false;
  const bool filtered = filtering();
  std::uint64_t count = 0;
  const auto counting = [&](const Flow& flow) {
    ++count;
    return visitor(flow);
  };
  int error = dump_flows(family, query, filtered, filter_ignored, counting);
  if (filtered && (error == EOPNOTSUPP || error == EINVAL)) {
    // The kernel does not support the filter. If connection tracking is missing, the second attempt fails as well.
    error = dump_flows(family, query, false, filter_ignored, counting);
    if (error == 0) supports_filters_ = false;
  }
  if (filter_ignored) supports_filters_ = false;
  if (error == 0 && query.all_flows()) flows_of_full_dump_[lib::family_index(family)] = count;
  return error == 0 ? lib::Status() : failure(family, "reading", error);
}

lib::Result<std::size_t> KernelConntrackTable::remove(lib::Family family, std::span<const Flow> flows) {
  Socket socket(NETLINK_NETFILTER, kSubsystem);
  alignas(nlmsghdr) char request[kConntrackRequestRoom];
  std::size_t removed = 0;
  while (!flows.empty()) {
    const auto some = flows.first(std::min(flows.size(), kRemovalsAtOnce));
    const auto errors = socket.batch(
        some.size(), [&](std::size_t index) { return put_conntrack_delete(request, family, some[index]); },
        Socket::Acks::kLast);
    if (!errors) return failure(family, "removing", errors.status().os_errno());
    for (const int error : *errors) {
      // ENOENT: the entry timed out, or the client created it again.
      if (error != 0 && error != ENOENT) return failure(family, "removing", error);
      removed += error == 0 ? 1 : 0;
    }
    flows = flows.subspan(some.size());
  }
  return removed;
}

}  // namespace sluice::conntrack
