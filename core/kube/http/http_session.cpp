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
#include <exception>
#include <stdexcept>
#include <vector>

#include "core/kube/http/system_roots.hpp"
#include "lib/mutex.hpp"
#include "lib/number.hpp"

namespace sluice::kube {
namespace {

namespace http = web::http;
using HttpClient = http::client::http_client;

constexpr auto kCancelGrace = std::chrono::milliseconds(300);
constexpr std::size_t kMaxPending = 256u << 10;

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

// Shared by the waiting thread and the library's threads. The body passes through a small buffer: when it is full, the
// library's next read waits, and TCP flow control slows the server.
class Exchange final : public HttpExchange {
 public:
  std::optional<HttpOutcome> wait(ResponseSink& sink, Clock::time_point until) override {
    lib::UniqueLock lock(mutex_);
    for (;;) {
      const auto patience = head_delivered_ ? sink.patience() : std::nullopt;
      const auto silent_at = patience ? heard_ + *patience : Clock::time_point::max();
      if (!wait_for_change(std::min(silent_at, until))) {
        if (Clock::now() < silent_at) return std::nullopt;
        give_up(lib::unavailable("silent"));
        return HttpOutcome{{}, HttpFailure{ETIME, {}, silence()}};
      }
      lib::Status ended = ended_;
      if (ended.ok() && has_piece()) {
        ended = hand_over(sink);
        heard_ = Clock::now();
      } else if (ended.ok()) {
        if (!failure_) return HttpOutcome{};
        HttpFailure failure = read_failure(failure_);
        failure.silence = silence();
        return HttpOutcome{{}, std::move(failure)};
      }
      if (!ended.ok()) {
        give_up(ended);
        return HttpOutcome{std::move(ended), std::nullopt};
      }
    }
  }

  void end(lib::Status reason) override {
    {
      const lib::Lock lock(mutex_);
      if (ended_.ok()) ended_ = std::move(reason);
      changed_.notify_all();
    }
    resume_write();
    cancel_.cancel();
  }

  // The following methods are for the library's threads.
  void on_head(ResponseHead head) {
    const lib::Lock lock(mutex_);
    head_ = std::move(head);
    changed_.notify_all();
  }
  pplx::task<size_t> on_body(const uint8_t* data, size_t count) {
    std::optional<pplx::task_completion_event<void>> room;
    bool first = false;
    {
      const lib::Lock lock(mutex_);
      first = pending_.empty();
      pending_.append(reinterpret_cast<const char*>(data), count);
      if (pending_.size() >= kMaxPending && ended_.ok()) waiting_ = room.emplace();
    }
    // Notified without the lock, and only for the first write, so that the waiting thread takes several writes at once.
    if (first) changed_.notify_all();
    if (!room) return pplx::task_from_result(count);
    return pplx::create_task(*room).then([count] { return count; });
  }
  void finish(std::exception_ptr why = nullptr) {
    const lib::Lock lock(mutex_);
    finished_ = true;
    failure_ = std::move(why);
    changed_.notify_all();
  }
  pplx::cancellation_token token() const { return cancel_.get_token(); }

 private:
  std::chrono::seconds silence() const { return std::chrono::round<std::chrono::seconds>(Clock::now() - heard_); }

  void resume_write() {
    std::optional<pplx::task_completion_event<void>> event;
    {
      const lib::Lock lock(mutex_);
      event.swap(waiting_);
    }
    if (event) event->set();
  }

  bool has_piece() const SLUICE_REQUIRES(mutex_) { return head_ && (!head_delivered_ || !pending_.empty()); }
  bool has_changed() const SLUICE_REQUIRES(mutex_) { return !ended_.ok() || finished_ || has_piece(); }
  bool wait_for_change(Clock::time_point until) SLUICE_REQUIRES(mutex_) {
    while (!has_changed()) {
      // wait_until(time_point::max()) overflows in some C++ libraries.
      if (until == Clock::time_point::max()) {
        changed_.wait(mutex_);
      } else if (!changed_.wait_until(mutex_, until)) {
        return has_changed();
      }
    }
    return true;
  }

  // Passes the head or buffered bytes to the sink, without the lock.
  lib::Status hand_over(ResponseSink& sink) SLUICE_REQUIRES(mutex_) {
    if (!head_delivered_) {
      head_delivered_ = true;
      const ResponseHead head = *head_;
      const lib::Unlock unlock(mutex_);
      return sink.on_head(head);
    }
    bytes_.clear();
    bytes_.swap(pending_);
    const lib::Unlock unlock(mutex_);
    resume_write();
    return sink.on_body(bytes_);
  }

  void give_up(const lib::Status& reason) SLUICE_REQUIRES(mutex_) {
    {
      const lib::Unlock unlock(mutex_);
      end(reason);
    }
    // The library ends the task within milliseconds; if it does not, stop waiting for it.
    const auto until = Clock::now() + kCancelGrace;
    while (!finished_ && changed_.wait_until(mutex_, until)) {
    }
  }

  lib::Mutex mutex_;
  lib::ConditionVariable changed_;
  std::optional<ResponseHead> head_ SLUICE_GUARDED_BY(mutex_);
  std::string pending_ SLUICE_GUARDED_BY(mutex_);
  // Of a write that waits for space in the buffer.
  std::optional<pplx::task_completion_event<void>> waiting_ SLUICE_GUARDED_BY(mutex_);
  bool finished_ SLUICE_GUARDED_BY(mutex_) = false;
  lib::Status ended_ SLUICE_GUARDED_BY(mutex_);  // not ok: the rest of the response is discarded
  std::exception_ptr failure_ SLUICE_GUARDED_BY(mutex_);

  pplx::cancellation_token_source cancel_;
  // The waiting thread only.
  bool head_delivered_ = false;
  std::string bytes_;
  Clock::time_point heard_ = Clock::now();
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
  pplx::task<size_t> _putn(const uint8_t* data, size_t count) override { return exchange_->on_body(data, count); }
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

std::unique_ptr<HttpClient> make_client(const HttpRoute& route, const ConnectionConfig& config,
                                        const TlsMaterial& material, const std::shared_ptr<VerifyReport>& report) {
  http::client::http_client_config options;
  options.set_timeout(route.idle);
  options.set_max_redirects(0);  // a redirect would send the credentials to another server
  options.set_request_compressed_response(route.compress);
  options.set_validate_certificates(route.verify);
  if (route.proxy) options.set_proxy(library_proxy(route));
  options.set_nativehandle_options([tls = route.server.tls && !route.proxy, family = route.address.family()](
                                       void* handle) { tune_socket(handle, tls, family); });
  // Called for each new connection, on any thread.
  options.set_ssl_context_callback([config, material, report](boost::asio::ssl::context& context) {
    const auto status = configure_tls(context.native_handle(), config, material, report);
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

void start_request(HttpClient& client, const HttpRoute& route, const Request& request, const HttpHeaders& headers,
                   const std::shared_ptr<Exchange>& exchange) {
  http::http_request message(request.method);
  add_headers(message.headers(), headers);
  // The library verifies this name and sends it as SNI; it must have no port and no brackets. An IP address that the
  // library connects to needs no header.
  if (tunnels(route) || !lib::IpAddress::parse(route.tls_name)) message.headers().add("Host", route.tls_name);
  message.set_response_stream(
      concurrency::streams::streambuf<uint8_t>(std::make_shared<ExchangeBuffer>(exchange)).create_ostream());
  message.set_request_uri(web::uri(route.server.base_path + request.target()));
  if (!request.body.empty()) {
    message.headers().set_content_type(request.content_type);
    // As bytes: with a std::string the library accesses a buffer of char through a buffer of another type.
    message.set_body(std::vector<unsigned char>(request.body.begin(), request.body.end()));
  }
  // A direct connection is set up in this call; a tunnel later, in another thread.
  const SkipSystemRoots skip_system_roots;
  client.request(message, exchange->token())
      .then([exchange](const http::http_response& response) {
        exchange->on_head(read_head(response));
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

}  // namespace

HttpSession::HttpSession(HttpRoute route, const ConnectionConfig& config, TlsMaterial material)
    : route_(std::move(route)), material_(std::move(material)) {
  static std::once_flag once;
  std::call_once(once, [] {
    try {
      // The default of 40 threads costs five times the CPU of two.
      crossplat::threadpool::initialize_with_threads(2);
    } catch (const std::exception&) {
      // The thread pool is already initialized, which is fine.
    }
  });
  client_ = make_client(route_, config, material_, report_);
}

HttpSession::~HttpSession() = default;

std::shared_ptr<HttpExchange> HttpSession::send(const Request& request, const HttpHeaders& headers) {
  const auto exchange = std::make_shared<Exchange>();
  try {
    start_request(*client_, route_, request, headers, exchange);
  } catch (...) {
    exchange->finish(std::current_exception());
  }
  return exchange;
}

}  // namespace sluice::kube
