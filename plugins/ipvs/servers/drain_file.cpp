// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/servers/drain_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string_view>

#include "lib/files.hpp"
#include "lib/netlink/error.hpp"
#include "lib/number.hpp"
#include "lib/protocol.hpp"
#include "lib/text.hpp"
#include "plugins/common/log_ids.hpp"
#include "plugins/common/netfilter/rule_reader.hpp"
#include "plugins/ipvs/servers/connection_table.hpp"

namespace sluice::ipvs {
namespace {

constexpr std::size_t kMost = 16 << 20;  // bytes: a larger file is not ours

std::optional<SavedDrain> parse_line(std::string_view line, abi::Family family) {
  const std::size_t first = line.find(' ');
  const std::size_t second = line.find(' ', first == std::string_view::npos ? first : first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const std::string_view server = line.substr(0, first);
  const std::size_t slash = server.rfind('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto at = netfilter::parse_host_port(server.substr(0, slash), family);
  abi::Protocol protocol{};
  const auto real = netfilter::parse_host_port(line.substr(first + 1, second - first - 1), family);
  const auto deadline = lib::parse_number<std::int64_t>(line.substr(second + 1), 0);
  if (!at || !lib::parse_upper_protocol(server.substr(slash + 1), protocol) || !real || !deadline) return std::nullopt;
  return SavedDrain{{at->address, at->port, protocol}, {real->address, real->port}, *deadline};
}

std::string because(int error) { return lib::netlink::error_text(error); }

}  // namespace

DrainFile::DrainFile(const std::string& folder, abi::Family family, sdk::Logger log)
    : folder_(folder),
      path_(folder + (family == abi::Family::kIpv6 ? "/ipvs-drains-ipv6" : "/ipvs-drains-ipv4")),
      family_(family),
      log_(log) {}

std::vector<SavedDrain> DrainFile::load() const {
  std::vector<SavedDrain> drains;
  if (folder_.empty()) return drains;
  const auto text = lib::read_file(path_, kMost, /*only_regular=*/true);
  const int error = text.status().os_errno();
  if (error == ENOENT) return drains;
  const std::string consequence = "; real servers that were draining start over with the full drain timeout";
  if (!text) {
    log_.warning(log_id::kDrainFileUnreadable, (error != 0 ? "cannot read " + path_ + ": " + because(error)
                                                           : path_ + " is not a file this program wrote; remove it") +
                                                   consequence);
    return drains;
  }
  std::size_t invalid = 0;
  for (std::string_view rest = *text; !rest.empty();) {
    if (const auto drain = parse_line(lib::take_part(rest, '\n'), family_)) {
      drains.push_back(*drain);
    } else {
      ++invalid;
    }
  }
  if (invalid > 0) {
    log_.warning(log_id::kDrainFileInvalidLines,
                 std::to_string(invalid) + " invalid lines in " + path_ + " were skipped" + consequence);
  }
  return drains;
}

void DrainFile::save(const std::vector<SavedDrain>& drains) {
  if (folder_.empty()) return;
  std::string problem;
  if (drains.empty()) {
    if (::unlink(path_.c_str()) != 0 && errno != ENOENT) problem = "cannot remove " + path_ + ": " + because(errno);
  } else {
    std::string text;
    for (const SavedDrain& drain : drains) {
      text += to_string(drain.server, family_) + " " + to_string(drain.real, family_) + " " +
              std::to_string(drain.deadline) + "\n";
    }
    problem = lib::write_file_atomically(path_, text, 0600).message();
  }
  if (!problem.empty() && !failed_) {
    log_.warning(log_id::kDrainFileUnwritable,
                 problem + "; after a restart, draining real servers start over with the full drain timeout");
  }
  failed_ = !problem.empty();
}

}  // namespace sluice::ipvs
