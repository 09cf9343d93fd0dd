// berth status: is a cluster running, where, and how is it.
#include <sys/stat.h>

#include <fmt/format.h>

#include "berth/cli/commands/commands.h"
#include "berth/cli/up/admin_api.h"
#include "berth/cli/up/cluster_status.h"
#include "berth/cli/up/home.h"
#include "berth/net/asio_loop.h"

namespace berth::cli {
namespace {

/// Of the database and what is written beside it; none if there is no database.
std::optional<std::int64_t> size_of(const std::filesystem::path& database) {
  std::optional<std::int64_t> sum;
  for (const char* suffix : {"", "-wal"}) {
    std::error_code error;
    const auto size = std::filesystem::file_size(database.string() + suffix, error);
    if (!error) {
      sum = sum.value_or(0) + static_cast<std::int64_t>(size);
    }
  }
  return sum;
}

/// The file is written when the process is ready.
std::optional<Duration> age_of(const std::filesystem::path& file) {
  struct stat facts {};
  if (::stat(file.c_str(), &facts) != 0) {
    return std::nullopt;
  }
  return net::AsioLoop().now() - TimePoint::from_unix_seconds(facts.st_mtim.tv_sec);
}

Result<void> ask(const Home& home, ClusterStatus& status) {
  BERTH_TRY(AdminApi api, AdminApi::of(home));
  BERTH_TRY(const api::json::value nodes, api.get("/api/v1/nodes"));
  BERTH_TRY(const api::json::value pods, api.get("/api/v1/pods"));
  count_nodes(nodes, status);
  count_pods(pods, status);
  // berth apiserver has no GPUs to show.
  if (const auto gpus = api.get("/apis/metrics.berth.dev/v1alpha1/gpus")) {
    count_gpus(*gpus, status);
  }
  return {};
}

int run_status(const Invocation& invocation) {
  const auto home = home_of(process_environment());
  if (!home) {
    invocation.terminal.error(to_string(home.error()));
    return kFailed;
  }
  const bool as_json = invocation.values.get("--output") == "json";
  std::ostream& out = *invocation.terminal.out.to;
  const auto running = running_at(*home);
  if (!running) {
    if (as_json) {
      out << "{\"running\":false}\n";
    } else {
      out << "no cluster is running at " << home->folder.string() << "; try berth up\n";
    }
    return kFailed;
  }
  ClusterStatus status{.url = running->url,
                       .pid = running->pid,
                       .uptime = age_of(home->lock()),
                       .kubeconfig = home->kubeconfig().string(),
                       .data = home->data().string(),
                       .log = home->log().string(),
                       .store_bytes = size_of(home->database()),
                       .problem = {},
                       .pods = {},
                       .pending = {}};
  const auto asked = ask(*home, status);
  status.answers = asked.has_value();
  status.problem = asked ? "" : to_string(asked.error());
  if (as_json) {
    api::json::object document = to_document(status);
    document["running"] = true;
    out << api::to_json(api::json::value(std::move(document))) << '\n';
  } else {
    out << to_text(status);
  }
  return asked ? kDone : kFailed;
}

} // namespace

Command status_command_table() {
  return {
      .name = "status",
      .summary = "say whether a cluster is running, where, and how it is",
      .synopsis = {"[-o json]"},
      .description = {"Shows where the API answers, which process serves it and for how long, "
                      "nodes, GPUs, pods by phase, and why pods are Pending."},
      .flags = {{.name = "--output",
                 .letter = 'o',
                 .value = "FORMAT",
                 .help = "JSON for programs",
                 .group = "OUTPUT",
                 .choices = {"json"},
                 .offers = Offers::Choices}},
      .exit_codes = {{kDone, "a cluster is running"}, {kFailed, "none is, or it does not answer"}},
      .run = &run_status};
}

} // namespace berth::cli
