// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/http/http_server.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/log_messages.hpp"
#include "core/observe/http/http_clients.hpp"
#include "core/observe/http/http_listener.hpp"

namespace sluice::observe {

namespace net = boost::asio;
using boost::system::error_code;

// The implementation. Runs on the server's thread, except start and stop.
class HttpServer::Loop {
 public:
  Loop(std::string name, lib::SocketAddress where, Handler handler, OnBindFailure on_bind_failure, HttpLimits limits)
      : name_(std::move(name)),
        where_(where),
        handler_(std::move(handler)),
        on_bind_failure_(std::move(on_bind_failure)),
        limits_(limits),
        io_(1),
        clients_(limits) {}

  lib::Status listen(bool shared) {
    const auto failure = open_all(shared);
    if (!failure) return {};
    return {lib::StatusCode::unavailable, why_not(*failure)};
  }

  void start() {
    open();
    thread_ = std::thread([this] { run(); });
  }

  void share_port(bool on) {
    std::promise<void> done;
    net::post(io_, [&] {
      for (const auto& listener : listeners_) listener->share(on);
      done.set_value();
    });
    done.get_future().wait();
  }

  void stop() {
    if (!thread_.joinable()) return;
    net::post(io_, [this] { close_all(); });
    thread_.join();
  }

 private:
  // Ends when all sockets are closed and every handler has run.
  void run() {
    for (;;) {
      try {
        io_.run();
        return;
      } catch (const std::exception& e) {  // affects a single connection
        base::log(base::message::kHttpConnectionFailed, name_ + ": " + e.what(),
                  {{"name", name_}, {"error", e.what()}});
      }
    }
  }

  struct Failure {
    lib::SocketAddress address;
    error_code error;
  };

  // All addresses or none, because a server on some of them would hide the error.
  std::optional<Failure> open_all(bool shared) {
    std::vector<lib::IpAddress> addresses{where_.address};
    if (where_.address.is_unspecified()) {
      const bool v4 = where_.address.family() == lib::Family::ipv4;
      addresses.push_back(lib::IpAddress::any(v4 ? lib::Family::ipv6 : lib::Family::ipv4));
    }
    std::vector<std::shared_ptr<HttpListener>> opened;
    for (const lib::IpAddress& address : addresses) {
      auto listener = std::make_shared<HttpListener>(io_, handler_);
      const error_code error = listener->open(address, where_.port, shared);
      // A host without the other family still listens in this one.
      if (!opened.empty() &&
          (error == net::error::address_family_not_supported || error == boost::system::errc::address_not_available)) {
        continue;
      }
      if (error) return Failure{{address, where_.port}, error};
      opened.push_back(std::move(listener));
    }
    listeners_ = std::move(opened);
    return std::nullopt;
  }

  void open() {
    if (listeners_.empty()) {
      if (const auto failure = open_all(false)) {
        report(*failure);
        retry_.expires_after(limits_.retry);
        retry_.async_wait([this](const error_code& cancelled) {
          if (!cancelled) open();
        });
        return;
      }
    }
    for (const auto& listener : listeners_) listener->accept(on_client_);
    if (problem_.empty()) {
      base::log(base::message::kListening, name_ + " listens on " + where_.to_string(),
                {{"name", name_}, {"address", where_.to_string()}});
    } else {
      base::log(base::message::kListeningRecovered, name_ + " listens on " + where_.to_string() + " now",
                {{"name", name_}, {"address", where_.to_string()}});
      problem_.clear();
    }
  }

  std::string why_not(const Failure& failure) const {
    const char* advice = advice_for_listening(failure.error);
    return name_ + ": cannot listen on " + failure.address.to_string() + ": " + failure.error.message() + "; " +
           (advice != nullptr                             ? advice
            : failure.error == net::error::address_in_use ? "stop the process that has the port, or choose another"
                                                          : "check that this node has the address");
  }

  void report(const Failure& failure) {
    const std::string problem = why_not(failure) + "; retrying";
    if (problem == problem_) return;
    base::log(base::message::kListenFailed, problem,
              {{"name", name_}, {"address", where_.to_string()}, {"error", problem}});
    problem_ = problem;
    if (on_bind_failure_) on_bind_failure_(problem);
  }

  void close_all() {
    retry_.cancel();
    for (const auto& listener : listeners_) {
      listener->close();
      clients_.close_from(*listener);
    }
    work_.reset();
  }

  const std::string name_;
  const lib::SocketAddress where_;
  const Handler handler_;
  const OnBindFailure on_bind_failure_;
  const HttpLimits limits_;
  const HttpListener::OnClient on_client_{
      [this](net::ip::tcp::socket socket, const std::shared_ptr<HttpListener>& from) {
        clients_.begin(std::move(socket), from);
      }};
  net::io_context io_;                                                                 // must outlive its handlers
  net::executor_work_guard<net::io_context::executor_type> work_{io_.get_executor()};  // until close_all()
  net::steady_timer retry_{io_};
  HttpClients clients_;
  std::vector<std::shared_ptr<HttpListener>> listeners_;
  std::string problem_;  // why it does not listen, or empty
  std::thread thread_;
};

HttpServer::HttpServer(std::string name, lib::SocketAddress where, Handler handler, OnBindFailure on_bind_failure,
                       HttpLimits limits)
    : loop_(std::make_unique<Loop>(std::move(name), where, std::move(handler), std::move(on_bind_failure), limits)) {}

HttpServer::~HttpServer() { stop(); }

lib::Status HttpServer::listen(bool shared) { return loop_->listen(shared); }

void HttpServer::start() { loop_->start(); }

void HttpServer::share_port(bool on) { loop_->share_port(on); }

void HttpServer::stop() { loop_->stop(); }

}  // namespace sluice::observe
