#include "berth/node/probes/run_check.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace berth::node {
namespace {

using Kind = CheckResult::Kind;
constexpr std::size_t kMostOutput = std::size_t{10} * 1024;

struct Runner {
  const CheckPlace* place;
  const std::string* container_id;
  Duration timeout;
  std::function<void(CheckResult)> done;

  void operator()(const ExecCheck& check) {
    place->runtime->exec_sync(
        *container_id, check.command, timeout,
        [done = std::move(done), command = check.command,
         limit = timeout](const Result<runtime::ExecResult>& result) {
          if (!result && result.error().code == Code::Timeout) {
            done({Kind::Failure, fmt::format("command \"{}\" timed out after {}",
                                             fmt::join(command, " "), to_string(limit))});
          } else if (!result) {
            done({Kind::Errored, result.error().message});
          } else {
            const std::string output = (result->out + result->err).substr(0, kMostOutput);
            done({result->exit_code == 0 ? Kind::Success : Kind::Failure, output});
          }
        });
  }

  void operator()(const HttpCheck& check) {
    if (!reachable()) {
      return;
    }
    place->network->get(check, timeout, [done = std::move(done)](const Result<int>& status) {
      constexpr int kOk = 200;
      constexpr int kBad = 400;
      if (!status) {
        done({Kind::Failure, status.error().message});
      } else if (*status >= kOk && *status < kBad) {
        done({Kind::Success, ""});
      } else {
        done({Kind::Failure, fmt::format("HTTP probe failed with statuscode: {}", *status)});
      }
    });
  }

  void operator()(const TcpCheck& check) {
    if (!reachable()) {
      return;
    }
    place->network->connect(check, timeout, [done = std::move(done)](const Result<void>& made) {
      done({made ? Kind::Success : Kind::Failure, made ? "" : made.error().message});
    });
  }

  // Words are the kubelet's (pkg/probe/grpc).
  void operator()(const GrpcCheck& check) {
    if (!reachable()) {
      return;
    }
    place->network->ask_health(
        check, timeout,
        [done = std::move(done), address = check.address(),
         limit = timeout](const Result<std::string>& health) {
          if (health) {
            done({*health == "SERVING" ? Kind::Success : Kind::Failure,
                  *health == "SERVING"
                      ? "service healthy"
                      : fmt::format("service unhealthy (responded with \"{}\")", *health)});
            return;
          }
          const Error& error = health.error();
          done({Kind::Failure,
                error.code == Code::BadRequest
                    ? fmt::format("error: this server does not implement the grpc health protocol "
                                  "(grpc.health.v1.Health): {}",
                                  error.message)
                : error.code == Code::Timeout || error.code == Code::Unavailable
                    ? fmt::format("timeout: failed to connect service \"{}\" within {}: {}",
                                  address, to_string(limit), error.message)
                    : fmt::format("error: health rpc probe failed: {}", error.message)});
        });
  }

  void operator()(const SleepCheck& check) {
    place->loop->after(check.time, [done = std::move(done)] { done({Kind::Success, ""}); });
  }

  bool reachable() {
    if (!place->network) {
      later({Kind::Errored, "this node has no network of its own for probes; try exec"});
    }
    return place->network != nullptr;
  }

  void later(CheckResult result) {
    place->loop->post([done = std::move(done), result = std::move(result)] { done(result); });
  }
};

} // namespace

PodReach reach_of(const PodView& view, const std::string& host_ip) {
  if (!view.sandbox || view.sandbox->ip.empty()) {
    return {.ip = host_ip, .network_namespace = ""};
  }
  return {.ip = view.sandbox->ip, .network_namespace = view.sandbox->network_namespace};
}

void run_check(const CheckPlace& place, const std::string& container_id, const Check& check,
               Duration timeout, std::function<void(CheckResult)> done) {
  std::visit(Runner{&place, &container_id, timeout, std::move(done)}, check);
}

} // namespace berth::node
