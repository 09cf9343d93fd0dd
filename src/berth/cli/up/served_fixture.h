// A lasting cluster in a process of its own, for tests that kill it and benchmarks that load it.
#pragma once

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "berth/cli/up/up_process.h"
#include "berth/net/http_client.h"

namespace berth::cli::test {

class ServedProcess {
 public:
  explicit ServedProcess(UpOptions options) : options_(std::move(options)) { options_.port = 0; }
  ~ServedProcess() { kill(); }
  ServedProcess(const ServedProcess&) = delete;
  ServedProcess& operator=(const ServedProcess&) = delete;

  /// Starts the process and waits until it answers; false: it does not within half a minute.
  bool start() {
    child_ = ::fork();
    if (child_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL); // never outlives the test
      const auto served = serve_cluster(
          options_, [] { return false; }, [](const UpReady&) {});
      std::fputs((to_string(served.error()) + "\n").c_str(), stderr);
      ::_exit(1);
    }
    for (int look = 0; child_ > 0 && look < 600; ++look) {
      const auto running = running_at(options_.home);
      if (running && running->pid == child_) {
        url_ = *net::HttpUrl::parse(running->url);
        return true;
      }
      ::poll(nullptr, 0, 50);
    }
    return false;
  }

  /// As a power cut would.
  void kill() {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
      child_ = 0;
    }
  }

  const net::HttpUrl& url() const { return url_; }
  pid_t pid() const { return child_; }

  /// The administrator's, who keeps that many connections.
  net::HttpClientOptions client_options(std::size_t connections) const {
    net::HttpClientOptions with{.idle_connections = connections};
    const auto pki = options_.home.pki();
    with.tls = *net::TlsContext::client({.ca = text_of(pki / "ca.crt"),
                                         .certificate = text_of(pki / "admin.crt"),
                                         .key = text_of(pki / "admin.key")});
    return with;
  }

 private:
  static std::string text_of(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  UpOptions options_;
  net::HttpUrl url_;
  pid_t child_ = 0;
};

} // namespace berth::cli::test
