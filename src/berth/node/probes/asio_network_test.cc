// Probes over real connections on this machine.
#include "berth/node/probes/asio_network.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/net/network_namespace.h"
#include "berth/rpc/server.h"
#include "berth/runtime/cni/loopback_device.h"
#include "berth/testing/network_namespace.h"
#include "berth/testing/temp_files.h"

namespace berth::node {
namespace {

Result<void> bring_up_loopback(const std::string& network_namespace) {
  return runtime::cni::kernel_loopback().bring_up(network_namespace);
}

/// A port of loopback that leads to a unix socket, on which our gRPC servers listen.
class Door {
 public:
  /// `listener`: a TCP socket, perhaps of another network; by default one of this.
  explicit Door(std::string socket, int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
      : socket_(std::move(socket)), listener_(listener) {
    ::fcntl(listener_, F_SETFL, 0);
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof any;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&any), size), 0); // NOLINT
    EXPECT_EQ(::listen(listener_, 8), 0);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&any), &size); // NOLINT
    port_ = ntohs(any.sin_port);
    doorman_ = std::thread([this] { admit(); });
  }
  ~Door() {
    ::shutdown(listener_, SHUT_RDWR);
    doorman_.join();
    for (const int fd : open_) {
      ::shutdown(fd, SHUT_RDWR);
    }
    for (std::thread& each : pumps_) {
      each.join();
    }
    for (const int fd : open_) {
      ::close(fd);
    }
    ::close(listener_);
  }
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;
  std::uint16_t port() const { return port_; }

 private:
  void admit() {
    for (;;) {
      const int in = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (in < 0) {
        return;
      }
      sockaddr_un to{};
      to.sun_family = AF_UNIX;
      std::strncpy(to.sun_path, socket_.c_str(), sizeof to.sun_path - 1);
      const int out = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      static_cast<void>(::connect(out, reinterpret_cast<sockaddr*>(&to), sizeof to)); // NOLINT
      open_.push_back(in);
      open_.push_back(out);
      pumps_.emplace_back([in, out] { pump(in, out); });
      pumps_.emplace_back([in, out] { pump(out, in); });
    }
  }
  static void pump(int from, int to) {
    std::vector<char> bytes(4096);
    for (;;) {
      const ssize_t count = ::read(from, bytes.data(), bytes.size());
      if (count <= 0 ||
          ::send(to, bytes.data(), static_cast<std::size_t>(count), MSG_NOSIGNAL) <= 0) {
        ::shutdown(to, SHUT_WR);
        return;
      }
    }
  }

  std::string socket_;
  int listener_;
  std::uint16_t port_ = 0;
  std::vector<int> open_; ///< the doorman's until he is gone
  std::vector<std::thread> pumps_;
  std::thread doorman_;
};

class ProbeNetworks : public test::TempFiles {
 protected:
  void serve(rpc::Methods methods) {
    auto listening = rpc::Server::listen(loop, path("s"), std::move(methods));
    ASSERT_TRUE(listening.has_value());
    server = *std::move(listening);
    door.emplace(path("s"));
  }
  Result<std::string> ask(std::uint16_t port, const std::string& service = "",
                          const std::string& network_namespace = "") {
    std::optional<Result<std::string>> got;
    network.ask_health({.host = "127.0.0.1",
                        .port = port,
                        .service = service,
                        .network_namespace = network_namespace},
                       Duration::seconds(30), [&](Result<std::string> how) {
                         got = std::move(how);
                         loop.stop();
                       });
    loop.run();
    return *std::move(got);
  }

  net::AsioLoop loop;
  AsioProbeNetwork network{loop};
  std::unique_ptr<rpc::Server> server;
  std::optional<Door> door;
};

TEST_F(ProbeNetworks, HealthIsAskedOverTcp) {
  std::vector<std::string> asked;
  rpc::Methods methods;
  methods.unary["/grpc.health.v1.Health/Check"] = [&](const std::string& request,
                                                      const rpc::Respond& respond) {
    asked.push_back(request);
    if (request == "\x0a\x01y") { // field 1: "y"
      respond(fail(Code::NotFound, "unknown service"));
    } else {
      respond(std::string(request.empty() ? "\x08\x01" : "\x08\x02"));
    }
  };
  serve(std::move(methods));
  EXPECT_EQ(ask(door->port()).value(), "SERVING");
  EXPECT_EQ(ask(door->port(), "x").value(), "NOT_SERVING");
  EXPECT_EQ(ask(door->port(), "y").error().code, Code::NotFound);
  EXPECT_EQ(asked.size(), 3U);
}

TEST_F(ProbeNetworks, AnotherServerDoesNotKnowHealth) {
  serve({});
  EXPECT_EQ(ask(door->port()).error().code, Code::BadRequest);
}

TEST_F(ProbeNetworks, HealthIsAskedInThePodsOwn) {
  const test::OwnNetwork own;
  if (!own.made()) {
    GTEST_SKIP() << "this process may not make a network namespace";
  }
  ASSERT_TRUE(bring_up_loopback(own.path()).has_value());
  rpc::Methods methods;
  methods.unary["/grpc.health.v1.Health/Check"] =
      [](const std::string&, const rpc::Respond& respond) { respond(std::string("\x08\x01")); };
  serve(std::move(methods));
  door.emplace(path("s"), net::tcp_socket_in(own.path(), AF_INET).value());
  const auto health = ask(door->port(), "", own.path());
  ASSERT_TRUE(health.has_value()) << health.error().message;
  EXPECT_EQ(*health, "SERVING");
  EXPECT_EQ(ask(door->port()).error().code, Code::Unavailable) << "not so from the machine's";
  EXPECT_EQ(ask(1, "", own.path()).error().code, Code::Unavailable) << "nobody listens there";
  EXPECT_EQ(ask(1, "", "/nowhere/net").error().code, Code::NotFound);
}

/// An HTTP server that answers one status to whoever connects to a listening socket.
class OneAnswer {
 public:
  explicit OneAnswer(int listener) : listener_(listener) {
    ::fcntl(listener_, F_SETFL, 0);
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof any;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&any), size), 0); // NOLINT
    EXPECT_EQ(::listen(listener_, 8), 0);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&any), &size); // NOLINT
    port_ = ntohs(any.sin_port);
    server_ = std::thread([this] {
      for (int fd = 0; (fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
        std::vector<char> bytes(4096);
        static_cast<void>(::read(fd, bytes.data(), bytes.size()));
        constexpr std::string_view kAnswer = "HTTP/1.1 204 No Content\r\n\r\n";
        static_cast<void>(::send(fd, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL));
        ::close(fd);
      }
    });
  }
  ~OneAnswer() {
    ::shutdown(listener_, SHUT_RDWR);
    server_.join();
    ::close(listener_);
  }
  OneAnswer(const OneAnswer&) = delete;
  OneAnswer& operator=(const OneAnswer&) = delete;
  std::uint16_t port() const { return port_; }

 private:
  int listener_;
  std::uint16_t port_ = 0;
  std::thread server_;
};

TEST_F(ProbeNetworks, HttpAndTcpGoThereToo) {
  const test::OwnNetwork own;
  if (!own.made()) {
    GTEST_SKIP() << "this process may not make a network namespace";
  }
  ASSERT_TRUE(bring_up_loopback(own.path()).has_value());
  const OneAnswer web(net::tcp_socket_in(own.path(), AF_INET).value());
  const auto get = [&](const std::string& network_namespace) {
    std::optional<Result<int>> got;
    network.get({.host = "127.0.0.1",
                 .port = web.port(),
                 .path = "/",
                 .headers = {},
                 .network_namespace = network_namespace},
                Duration::seconds(30), [&](Result<int> status) {
                  got = std::move(status);
                  loop.stop();
                });
    loop.run();
    return *std::move(got);
  };
  const auto connect = [&](const std::string& network_namespace) {
    std::optional<Result<void>> got;
    network.connect(
        {.host = "127.0.0.1", .port = web.port(), .network_namespace = network_namespace},
        Duration::seconds(30), [&](Result<void> made) {
          got = std::move(made);
          loop.stop();
        });
    loop.run();
    return *std::move(got);
  };
  const auto status = get(own.path());
  ASSERT_TRUE(status.has_value()) << status.error().message;
  EXPECT_EQ(*status, 204);
  EXPECT_TRUE(connect(own.path()).has_value());
  EXPECT_FALSE(get("").has_value()) << "nobody listens there on the machine's loopback";
  EXPECT_FALSE(connect("").has_value());
  EXPECT_FALSE(get("/nowhere/net").has_value());
}

TEST_F(ProbeNetworks, NobodyListens) {
  std::uint16_t port = 0;
  {
    const Door closed(path("none"));
    port = closed.port();
  }
  EXPECT_EQ(ask(port).error().code, Code::Unavailable);
}

} // namespace
} // namespace berth::node
