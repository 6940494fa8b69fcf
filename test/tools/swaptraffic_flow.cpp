// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "swaptraffic_flow.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "netecho_options.hpp"

namespace swaptraffic {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
    end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end == std::string::npos ? end : end - begin));
  }
  return parts;
}

double milliseconds(const std::string& text, const std::string& name) {
  return netecho::parse_number(text, name) * 0.001;
}

}  // namespace

FlowOptions parse_flow(const std::string& word) {
  const std::vector<std::string> parts = split(word, ',');
  FlowOptions made;
  made.kind = parts[0];
  std::string to;
  std::string from;
  std::uint16_t port = 0;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t equals = parts[i].find('=');
    if (equals == std::string::npos) throw netecho::UsageError(word + ": '" + parts[i] + "' is no NAME=VALUE");
    const std::string name = parts[i].substr(0, equals);
    const std::string value = parts[i].substr(equals + 1);
    if (name == "to") to = value;
    else if (name == "port") port = netecho::parse_port(value);
    else if (name == "label") made.label = value;
    else if (name == "from") from = value;
    else if (name == "from-port") made.from_port = netecho::parse_port(value);
    else if (name == "every") made.every = milliseconds(value, name);
    else if (name == "count") made.count = netecho::parse_number(value, name);
    else if (name == "late") made.late = milliseconds(value, name);
    else if (name == "patience") made.patience = milliseconds(value, name);
    else if (name == "expect") made.expect = split(value, '/');
    else if (name == "client") made.client = value;
    else throw netecho::UsageError(word + ": unknown " + name);
  }
  if (to.empty() || port == 0) throw netecho::UsageError(word + ": to= and port= are missing");
  made.to = relayload::parse_address(to, port);
  if (!from.empty()) made.from = relayload::parse_address(from, 0);
  if (made.label.empty()) made.label = made.kind;
  return made;
}

int Flow::dial(int type, std::uint16_t port) const {
  const relayload::Address& to = options_.to;
  const int fd = socket(to.family(), type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  const auto failed = [fd] {
    const int error = errno;
    close(fd);
    return -error;
  };
  relayload::Address from = options_.from.value_or(relayload::Address{});
  if (!options_.from && port != 0) {
    from.storage.ss_family = static_cast<sa_family_t>(to.family());
    from.size = to.size;
  }
  if (from.size != 0) {
    const int on = 1;
    // Bind to IPv6 only, because an IPv4 flow may use the same port.
    if (to.family() == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) != 0) return failed();
    if (port == 0) {
      // connect() selects the port, so that a port can be used for several destinations.
      if (setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on)) != 0) return failed();
    } else if (to.family() == AF_INET) {
      reinterpret_cast<sockaddr_in&>(from.storage).sin_port = htons(port);
    } else {
      reinterpret_cast<sockaddr_in6&>(from.storage).sin6_port = htons(port);
    }
    if (bind(fd, from.get(), from.size) != 0) return failed();
  }
  if (connect(fd, to.get(), to.size) != 0 && errno != EINPROGRESS) return failed();
  return fd;
}

std::uint64_t Flow::repetitions(int fd) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return 0;
  return info.tcpi_total_retrans;
}

void Flow::answered(double planned, double time, std::string_view from) {
  const std::string name(from.substr(0, from.find('@')));
  const std::vector<std::string>& expected = options_.expect;
  if (!expected.empty() && std::find(expected.begin(), expected.end(), name) == expected.end()) {
    return tally_.failed(time, "answered by " + name);
  }
  if (!options_.client.empty() && from.substr(std::min(name.size() + 1, from.size())) != options_.client) {
    return tally_.failed(time, "the server saw the client as " + std::string(from));
  }
  tally_.answered(planned, time, name);
}

}  // namespace swaptraffic
