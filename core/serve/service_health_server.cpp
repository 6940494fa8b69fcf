// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/serve/service_health_server.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <cerrno>
#include <compare>
#include <cstring>
#include <exception>
#include <future>
#include <list>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <utility>

#include "core/base/fd.hpp"
#include "core/base/log.hpp"
#include "core/base/status.hpp"

namespace sluice::serve {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using net::ip::tcp;
using boost::system::error_code;

constexpr int kBacklog = 128;
constexpr std::chrono::seconds kAcceptPause{1};

tcp::endpoint endpoint_of(const base::IpAddress& address, std::uint16_t port) {
  if (address.family() == base::Family::ipv4) {
    net::ip::address_v4::bytes_type bytes;
    std::copy_n(address.bytes().begin(), bytes.size(), bytes.begin());
    return {net::ip::address_v4(bytes), port};
  }
  return {net::ip::address_v6(address.bytes()), port};
}

// Asio opens sockets without close-on-exec: the programs a backend runs would hold the port.
base::Status open_acceptor(tcp::acceptor& acceptor, const tcp::endpoint& where) {
  base::Fd fd(::socket(where.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return base::errno_status("make a socket", errno);
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (where.protocol() == tcp::v6() && ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) != 0) {
    return base::errno_status("set IPV6_V6ONLY", errno);
  }
  if (::bind(fd.get(), where.data(), static_cast<socklen_t>(where.size())) != 0 ||
      ::listen(fd.get(), kBacklog) != 0) {
    const int saved = errno;
    return base::errno_status("listen on " + where.address().to_string(), saved);
  }
  error_code error;
  acceptor.assign(where.protocol(), ::dup(-1) == fd.get() ? -1 : fd.get(), error);
  return {};
}

}  // namespace
}  // namespace sluice::serve
