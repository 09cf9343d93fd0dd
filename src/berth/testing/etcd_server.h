// A real etcd of one member on loopback, for tests of what is kept there. A test that finds no etcd
// on the PATH says so and skips.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace berth::testing {

class EtcdServer {
 public:
  static bool at_hand() { return std::system("command -v etcd >/dev/null 2>&1") == 0; }

  /// Paths of PEM files. Clients have to show a certificate of the authority.
  struct Tls {
    std::string ca;
    std::string certificate;
    std::string key;
  };

  /// `name` tells the data of several apart.
  explicit EtcdServer(const std::string& name, const std::string& temp, Tls tls = {})
      : tls_(std::move(tls)), folder_(std::filesystem::path(temp) / ("etcd-" + name)),
        client_(free_port()), peer_(free_port()), health_(free_port()) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~EtcdServer() {
    kill();
    std::filesystem::remove_all(folder_);
  }
  EtcdServer(const EtcdServer&) = delete;
  EtcdServer& operator=(const EtcdServer&) = delete;

  std::string url() const {
    return fmt::format("http{}://127.0.0.1:{}", tls_.ca.empty() ? "" : "s", client_);
  }

  /// With the data that it had; false: it is not well within half a minute.
  bool start() {
    child_ = ::fork();
    if (child_ == 0) {
      run();
    }
    for (int look = 0; child_ > 0 && look < 600; ++look) {
      if (well()) {
        return true;
      }
      ::poll(nullptr, 0, 50);
    }
    return false;
  }

  void kill() {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
      child_ = 0;
    }
  }
  /// It keeps its connections and answers nothing.
  void freeze() const { ::kill(child_, SIGSTOP); }
  void thaw() const { ::kill(child_, SIGCONT); }

 private:
  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return at;
  }

  static std::uint16_t free_port() {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at = loopback(0);
    socklen_t size = sizeof at;
    (void)::bind(socket, reinterpret_cast<sockaddr*>(&at), size);
    (void)::getsockname(socket, reinterpret_cast<sockaddr*>(&at), &size);
    ::close(socket);
    return ntohs(at.sin_port);
  }

  [[noreturn]] void run() const {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL); // never outlives the test
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ::dup2(nowhere, STDOUT_FILENO);
    ::dup2(nowhere, STDERR_FILENO);
    const std::string peer = fmt::format("http://127.0.0.1:{}", peer_);
    std::vector<std::string> words{"etcd",
                                   "--data-dir",
                                   folder_.string(),
                                   "--listen-client-urls",
                                   url(),
                                   "--advertise-client-urls",
                                   url(),
                                   "--listen-metrics-urls",
                                   fmt::format("http://127.0.0.1:{}", health_),
                                   "--listen-peer-urls",
                                   peer,
                                   "--initial-advertise-peer-urls",
                                   peer,
                                   "--initial-cluster",
                                   "default=" + peer};
    if (!tls_.ca.empty()) {
      words.insert(words.end(), {"--client-cert-auth", "--trusted-ca-file", tls_.ca, "--cert-file",
                                 tls_.certificate, "--key-file", tls_.key});
    }
    std::vector<char*> pointers;
    for (std::string& word : words) {
      pointers.push_back(word.data());
    }
    pointers.push_back(nullptr);
    ::execvp("etcd", pointers.data());
    ::_exit(127);
  }

  bool well() const {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in at = loopback(health_);
    std::string answer(4096, '\0');
    ssize_t got = 0;
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0) {
      constexpr std::string_view kAsk = "GET /health HTTP/1.0\r\n\r\n";
      (void)::send(socket, kAsk.data(), kAsk.size(), MSG_NOSIGNAL);
      got = ::recv(socket, answer.data(), answer.size(), MSG_WAITALL);
    }
    ::close(socket);
    answer.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return answer.find("\"true\"") != std::string::npos;
  }

  Tls tls_;
  std::filesystem::path folder_;
  std::uint16_t client_;
  std::uint16_t peer_;
  std::uint16_t health_;
  pid_t child_ = 0;
};

} // namespace berth::testing
