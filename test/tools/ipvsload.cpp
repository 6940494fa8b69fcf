// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// ipvsload: sends to the kernel what ipvs mode sends for plain Services, and nothing else: no watch, no plan, no state,
// so that it measures the cost of the messages. The namespace must have the sets KUBE-CLUSTER-IP and KUBE-IPVS-IPS and
// the link kube-ipvs0, all empty.
//   ipvsload SERVICES ENDPOINTS CHANGES
// Creates all Services, then replaces one endpoint of the last one CHANGES times; prints CPU time and messages of both.
#include <arpa/inet.h>
#include <linux/genetlink.h>
#include <linux/ip_vs.h>
#include <linux/netfilter/ipset/ip_set.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t kWindow = 128;   // requests in a datagram
constexpr std::size_t kEntries = 300;  // set entries per message, as in libipset
constexpr std::uint16_t kServicePort = 80;
constexpr std::uint16_t kPodPort = 8080;

class Message {
 public:
  Message(std::uint16_t type, int flags) {
    nlmsghdr header{};
    header.nlmsg_type = type;
    header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
    append(&header, sizeof(header));
  }
  template <class Header>
  Message& header(const Header& value) {
    append(&value, sizeof(value));
    return *this;
  }
  Message& put(int type, const void* data, std::size_t size) {
    const nlattr attribute{static_cast<std::uint16_t>(NLA_HDRLEN + size), static_cast<std::uint16_t>(type)};
    append(&attribute, sizeof(attribute));
    append(data, size);
    return *this;
  }
  template <class Number>
  Message& number(int type, Number value) {
    return put(type, &value, sizeof(value));
  }
  Message& text(int type, const char* words) { return put(type, words, std::strlen(words) + 1); }
  std::size_t nest(int type) {
    put(type | NLA_F_NESTED, nullptr, 0);
    return bytes_.size();
  }
  void end(std::size_t nested) {
    const auto length = static_cast<std::uint16_t>(bytes_.size() - nested + NLA_HDRLEN);
    std::memcpy(bytes_.data() + nested - NLA_HDRLEN, &length, sizeof(length));
  }
  const std::string& finish(std::uint32_t sequence) {
    auto* const header = reinterpret_cast<nlmsghdr*>(bytes_.data());
    header->nlmsg_len = static_cast<std::uint32_t>(bytes_.size());
    header->nlmsg_seq = sequence;
    return bytes_;
  }

 private:
  void append(const void* data, std::size_t size) {
    if (size > 0) bytes_.append(static_cast<const char*>(data), size);
    bytes_.resize(NLMSG_ALIGN(bytes_.size()));
  }
  std::string bytes_;
};

class Socket {
 public:
  explicit Socket(int protocol) : fd_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol)) {
    const sockaddr_nl any{AF_NETLINK, 0, 0, 0};
    const int room = 1 << 20, on = 1;
    if (fd_ < 0 || ::bind(fd_, reinterpret_cast<const sockaddr*>(&any), sizeof(any)) != 0)
      fail("netlink socket", errno);
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
    ::setsockopt(fd_, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on));
  }
  ~Socket() { ::close(fd_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  void send(Message message) {
    datagram_ += message.finish(++sequence_);
    if (++waiting_ == kWindow) flush();
  }

  void flush() {
    if (waiting_ == 0) return;
    if (::send(fd_, datagram_.data(), datagram_.size(), 0) < 0) fail("send", errno);
    messages += waiting_;
    datagram_.clear();
    while (waiting_ > 0) receive(nullptr);
  }

  // Sends one request; returns the first 64 KiB of the answer before the acknowledgement.
  std::string ask(Message message) {
    std::string answer;
    const std::string& bytes = message.finish(++sequence_);
    if (::send(fd_, bytes.data(), bytes.size(), 0) < 0) fail("send", errno);
    waiting_ = 1;
    while (waiting_ > 0) receive(&answer);
    return answer;
  }

  std::uint64_t messages = 0;

  [[noreturn]] static void fail(const char* what, int error) {
    throw std::runtime_error(std::string(what) + ": " + std::strerror(error));
  }

 private:
  void receive(std::string* answer) {
    const ssize_t size = ::recv(fd_, buffer_, sizeof(buffer_), 0);
    if (size < 0) fail("receive", errno);
    int left = static_cast<int>(size);
    // The remaining size is negative after a last message without padding, so compare it before NLMSG_OK.
    for (auto* header = reinterpret_cast<nlmsghdr*>(buffer_); left > 0 && NLMSG_OK(header, static_cast<unsigned>(left));
         header = NLMSG_NEXT(header, left)) {
      if (header->nlmsg_type != NLMSG_ERROR) {
        if (answer != nullptr) answer->assign(reinterpret_cast<const char*>(header), header->nlmsg_len);
        continue;
      }
      const int error = -static_cast<const nlmsgerr*>(NLMSG_DATA(header))->error;
      if (error != 0) fail("the kernel refused a message", error);
      --waiting_;
    }
  }

  int fd_;
  std::uint32_t sequence_ = 0;
  std::size_t waiting_ = 0;
  std::string datagram_;
  alignas(nlmsghdr) char buffer_[65536];
};

// The address 10.<octet>.0.0 + number in network order, as in the API server of the tests.
std::uint32_t address(unsigned octet, unsigned number) { return htonl((10u << 24 | octet << 16) + number); }

std::uint16_t family_id() {
  Socket socket(NETLINK_GENERIC);
  const std::string answer = socket.ask(Message(GENL_ID_CTRL, 0)
                                            .header(genlmsghdr{CTRL_CMD_GETFAMILY, 1, 0})
                                            .text(CTRL_ATTR_FAMILY_NAME, IPVS_GENL_NAME));
  for (std::size_t at = NLMSG_HDRLEN + GENL_HDRLEN; at + NLA_HDRLEN <= answer.size();) {
    nlattr attribute{};
    std::memcpy(&attribute, answer.data() + at, sizeof(attribute));
    if (attribute.nla_type == CTRL_ATTR_FAMILY_ID) {
      std::uint16_t id = 0;
      std::memcpy(&id, answer.data() + at + NLA_HDRLEN, sizeof(id));
      return id;
    }
    at += NLA_ALIGN(std::max<std::size_t>(attribute.nla_len, NLA_HDRLEN));
  }
  throw std::runtime_error("the kernel did not report the netlink family id of IPVS");
}

class Load {
 public:
  Load(unsigned services, unsigned endpoints) : services_(services), endpoints_(endpoints) {}

  void everything() {
    entries("KUBE-IPVS-IPS", false);
    entries("KUBE-CLUSTER-IP", true);
    for (unsigned i = 0; i < services_; ++i) {
      servers_.send(server(i));
      for (unsigned e = 0; e < endpoints_; ++e)
        servers_.send(real(IPVS_CMD_NEW_DEST, i, address(200, i * endpoints_ + e), 1));
    }
    servers_.flush();
    const unsigned link = if_nametoindex("kube-ipvs0");
    for (unsigned i = 0; i < services_; ++i) {
      const std::uint32_t own = address(100, i);
      links_.send(Message(RTM_NEWADDR, NLM_F_CREATE)
                      .header(ifaddrmsg{AF_INET, 32, 0, RT_SCOPE_UNIVERSE, link})
                      .number(IFA_LOCAL, own)
                      .number(IFA_ADDRESS, own));
    }
    links_.flush();
  }

  // Adds a new server. The old one gets no more connections and is removed, because it has none.
  void change(unsigned number) {
    const unsigned last = services_ - 1;
    const std::uint32_t before = number == 0 ? address(200, last * endpoints_) : address(204, number - 1);
    servers_.send(real(IPVS_CMD_NEW_DEST, last, address(204, number), 1));
    servers_.send(real(IPVS_CMD_SET_DEST, last, before, 0));
    servers_.send(real(IPVS_CMD_DEL_DEST, last, before, 0));
    servers_.flush();
  }

  std::uint64_t messages() const { return servers_.messages + sets_.messages + links_.messages; }

 private:
  void entries(const char* set, bool with_port) {
    for (unsigned begin = 0; begin < services_; begin += kEntries) {
      Message message(NFNL_SUBSYS_IPSET << 8 | IPSET_CMD_ADD, 0);
      message.header(nfgenmsg{AF_INET, NFNETLINK_V0, 0}).number<std::uint8_t>(IPSET_ATTR_PROTOCOL, IPSET_PROTOCOL_MIN);
      message.text(IPSET_ATTR_SETNAME, set).number(IPSET_ATTR_LINENO, std::uint32_t{0});
      const std::size_t all = message.nest(IPSET_ATTR_ADT);
      for (unsigned i = begin; i < std::min(services_, begin + static_cast<unsigned>(kEntries)); ++i) {
        const std::size_t data = message.nest(IPSET_ATTR_DATA);
        const std::size_t ip = message.nest(IPSET_ATTR_IP);
        message.number(IPSET_ATTR_IPADDR_IPV4 | NLA_F_NET_BYTEORDER, address(100, i));
        message.end(ip);
        if (with_port) {
          message.number(IPSET_ATTR_PORT | NLA_F_NET_BYTEORDER, htons(kServicePort));
          message.number<std::uint8_t>(IPSET_ATTR_PROTO, IPPROTO_TCP);
        }
        message.number(IPSET_ATTR_LINENO | NLA_F_NET_BYTEORDER, htonl(i - begin + 1));
        message.end(data);
      }
      message.end(all);
      sets_.send(std::move(message));
      sets_.flush();
    }
  }

  std::size_t begin(Message& message, std::uint8_t command, unsigned number) const {
    message.header(genlmsghdr{command, IPVS_GENL_VERSION, 0});
    const std::size_t nested = message.nest(IPVS_CMD_ATTR_SERVICE);
    std::uint32_t own[4] = {address(100, number), 0, 0, 0};
    message.number<std::uint16_t>(IPVS_SVC_ATTR_AF, AF_INET).number<std::uint16_t>(IPVS_SVC_ATTR_PROTOCOL, IPPROTO_TCP);
    message.put(IPVS_SVC_ATTR_ADDR, own, sizeof(own)).number(IPVS_SVC_ATTR_PORT, htons(kServicePort));
    return nested;
  }

  Message server(unsigned number) const {
    Message message(family_, 0);
    const std::size_t nested = begin(message, IPVS_CMD_NEW_SERVICE, number);
    message.text(IPVS_SVC_ATTR_SCHED_NAME, "rr").number(IPVS_SVC_ATTR_FLAGS, ip_vs_flags{0, ~0u});
    message.number(IPVS_SVC_ATTR_TIMEOUT, std::uint32_t{0}).number(IPVS_SVC_ATTR_NETMASK, ~std::uint32_t{0});
    message.end(nested);
    return message;
  }

  Message real(std::uint8_t command, unsigned number, std::uint32_t where, std::uint32_t weight) const {
    Message message(family_, 0);
    message.end(begin(message, command, number));
    const std::size_t nested = message.nest(IPVS_CMD_ATTR_DEST);
    const std::uint32_t to[4] = {where, 0, 0, 0};
    message.put(IPVS_DEST_ATTR_ADDR, to, sizeof(to)).number(IPVS_DEST_ATTR_PORT, htons(kPodPort));
    message.number<std::uint16_t>(IPVS_DEST_ATTR_ADDR_FAMILY, AF_INET);
    message.number<std::uint32_t>(IPVS_DEST_ATTR_FWD_METHOD, IP_VS_CONN_F_MASQ).number(IPVS_DEST_ATTR_WEIGHT, weight);
    message.number<std::uint32_t>(IPVS_DEST_ATTR_U_THRESH, 0).number<std::uint32_t>(IPVS_DEST_ATTR_L_THRESH, 0);
    message.end(nested);
    return message;
  }

  const unsigned services_;
  const unsigned endpoints_;
  const std::uint16_t family_ = family_id();
  Socket servers_{NETLINK_GENERIC};
  Socket sets_{NETLINK_NETFILTER};
  Socket links_{NETLINK_ROUTE};
};

struct Used {
  double cpu = 0, user = 0, system = 0;
};

Used used() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return {static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec), seconds(usage.ru_utime),
          seconds(usage.ru_stime)};
}

unsigned parse(const char* word) {
  char* end = nullptr;
  const unsigned long number = std::strtoul(word, &end, 10);
  if (*end != '\0' || number == 0 || number > 200'000)
    throw std::runtime_error(std::string(word) + " is no number from 1 to 200000");
  return static_cast<unsigned>(number);
}

int run(char** words) {
  Load load(parse(words[1]), parse(words[2]));
  const unsigned changes = parse(words[3]);
  const Used before = used();
  load.everything();
  const Used after = used();
  const std::uint64_t messages = load.messages();
  std::vector<double> each;
  for (unsigned i = 0; i < changes; ++i) {
    const double begin = used().cpu;
    load.change(i);
    each.push_back((used().cpu - begin) * 1000);
  }
  std::sort(each.begin(), each.end());
  std::printf(
      "{\"first_cpu_seconds\": %.6f, \"first_user_cpu_seconds\": %.6f, \"first_system_cpu_seconds\": %.6f, "
      "\"first_messages\": %llu, \"change_cpu_ms_p50\": %.6f, \"change_messages\": %llu}\n",
      after.cpu - before.cpu, after.user - before.user, after.system - before.system,
      static_cast<unsigned long long>(messages), each[each.size() / 2],
      static_cast<unsigned long long>((load.messages() - messages) / changes));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: ipvsload SERVICES ENDPOINTS CHANGES\n");
    return 2;
  }
  try {
    return run(argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ipvsload: %s\n", error.what());
    return 1;
  }
}
