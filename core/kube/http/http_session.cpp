// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/http/http_session.hpp"

#include <cpprest/http_client.h>
#include <cpprest/streams.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pplx/threadpool.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "core/kube/http/system_roots.hpp"
#include "lib/number.hpp"

namespace sluice::kube {
namespace {

namespace http = web::http;
using HttpClient = http::client::http_client;

constexpr auto kCancelGrace = std::chrono::milliseconds(300);
constexpr auto kEndless = std::chrono::milliseconds::max();
constexpr std::size_t kMaxPending = 256u << 10;

// Shared by the waiting thread and the library's threads. The body passes through a small buffer: when it is full, the
// library's next read waits, and TCP flow control slows the server.
struct Exchange {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<ResponseHead> head;
  std::string pending;
  std::optional<pplx::task_completion_event<void>> waiting;  // of a write that waits for space in the buffer
  bool finished = false;
  lib::Status ended;  // not ok: the rest of the response is discarded
  std::exception_ptr failure;
  pplx::cancellation_token_source cancel;

  void finish(std::exception_ptr why = nullptr) {
    const std::lock_guard lock(mutex);
    finished = true;
    failure = std::move(why);
    changed.notify_all();
  }
  void end(lib::Status reason) {
    {
      const std::lock_guard lock(mutex);
      if (ended.ok()) ended = std::move(reason);
      changed.notify_all();
    }
    release();
    cancel.cancel();
  }
  // Resumes a waiting write.
  void release() {
    std::optional<pplx::task_completion_event<void>> event;
    {
      const std::lock_guard lock(mutex);
      event.swap(waiting);
    }
    if (event) event->set();
  }
};

// Receives the library's writes; all other stream operations fail.
class ExchangeBuffer final : public concurrency::streams::details::streambuf_state_manager<uint8_t> {
  using Base = concurrency::streams::details::streambuf_state_manager<uint8_t>;

 public:
  explicit ExchangeBuffer(std::shared_ptr<Exchange> exchange)
      : Base(std::ios_base::out), exchange_(std::move(exchange)) {}

  bool can_seek() const override { return false; }
  bool has_size() const override { return false; }
  size_t buffer_size(std::ios_base::openmode) const override { return 0; }
  void set_buffer_size(size_t, std::ios_base::openmode) override {}
  size_t in_avail() const override { return 0; }
  pos_type getpos(std::ios_base::openmode) const override { return static_cast<pos_type>(traits::eof()); }
  pos_type seekpos(pos_type, std::ios_base::openmode) override { return static_cast<pos_type>(traits::eof()); }
  pos_type seekoff(off_type, std::ios_base::seekdir, std::ios_base::openmode) override {
    return static_cast<pos_type>(traits::eof());
  }
  bool acquire(uint8_t*& pointer, size_t& count) override {
    pointer = nullptr;
    count = 0;
    return false;
  }
  void release(uint8_t*, size_t) override {}

 protected:
  pplx::task<int_type> _putc(uint8_t byte) override {
    return _putn(&byte, 1).then([byte](size_t) { return static_cast<int_type>(byte); });
  }
  pplx::task<size_t> _putn(const uint8_t* data, size_t count) override {
    std::optional<pplx::task_completion_event<void>> room;
    bool first = false;
    {
      const std::lock_guard lock(exchange_->mutex);
      first = exchange_->pending.empty();
      exchange_->pending.append(reinterpret_cast<const char*>(data), count);
      if (exchange_->pending.size() >= kMaxPending && exchange_->ended.ok()) exchange_->waiting = room.emplace();
    }
    // Notified without the lock, and only for the first write, so that the waiting thread takes several writes at once.
    if (first) exchange_->changed.notify_all();
    if (!room) return pplx::task_from_result(count);
    return pplx::create_task(*room).then([count] { return count; });
  }
  pplx::task<size_t> _putn(const uint8_t* data, size_t count, bool) override { return _putn(data, count); }
  pplx::task<int_type> _bumpc() override { return pplx::task_from_result(static_cast<int_type>(traits::eof())); }
  int_type _sbumpc() override { return traits::eof(); }
  pplx::task<int_type> _getc() override { return pplx::task_from_result(static_cast<int_type>(traits::eof())); }
  int_type _sgetc() override { return traits::eof(); }
  pplx::task<int_type> _nextc() override { return pplx::task_from_result(static_cast<int_type>(traits::eof())); }
  pplx::task<int_type> _ungetc() override { return pplx::task_from_result(static_cast<int_type>(traits::eof())); }
  pplx::task<size_t> _getn(uint8_t*, size_t) override { return pplx::task_from_result<size_t>(0); }
  size_t _scopy(uint8_t*, size_t) override { return 0; }
  pplx::task<bool> _sync() override { return pplx::task_from_result(true); }
  uint8_t* _alloc(size_t) override { return nullptr; }
  void _commit(size_t) override {}

 private:
  const std::shared_ptr<Exchange> exchange_;
};

// Called before the library connects: it uses a socket that is already open.
void tune_socket(void* handle, bool tls, lib::Family family) {
  // The library passes a TLS stream if the connection begins with TLS, else a socket.
  using Socket = boost::asio::ip::tcp::socket;
  Socket& socket =
      tls ? static_cast<boost::asio::ssl::stream<Socket&>*>(handle)->next_layer() : *static_cast<Socket*>(handle);
  boost::system::error_code failed;
  socket.open(family == lib::Family::ipv4 ? boost::asio::ip::tcp::v4() : boost::asio::ip::tcp::v6(), failed);
  if (failed) return;
  const auto set = [&](int level, int option, int value) {
    // Not fatal: without one of these options a dead peer is only detected later.
    static_cast<void>(::setsockopt(socket.native_handle(), level, option, &value, sizeof value));
  };
  ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);  // do not leak into child processes
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 30'000);
  set(IPPROTO_TCP, TCP_SYNCNT, 4);  // gives up connecting after about 30 s
}

bool tunnels(const HttpRoute& route) { return route.proxy && route.server.tls; }

// The library passes the host to the resolver unchanged, so an IPv6 address has no brackets. With a proxy, the host is
// only repeated in the request, where it needs them.
std::string base_url(const HttpRoute& route) {
  const std::string host = route.proxy ? in_url(route.server.host) : route.address.to_string();
  return std::string(route.server.tls ? "https://" : "http://") + host + ":" + std::to_string(route.server.port);
}

web::web_proxy library_proxy(const HttpRoute& route) {
  web::web_proxy out(web::uri("http://" + route.address.to_string() + ":" + std::to_string(route.proxy->port)));
  if (!route.proxy->username.empty()) {
    out.set_credentials(web::credentials(route.proxy->username, route.proxy->password));
  }
  return out;
}

std::unique_ptr<HttpClient> make_client(const HttpRoute& route,
                                        const std::function<lib::Status(ssl_ctx_st*)>& set_up_tls) {
  http::client::http_client_config options;
  options.set_timeout(route.idle);
  options.set_max_redirects(0);  // a redirect would send the credentials to another server
  options.set_request_compressed_response(route.compress);
  options.set_validate_certificates(route.verify);
  if (route.proxy) options.set_proxy(library_proxy(route));
  options.set_nativehandle_options([tls = route.server.tls && !route.proxy, family = route.address.family()](
                                       void* handle) { tune_socket(handle, tls, family); });
  options.set_ssl_context_callback([set_up_tls](boost::asio::ssl::context& context) {
    const auto status = set_up_tls(context.native_handle());
    if (!status.ok()) throw std::runtime_error(status.message());
  });
  return std::make_unique<HttpClient>(base_url(route), options);
}

ResponseHead read_head(const http::http_response& response) {
  ResponseHead out;
  out.status = response.status_code();
  const auto& headers = response.headers();
  if (const auto it = headers.find("Content-Type"); it != headers.end()) out.content_type = it->second;
  if (const auto it = headers.find("Retry-After"); it != headers.end()) {
    std::string_view text = it->second;
    const auto seconds = lib::take_number<long>(text);
    if (seconds && *seconds >= 0) out.retry_after = std::chrono::seconds(std::min(*seconds, 3600L));
  }
  return out;
}

// The library joins headers with the same name by a comma, which the API server does not split. It sends values
// unchanged, so further values are appended as separate header lines.
void add_headers(http::http_headers& out, const HttpHeaders& headers) {
  for (const auto& [name, value] : headers) {
    const auto before = out.find(name);
    if (before == out.end())
      out.add(name, value);
    else
      before->second += "\r\n" + name + ": " + value;
  }
}

HttpFailure read_failure(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const http::http_exception& error) {
    return {error.error_code().value(), error.what(), {}};
  } catch (const std::exception& error) {
    return {-1, error.what(), {}};
  } catch (...) {
    return {-1, "the HTTP library failed for an unknown reason", {}};
  }
}

class LibraryExchange final : public HttpExchange {
 public:
  explicit LibraryExchange(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}

  void end(lib::Status reason) override { exchange_->end(std::move(reason)); }

  HttpOutcome wait(ResponseSink& sink, const HttpCheck& check) override {
    Exchange& exchange = *exchange_;
    auto next_check = Clock::now() + check.first;
    lib::Status ended;
    std::unique_lock lock(exchange.mutex);
    while (ended.ok()) {
      std::chrono::milliseconds patience = kEndless;
      if (const auto limit = sink.patience(); head_delivered_ && limit) patience = *limit;
      const auto silent_at = patience == kEndless ? Clock::time_point::max() : heard_ + patience;
      const auto check_at = check.check ? next_check : Clock::time_point::max();
      if (!wait_for_change(lock, std::min(silent_at, check_at))) {
        if (Clock::now() >= silent_at) {
          give_up(lock, lib::unavailable("silent"));
          return {{}, HttpFailure{ETIME, {}, silence()}};
        }
        lock.unlock();
        std::chrono::milliseconds next{0};
        ended = check.check(next);
        next_check = Clock::now() + next;
        lock.lock();
      } else if (!exchange.ended.ok()) {
        ended = exchange.ended;
      } else if (has_piece()) {
        ended = hand_over(lock, sink);
        heard_ = Clock::now();
      } else {
        if (!exchange.failure) return {};
        HttpFailure failure = read_failure(exchange.failure);
        failure.silence = silence();
        return {{}, std::move(failure)};
      }
    }
    give_up(lock, ended);
    return {ended, std::nullopt};
  }

 private:
  using Clock = std::chrono::steady_clock;

  std::chrono::seconds silence() const { return std::chrono::round<std::chrono::seconds>(Clock::now() - heard_); }

  // The following methods require the lock to be held.
  bool has_piece() const { return exchange_->head && (!head_delivered_ || !exchange_->pending.empty()); }
  bool wait_for_change(std::unique_lock<std::mutex>& lock, Clock::time_point until) {
    const auto changed = [this] { return !exchange_->ended.ok() || exchange_->finished || has_piece(); };
    // wait_until(time_point::max()) overflows in some C++ libraries.
    if (until != Clock::time_point::max()) return exchange_->changed.wait_until(lock, until, changed);
    exchange_->changed.wait(lock, changed);
    return true;
  }

  // Passes the head or buffered bytes to the sink, without the lock.
  lib::Status hand_over(std::unique_lock<std::mutex>& lock, ResponseSink& sink) {
    lib::Status status;
    if (!head_delivered_) {
      head_delivered_ = true;
      const ResponseHead head = *exchange_->head;
      lock.unlock();
      status = sink.on_head(head);
    } else {
      bytes_.clear();
      bytes_.swap(exchange_->pending);
      lock.unlock();
      exchange_->release();
      status = sink.on_body(bytes_);
    }
    lock.lock();
    return status;
  }

  void give_up(std::unique_lock<std::mutex>& lock, const lib::Status& reason) {
    lock.unlock();
    exchange_->end(reason);
    lock.lock();
    // The library ends the task within milliseconds; if it does not, stop waiting for it.
    exchange_->changed.wait_for(lock, kCancelGrace, [this] { return exchange_->finished; });
  }

  const std::shared_ptr<Exchange> exchange_;
  bool head_delivered_ = false;
  std::string bytes_;
  Clock::time_point heard_ = Clock::now();
};

}  // namespace

class HttpSession::Impl {
 public:
  Impl(HttpRoute route, std::function<lib::Status(ssl_ctx_st*)> set_up_tls)
      : route_(std::move(route)), set_up_tls_(std::move(set_up_tls)) {
    static std::once_flag once;
    std::call_once(once, [] {
      try {
        // The default of 40 threads costs five times the CPU of two.
        crossplat::threadpool::initialize_with_threads(2);
      } catch (const std::exception&) {
        // The thread pool is already initialized, which is fine.
      }
    });
    client_ = make_client(route_, set_up_tls_);
  }

  const HttpRoute& route() const { return route_; }

  std::shared_ptr<HttpExchange> send(const HttpMessage& message, const HttpHeaders& headers) {
    const auto exchange = std::make_shared<Exchange>();
    try {
      begin(message, headers, exchange);
    } catch (...) {
      exchange->finish(std::current_exception());
    }
    return std::make_shared<LibraryExchange>(exchange);
  }

 private:
  void begin(const HttpMessage& wanted, const HttpHeaders& headers, const std::shared_ptr<Exchange>& exchange) {
    http::http_request message(wanted.method);
    add_headers(message.headers(), headers);
    // The library verifies this name and sends it as SNI; it must have no port and no brackets. An IP address that the
    // library connects to needs no header.
    if (tunnels(route_) || !lib::IpAddress::parse(route_.tls_name)) message.headers().add("Host", route_.tls_name);
    message.set_response_stream(
        concurrency::streams::streambuf<uint8_t>(std::make_shared<ExchangeBuffer>(exchange)).create_ostream());
    message.set_request_uri(web::uri(route_.server.base_path + wanted.target));
    if (!wanted.body.empty()) {
      message.headers().set_content_type(wanted.content_type);
      // As bytes: with a std::string the library accesses a buffer of char through a buffer of another type.
      message.set_body(std::vector<unsigned char>(wanted.body.begin(), wanted.body.end()));
    }
    // A direct connection is set up in this call; a tunnel later, in another thread.
    const SkipSystemRoots skip_system_roots;
    client_->request(message, exchange->cancel.get_token())
        .then([exchange](const http::http_response& response) {
          {
            const std::lock_guard lock(exchange->mutex);
            exchange->head = read_head(response);
            exchange->changed.notify_all();
          }
          return response.content_ready();
        })
        // The last task must catch every exception: an unobserved one terminates the process.
        .then([exchange](const pplx::task<http::http_response>& task) {
          try {
            task.get();
            exchange->finish();
          } catch (...) {
            exchange->finish(std::current_exception());
          }
        });
  }

  const HttpRoute route_;
  const std::function<lib::Status(ssl_ctx_st*)> set_up_tls_;
  std::unique_ptr<HttpClient> client_;
};

HttpSession::HttpSession(HttpRoute route, std::function<lib::Status(ssl_ctx_st*)> set_up_tls)
    : impl_(std::make_unique<Impl>(std::move(route), std::move(set_up_tls))) {}
HttpSession::~HttpSession() = default;
const HttpRoute& HttpSession::route() const { return impl_->route(); }
std::shared_ptr<HttpExchange> HttpSession::send(const HttpMessage& message, const HttpHeaders& headers) {
  return impl_->send(message, headers);
}

}  // namespace sluice::kube
