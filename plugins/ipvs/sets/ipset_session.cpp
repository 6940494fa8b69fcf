// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/sets/ipset_session.hpp"

#include <libipset/print.h>
#include <libipset/session.h>
#include <libipset/types.h>
#include <netinet/in.h>

#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "lib/number.hpp"
#include "lib/protocol.hpp"

namespace sluice::ipvs {

// No destructor runs for these: the plugin may be unloaded whenever it is not in use.
constinit lib::Mutex session_mutex;
static_assert(std::is_trivially_destructible_v<lib::Mutex>);

namespace {

struct ipset_session* session SLUICE_GUARDED_BY(session_mutex) = nullptr;
unsigned users SLUICE_GUARDED_BY(session_mutex) = 0;

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool says(std::string_view text, int number) { return has(text, std::strerror(number)); }

// libipset calls getprotobynumber(3), which reads /etc/protocols for each entry: it dominates the time of a listing,
// fails without that file, and is not thread-safe.
int print_port(char* buffer, unsigned length, const ipset_data* data, ipset_opt option, std::uint8_t environment) {
  const auto* const protocol = static_cast<const std::uint8_t*>(ipset_data_get(data, IPSET_OPT_PROTO));
  const auto* const port = static_cast<const std::uint16_t*>(ipset_data_get(data, IPSET_OPT_PORT));
  const std::string_view name = protocol != nullptr && port != nullptr ? lib::protocol_name(*protocol) : "";
  if (name.empty()) return ipset_print_proto_port(buffer, length, data, option, environment);
  return std::snprintf(buffer, length, "%s:%u", name.data(), unsigned{*port});
}

// The list of types belongs to libipset; it is const for other users only.
void replace_print(ipset_printfn from, ipset_printfn to) noexcept {
  for (const ipset_type* type = ipset_types(); type != nullptr; type = type->next) {
    for (ipset_elem& part : const_cast<ipset_type*>(type)->elem) {
      if (part.print == from) part.print = to;
    }
  }
}

// Passes the pieces of a listing to `sink`.
struct Output {
  const std::function<void(std::string_view)>& sink;
  std::exception_ptr thrown;
};

// NOLINTNEXTLINE(cert-dcl50-cpp): libipset requires it.
__attribute__((format(printf, 3, 4))) int print(struct ipset_session*, void* output, const char* format, ...) {
  auto& out = *static_cast<Output*>(output);
  std::va_list arguments;
  va_start(arguments, format);
  int status = 0;
  try {
    if (std::strcmp(format, "%s") == 0) {
      out.sink(va_arg(arguments, const char*));
    } else {
      char* text = nullptr;
      const int length = vasprintf(&text, format, arguments);
      const std::unique_ptr<char, decltype(&std::free)> owner(length < 0 ? nullptr : text, &std::free);
      if (length < 0) throw std::bad_alloc();
      out.sink({text, static_cast<std::size_t>(length)});
    }
  } catch (...) {
    out.thrown = std::current_exception();
    status = -1;
  }
  va_end(arguments);
  return status;
}

int print_nothing(struct ipset_session*, void*, const char*, ...) { return 0; }

// Kernel errors about the entry itself, independent of the set's contents.
bool is_no_element(std::string_view report) {
  return has(report, "Null-valued element") || has(report, "Element is out of the range") ||
         has(report, "value of the CIDR parameter of the IP address") || has(report, "Invalid range, covers") ||
         has(report, "Range is not supported in the") || has(report, "Invalid protocol specified");
}

// Takes "Error in line N:" from the front and returns N.
std::size_t take_line(std::string_view& text) {
  constexpr std::string_view kBefore = "Error in line ";
  if (!text.starts_with(kBefore)) return 0;
  std::string_view rest = text.substr(kBefore.size());
  const auto line = lib::take_number<std::size_t>(rest);
  if (!line) return 0;
  text = rest;
  while (!text.empty() && (text[0] == ':' || text[0] == ' ')) text.remove_prefix(1);
  return *line;
}

}  // namespace

IpsetReply classify_report(std::string_view report, int os_errno) {
  IpsetReply reply;
  reply.line = take_line(report);
  // Further lines repeat the first.
  report = report.substr(0, report.find('\n'));
  reply.text = report;
  const auto is_shortage = [](int number) {
    return number == ENOMEM || number == ENOBUFS || number == EMFILE || number == ENFILE;
  };
  if (report.empty() || has(report, "Internal protocol error") || has(report, "Broken ") ||
      has(report, "Protocol error") || has(report, "Giving up")) {
    reply.trouble = is_shortage(os_errno) ? IpsetTrouble::kShortage : IpsetTrouble::kLost;
    if (os_errno != 0) reply.text += (reply.text.empty() ? "" : ": ") + std::string(std::strerror(os_errno));
    if (reply.text.empty()) reply.text = "no answer";
  } else if (has(report, "Cannot open session")) {
    reply.trouble = is_shortage(os_errno) ? IpsetTrouble::kShortage
                    : os_errno == EPERM   ? IpsetTrouble::kDenied
                                          : IpsetTrouble::kNoIpset;
    if (os_errno != 0) reply.text += ": " + std::string(std::strerror(os_errno));
  } else if (has(report, "does not exist")) {
    reply.trouble = IpsetTrouble::kNoSet;
  } else if (has(report, "already exists")) {
    reply.trouble = IpsetTrouble::kExists;
  } else if (has(report, "in use by")) {
    reply.trouble = IpsetTrouble::kInUse;
  } else if (has(report, "is full")) {
    reply.trouble = IpsetTrouble::kFull;
  } else if (is_no_element(report)) {
    reply.trouble = IpsetTrouble::kElement;
  } else if (has(report, "type does not match")) {
    reply.trouble = IpsetTrouble::kMismatch;
  } else if (has(report, "incompatib") || has(report, "upgrade")) {
    reply.trouble = IpsetTrouble::kRefused;  // libipset is older than the set's creator, or than the kernel
  } else if ((has(report, "type") && has(report, "support")) || has(report, "unknown settype")) {
    reply.trouble = IpsetTrouble::kNoType;
  } else if (says(report, EPERM) || says(report, EACCES)) {
    reply.trouble = IpsetTrouble::kDenied;
  } else if (says(report, ENOMEM) || says(report, ENOBUFS)) {
    reply.trouble = IpsetTrouble::kShortage;
  } else if (says(report, EINTR) || says(report, EAGAIN)) {
    reply.trouble = IpsetTrouble::kLost;
  } else {
    reply.trouble = IpsetTrouble::kRefused;
  }
  return reply;
}

IpsetUser::IpsetUser() noexcept {
  const lib::Lock lock(session_mutex);
  ++users;
}

IpsetUser::~IpsetUser() {
  const lib::Lock lock(session_mutex);
  if (--users == 0) IpsetCommands::close();
}

IpsetCommands::IpsetCommands(std::atomic<std::uint64_t>& waited) {
  if (session_mutex.try_lock()) return;
  const auto begin = std::chrono::steady_clock::now();
  session_mutex.lock();
  const std::chrono::nanoseconds time = std::chrono::steady_clock::now() - begin;
  waited += static_cast<std::uint64_t>(time.count());
}

IpsetCommands::~IpsetCommands() { session_mutex.unlock(); }

IpsetReply IpsetCommands::open() {
  if (session != nullptr) {
    // Another process may have recreated a set since its type was cached.
    ipset_cache_del(nullptr);
    ipset_session_report_reset(session);
    ipset_data_reset(ipset_session_data(session));
    return {};
  }
  ipset_load_types();
  replace_print(&ipset_print_proto_port, &print_port);
  session = ipset_session_init(&print_nothing, nullptr);
  if (session == nullptr) return {IpsetTrouble::kShortage, std::strerror(ENOMEM), 0};
  ipset_session_output(session, IPSET_LIST_PLAIN);
  // For the whole session, because libipset would remember it anyway: existing entries and sets may be added, and
  // missing entries removed, without an error.
  ipset_envopt_set(session, IPSET_ENV_EXIST);
  // Opens the socket and requests the protocol version. libipset does not set close-on-exec or expose the descriptor,
  // but child processes do not inherit it: see SpawnActions in lib/program.cpp.
  errno = 0;
  IpsetReply reply = outcome(ipset_cmd(session, IPSET_CMD_NONE, 0));
  // The kernel rejects messages to a missing subsystem this way.
  if (reply.trouble == IpsetTrouble::kRefused && says(reply.text, EINVAL)) reply.trouble = IpsetTrouble::kNoIpset;
  if (!reply.ok()) close();
  return reply;
}

void IpsetCommands::close() noexcept {
  if (session == nullptr) return;
  ipset_session_fini(session);
  session = nullptr;
  replace_print(&print_port, &ipset_print_proto_port);
}

void IpsetCommands::set(ipset_opt option, const void* value) noexcept {
  ipset_data_set(ipset_session_data(session), option, value);
}

const ipset_type* IpsetCommands::type(IpsetCommand command, IpsetReply& reply) {
  ipset_session_lineno(session, 0);
  errno = 0;
  const ipset_type* const found = ipset_type_get(session, command);
  reply = outcome(found == nullptr ? -1 : 0);
  return reply.ok() ? found : nullptr;
}

std::uint8_t IpsetCommands::family() const noexcept { return ipset_data_family(ipset_session_data(session)); }

IpsetReply IpsetCommands::run(IpsetCommand command, std::uint32_t line) {
  // Newer kernels report success for a missing set with this flag, which would count as a change.
  const bool strict = command == IPSET_CMD_DESTROY;
  if (strict) ipset_envopt_unset(session, IPSET_ENV_EXIST);
  errno = 0;
  IpsetReply reply = outcome(ipset_cmd(session, command, line));
  if (strict && session != nullptr) ipset_envopt_set(session, IPSET_ENV_EXIST);  // closed after a lost answer
  return reply;
}

IpsetReply IpsetCommands::commit() {
  errno = 0;
  return outcome(ipset_commit(session));
}

IpsetReply IpsetCommands::list(const std::string& name, bool header_only,
                               const std::function<void(std::string_view)>& sink) {
  Output output{sink, nullptr};
  ipset_session_print_outfn(session, &print, &output);
  if (header_only)
    ipset_envopt_set(session, IPSET_ENV_LIST_HEADER);
  else
    ipset_envopt_unset(session, IPSET_ENV_LIST_HEADER);
  set(IPSET_SETNAME, name);
  IpsetReply reply = run(IPSET_CMD_LIST);
  if (session != nullptr) ipset_session_print_outfn(session, &print_nothing, nullptr);
  if (output.thrown) {
    close();  // the socket still holds the rest of the answer
    std::rethrow_exception(output.thrown);
  }
  return reply;
}

// The status alone is not enough: it is 0 for some failures. Warnings are not failures.
IpsetReply IpsetCommands::outcome(int status) {
  const int os_errno = errno;
  IpsetReply reply;
  if (status < 0 || ipset_session_report_type(session) == IPSET_ERROR) {
    reply = classify_report(ipset_session_report_msg(session), os_errno);
  }
  ipset_session_report_reset(session);
  // Pending answers would be taken for answers to the next command.
  if (reply.trouble == IpsetTrouble::kLost || reply.trouble == IpsetTrouble::kShortage) close();
  return reply;
}

}  // namespace sluice::ipvs
