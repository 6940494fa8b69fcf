// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/serve/service_health_server.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
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
#include <exception>
#include <future>
#include <list>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <utility>

#include "core/base/log.hpp"

namespace sluice::serve {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using net::ip::tcp;
using boost::system::error_code;

constexpr int kBacklog = 128;
constexpr int kAcceptsAtOnce = 32;  // then other work has its turn
constexpr std::chrono::seconds kAcceptPause{1};

error_code last_error() { return {errno, boost::system::system_category()}; }

tcp::endpoint endpoint_of(const base::IpAddress& address, std::uint16_t port) {
  if (address.family() == base::Family::ipv4) {
    net::ip::address_v4::bytes_type bytes;
    std::copy_n(address.bytes().begin(), bytes.size(), bytes.begin());
    return {net::ip::address_v4(bytes), port};
  }
  return {net::ip::address_v6(address.bytes()), port};
}

// Not by Asio itself: its sockets lack close-on-exec, and programs that a backend runs
// would keep the port open.
error_code open_acceptor(tcp::acceptor& acceptor, const tcp::endpoint& where) {
  const int fd = ::socket(where.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return last_error();
  error_code error;
  acceptor.assign(where.protocol(), fd, error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error && where.protocol() == tcp::v6()) acceptor.set_option(net::ip::v6_only(true), error);
  if (!error) acceptor.bind(where, error);
  if (!error) acceptor.listen(kBacklog, error);
  return error;
}

std::string body_text(const std::string& name_space, const std::string& name, std::size_t count, bool healthy) {
  const auto quoted = [](const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  return "{\n\t\"service\": {\n\t\t\"namespace\": " + quoted(name_space) + ",\n\t\t\"name\": " + quoted(name) +
         "\n\t},\n\t\"localEndpoints\": " + std::to_string(count) +
         ",\n\t\"serviceProxyHealthy\": " + (healthy ? "true" : "false") + "\n}";
}

// What a request that cannot be read is answered with; ok when it is not worth an answer.
http::status refusal(const error_code& error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return http::status::request_header_fields_too_large;
  }
  if (error == http::error::body_limit) return http::status::payload_too_large;
  const bool silent = error == http::error::end_of_stream || error == http::error::partial_message;
  return !silent && error.category() == http::make_error_code(http::error::end_of_stream).category()
             ? http::status::bad_request
             : http::status::ok;
}

struct Key {
  base::Family family;
  std::string name_space;
  std::string name;
  std::string to_string() const { return name_space + "/" + name; }
  auto operator<=>(const Key&) const = default;
};

struct Service;

// Shared with handlers that wait; closed when service is null.
struct Listener {
  Listener(net::io_context& io, const Service& owner) : acceptor(io), pause(io), service(&owner) {}
  tcp::acceptor acceptor;
  net::steady_timer pause;  // descriptors ran out
  const Service* service;
};

struct Service {
  std::uint16_t port = 0;
  std::size_t local_endpoints = 0;
  const Key* key = nullptr;                                         // in the map that holds the Service
  std::map<base::IpAddress, std::shared_ptr<Listener>> listeners;  // all that are wanted, or what is left of them
  std::string problem;                                              // why some are missing
};

struct Session {
  Session(tcp::socket socket, std::shared_ptr<Listener> from, const ServiceHealthOptions& options)
      : stream(std::move(socket)), listener(std::move(from)), buffer(options.header_limit + options.body_limit) {}
  beast::tcp_stream stream;
  const std::shared_ptr<Listener> listener;
  beast::flat_buffer buffer;
  std::optional<http::request_parser<http::string_body>> parser;  // one a request
  http::response<http::string_body> response;
  bool closed = false;
  std::list<std::shared_ptr<Session>>::iterator place;
};

}  // namespace

// Everything behind the functions of the server; runs on its thread but for start, stop
// and post.
class ServiceHealthServer::Loop {
 public:
  Loop(Healthy proxy_healthy, ServiceHealthOptions options)
      : proxy_healthy_(std::move(proxy_healthy)), options_(options), io_(1) {}

  void start() {
    thread_ = std::thread([this] { run(); });
  }

  void stop() {
    if (!thread_.joinable()) return;
    post([this] { close_all(); });
    thread_.join();
  }

  template <class Work>
  void post(Work work) {
    net::post(io_, std::move(work));
  }

  void set(Key key, std::uint16_t port, std::size_t local_endpoints) {
    if (stopped_) return;
    if (port == 0) {
      const auto found = services_.find(key);
      if (found == services_.end()) return;
      close_listeners(found->second);
      incomplete_.erase(key);
      services_.erase(found);
    } else {
      const auto [at, is_new] = services_.try_emplace(std::move(key));
      Service& service = at->second;
      service.key = &at->first;
      service.local_endpoints = local_endpoints;
      if (service.port != port) {
        close_listeners(service);
        service.port = port;
        service.problem.clear();
        incomplete_.insert(at->first);
      }
    }
    open_later();
  }

  void set_addresses(base::Family family, std::optional<std::vector<base::IpAddress>> addresses) {
    auto& wanted = addresses_[base::family_index(family)];
    std::set<base::IpAddress> now;
    if (addresses) {
      now.insert(addresses->begin(), addresses->end());
    } else {
      now.insert(base::IpAddress::any(family));
    }
    if (stopped_ || now == wanted) return;
    wanted = std::move(now);
    for (auto& [key, service] : services_) {
      if (key.family != family) continue;
      close_unwanted(service);
      incomplete_.insert(key);
    }
    open_later();
  }

  std::vector<std::string> problems() {
    open_missing();
    std::vector<std::string> out;
    for (const Key& key : incomplete_) out.push_back(services_.at(key).problem);
    return out;
  }

 private:
  using ListenerPtr = std::shared_ptr<Listener>;
  using SessionPtr = std::shared_ptr<Session>;

  // Ends when all is closed and every handler has seen it.
  void run() {
    for (;;) {
      try {
        io_.run();
        return;
      } catch (const std::exception& e) {  // costs no more than the connection it happened on
        base::log_error("serve", std::string("health check node ports: ") + e.what());
      }
    }
  }

  void close_all() {
    stopped_ = true;
    for (auto& [key, service] : services_) close_listeners(service);
    services_.clear();
    incomplete_.clear();
    retry_.cancel();
    work_.reset();
  }

  // After everything that is already waiting: ports are closed before others open, so
  // that one may pass from Service to Service in any order.
  void open_later() {
    if (incomplete_.empty() || opening_) return;
    opening_ = true;
    net::post(io_, [this] { open_missing(); });
  }

  void open_missing() {
    opening_ = false;
    std::erase_if(incomplete_, [this](const Key& key) { return open(services_.at(key)); });
    if (incomplete_.empty()) {
      retry_.cancel();
      return;
    }
    retry_.expires_after(options_.retry);
    retry_.async_wait([this](const error_code& error) {
      if (!error) open_missing();
    });
  }

  // False: not open, and why has been said.
  bool open(Service& service) {
    std::map<base::IpAddress, ListenerPtr> opened;
    for (const base::IpAddress& address : addresses_[base::family_index(service.key->family)]) {
      if (service.listeners.contains(address)) continue;
      auto listener = std::make_shared<Listener>(io_, service);
      const error_code error = open_acceptor(listener->acceptor, endpoint_of(address, service.port));
      if (error) {  // what `opened` holds closes with it
        report(service, address, error);
        return false;
      }
      opened.emplace(address, std::move(listener));
    }
    for (const auto& [address, listener] : opened) accept(listener);
    service.listeners.merge(opened);
    if (!service.problem.empty()) {
      base::log_info("serve", "Service " + service.key->to_string() + ": health check node port " +
                                  std::to_string(service.port) + " is open now");
      service.problem.clear();
    }
    return true;
  }

  void report(Service& service, const base::IpAddress& address, const error_code& error) {
    std::string problem = "Service " + service.key->to_string() + ": cannot listen on health check node port " +
                          base::host_port(address, service.port) + ": " + error.message() + "; ";
    const Service* owner = error == net::error::address_in_use ? owner_of(service) : nullptr;
    if (owner != nullptr) {
      problem += "Service " + owner->key->to_string() + " has the port; give one of them another healthCheckNodePort";
    } else if (error == net::error::address_in_use) {
      problem += "stop the process that has the port, or give the Service another healthCheckNodePort";
    } else if (error == net::error::access_denied) {
      problem += "a port below 1024 needs CAP_NET_BIND_SERVICE";
    } else if (error == net::error::no_descriptors) {
      problem += "raise the limit of open files (LimitNOFILE)";
    } else {
      problem += "check the addresses of this node and --nodeport-addresses";
    }
    problem += "; load balancers take this node for down; trying again";
    if (problem == service.problem) return;
    base::log_warning("serve", problem);
    service.problem = std::move(problem);
  }

  const Service* owner_of(const Service& asking) const {
    for (const auto& [key, service] : services_) {
      if (&service != &asking && key.family == asking.key->family && service.port == asking.port &&
          !service.listeners.empty()) {
        return &service;
      }
    }
    return nullptr;
  }

  void close_listeners(Service& service) {
    for (auto& [address, listener] : service.listeners) close(*listener);
    service.listeners.clear();
  }

  void close_unwanted(Service& service) {
    const auto& wanted = addresses_[base::family_index(service.key->family)];
    std::erase_if(service.listeners, [&](auto& entry) {
      if (wanted.contains(entry.first)) return false;
      close(*entry.second);
      return true;
    });
  }

  void close(Listener& listener) {
    listener.service = nullptr;
    error_code ignored;
    listener.acceptor.close(ignored);
    listener.pause.cancel();
    for (auto at = sessions_.begin(); at != sessions_.end();) {
      const SessionPtr session = *at++;
      if (session->listener.get() == &listener) close(*session);
    }
  }

  void accept(const ListenerPtr& listener) {
    listener->acceptor.async_wait(tcp::acceptor::wait_read, [this, listener](const error_code& error) {
      if (listener->service == nullptr) return;
      if (error || !accept_clients(listener)) {
        pause(listener);
      } else {
        accept(listener);
      }
    });
  }

  // False: try again later.
  bool accept_clients(const ListenerPtr& listener) {
    for (int i = 0; i < kAcceptsAtOnce; ++i) {
      const int fd = ::accept4(listener->acceptor.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd < 0) {
        if (errno == EAGAIN || errno == EWOULDBLOCK) return true;
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) return false;
        continue;  // the client is gone already
      }
      tcp::socket socket(io_);
      error_code error;
      socket.assign(listener->service->key->family == base::Family::ipv4 ? tcp::v4() : tcp::v6(), fd, error);
      if (error) {
        ::close(fd);
        return false;
      }
      begin(std::move(socket), listener);
    }
    return true;
  }

  void pause(const ListenerPtr& listener) {
    listener->pause.expires_after(kAcceptPause);
    listener->pause.async_wait([this, listener](const error_code&) {
      if (listener->service != nullptr) accept(listener);
    });
  }

  void begin(tcp::socket socket, const ListenerPtr& listener) {
    if (sessions_.size() >= options_.max_clients) close(*sessions_.front());
    auto session = std::make_shared<Session>(std::move(socket), listener, options_);
    session->place = sessions_.insert(sessions_.end(), session);
    read(session, options_.request_time);
  }

  void read(const SessionPtr& session, std::chrono::milliseconds limit) {
    session->parser.emplace();
    session->parser->header_limit(static_cast<std::uint32_t>(options_.header_limit));
    session->parser->body_limit(options_.body_limit);
    session->stream.expires_after(limit);
    http::async_read(session->stream, session->buffer, *session->parser,
                     [this, session](const error_code& error, std::size_t) {
                       if (session->closed) return;
                       if (!error) {
                         answer(session);
                       } else if (const http::status status = refusal(error); status != http::status::ok) {
                         refuse(session, status);
                       } else {
                         close(*session);
                       }
                     });
  }

  void answer(const SessionPtr& session) {
    sessions_.splice(sessions_.end(), sessions_, session->place);
    const Service& service = *session->listener->service;
    const auto& request = session->parser->get();
    const bool healthy = proxy_healthy_();
    std::string body = body_text(service.key->name_space, service.key->name, service.local_endpoints, healthy);

    auto& response = session->response;
    response = {};
    response.version(request.version());
    response.result(service.local_endpoints != 0 && healthy ? http::status::ok : http::status::service_unavailable);
    response.set(http::field::content_type, "application/json");
    response.set("X-Content-Type-Options", "nosniff");
    response.set("X-Load-Balancing-Endpoint-Weight", std::to_string(service.local_endpoints));
    response.content_length(body.size());
    response.keep_alive(request.keep_alive());
    if (request.method() != http::verb::head) response.body() = std::move(body);
    write(session);
  }

  void refuse(const SessionPtr& session, http::status status) {
    session->response = {};
    session->response.result(status);
    session->response.content_length(0);
    session->response.keep_alive(false);
    write(session);
  }

  void write(const SessionPtr& session) {
    session->stream.expires_after(options_.response_time);
    http::async_write(session->stream, session->response, [this, session](const error_code& error, std::size_t) {
      if (session->closed) return;
      if (error || !session->response.keep_alive()) {
        close(*session);
      } else {
        read(session, options_.idle_time);
      }
    });
  }

  void close(Session& session) {
    session.closed = true;
    error_code ignored;
    session.stream.socket().shutdown(tcp::socket::shutdown_both, ignored);
    session.stream.close();
    sessions_.erase(session.place);  // may have been the last reference
  }

  const Healthy proxy_healthy_;
  const ServiceHealthOptions options_;
  net::io_context io_;  // outlives all that waits in it
  net::executor_work_guard<net::io_context::executor_type> work_{io_.get_executor()};  // until close_all()
  net::steady_timer retry_{io_};
  bool stopped_ = false;
  std::array<std::set<base::IpAddress>, 2> addresses_{
      std::set{base::IpAddress::any(base::Family::ipv4)}, std::set{base::IpAddress::any(base::Family::ipv6)}};
  std::map<Key, Service> services_;
  std::set<Key> incomplete_;         // those of services_ whose port is not open
  bool opening_ = false;             // open_missing() is under way
  std::list<SessionPtr> sessions_;   // the longest silent one first
  std::thread thread_;
};

ServiceHealthServer::ServiceHealthServer(Healthy proxy_healthy, ServiceHealthOptions options)
    : loop_(std::make_unique<Loop>(std::move(proxy_healthy), options)) {}

ServiceHealthServer::~ServiceHealthServer() { stop(); }

void ServiceHealthServer::start() { loop_->start(); }

void ServiceHealthServer::stop() { loop_->stop(); }

void ServiceHealthServer::set(base::Family family, std::string name_space, std::string name, std::uint16_t port,
                              std::size_t local_endpoints) {
  loop_->post([loop = loop_.get(), key = Key{family, std::move(name_space), std::move(name)}, port,
               local_endpoints]() mutable { loop->set(std::move(key), port, local_endpoints); });
}

void ServiceHealthServer::set_addresses(base::Family family, std::optional<std::vector<base::IpAddress>> addresses) {
  loop_->post([loop = loop_.get(), family, addresses = std::move(addresses)]() mutable {
    loop->set_addresses(family, std::move(addresses));
  });
}

std::vector<std::string> ServiceHealthServer::problems() {
  std::promise<std::vector<std::string>> promise;
  auto result = promise.get_future();
  loop_->post([loop = loop_.get(), &promise] { promise.set_value(loop->problems()); });
  return result.get();
}

}  // namespace sluice::serve
