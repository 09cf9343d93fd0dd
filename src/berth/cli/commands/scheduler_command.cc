// berth scheduler: a scheduler for a Kubernetes cluster, in kube-scheduler's place or beside it.
#include <fmt/format.h>

#include "berth/cli/cluster_access.h"
#include "berth/cli/commands/commands.h"
#include "berth/cli/listen_address.h"
#include "berth/cli/process_identity.h"
#include "berth/cli/run/interrupt.h"
#include "berth/cli/run/manifest_files.h"
#include "berth/cli/scheduler_process.h"
#include "berth/scheduler/scheduler_config.h"

namespace berth::cli {
namespace {

constexpr std::string_view kDefaultListen = "127.0.0.1:10259";

/// Of the file, if there is one, else Berth's own profile.
Result<sched::SchedulerConfig> configured(const Values& values, Terminal& terminal) {
  const std::string policy = values.get("--gpu-policy", "topology");
  const std::string path = values.get("--config");
  if (path.empty()) {
    return sched::SchedulerConfig{.profiles = {scheduler::berth_profile(policy)}};
  }
  BERTH_TRY(const std::string text, read_text(path));
  BERTH_TRY(sched::SchedulerConfig config, scheduler::read_process_config(text, path, policy));
  for (const sched::ConfigRemark& remark : config.remarks) {
    const std::string told = fmt::format("{}: {}", to_string(remark.where), remark.message);
    if (remark.severity == sched::ConfigRemark::Severity::Warning) {
      terminal.warn(told);
    } else {
      terminal.note(told);
    }
  }
  return config;
}

std::optional<client::ElectionOptions> election_of(const sched::SchedulerConfig& config,
                                                   const Values& values) {
  const sched::LeaderElection wanted = config.leader_election.value_or(sched::LeaderElection());
  const bool elect =
      values.has("--leader-elect") ? values.get("--leader-elect") == "true" : wanted.leader_elect;
  if (!elect) {
    return std::nullopt;
  }
  return client::ElectionOptions{.ns = wanted.resource_namespace,
                                 .name = wanted.resource_name,
                                 .identity = process_identity(),
                                 .lease_duration = wanted.lease_duration,
                                 .renew_deadline = wanted.renew_deadline,
                                 .retry_period = wanted.retry_period};
}

Result<SchedulerProcessOptions> process_options(const Values& values, Terminal& terminal) {
  BERTH_TRY(const sched::SchedulerConfig config, configured(values, terminal));
  BERTH_TRY(const ListenAddress listen,
            parse_listen_address(values.get("--listen", kDefaultListen), "--listen"));
  BERTH_TRY(client::ServerAccess access,
            cluster_access(values, config.client_connection ? config.client_connection->kubeconfig
                                                            : std::string()));
  return SchedulerProcessOptions{.access = std::move(access),
                                 .scheduler = scheduler::options_of(config),
                                 .election = election_of(config, values),
                                 .address = listen.address,
                                 .port = listen.port};
}

int run_it(const Invocation& invocation) {
  Terminal& terminal = invocation.terminal;
  const auto options = process_options(invocation.values, terminal);
  if (!options) {
    terminal.error(to_string(options.error()));
    return kFailed;
  }
  const InterruptWatch interrupts;
  const auto end = run_scheduler(*options, &InterruptWatch::interrupted,
                                 [&](const std::string& line) { terminal.note(line); });
  if (!end) {
    terminal.error(to_string(end.error()));
    return kFailed;
  }
  return *end == SchedulerEnd::Stopped ? kDone : kFailed;
}

std::vector<Flag> flags() {
  std::vector<Flag> all = {
      {.name = "--config",
       .value = "FILE",
       .help = "a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1)",
       .group = "CONFIGURATION",
       .offers = Offers::Files},
      {.name = "--leader-elect",
       .value = "BOOL",
       .help = "stand for the lead before scheduling; else as --config says, and true "
               "if it says nothing",
       .group = "CONFIGURATION",
       .choices = {"true", "false"},
       .offers = Offers::Choices},
      {.name = "--gpu-policy",
       .value = "POLICY",
       .help = "which GPUs of a node a pod gets, where --config does not say",
       .group = "CONFIGURATION",
       .fallback = "topology",
       .choices = {"topology", "binpack", "spread"},
       .offers = Offers::Choices},
      {.name = "--listen",
       .value = "ADDRESS:PORT",
       .help = "where /metrics, /healthz, /livez, /readyz and /debug/decisions are served",
       .group = "PROCESS",
       .fallback = kDefaultListen}};
  const std::vector<Flag> access = cluster_access_flags(
      "how to reach the cluster; else clientConnection.kubeconfig of --config, $KUBECONFIG, "
      "~/.kube/config, or the service account of the pod that this runs in");
  all.insert(all.end(), access.begin(), access.end());
  return all;
}

} // namespace

Command scheduler_command_table() {
  return {
      .name = "scheduler",
      .summary = "schedule the pods of a Kubernetes cluster",
      .synopsis = {"[--config FILE] [--kubeconfig FILE] [--api URL] [FLAGS]"},
      .description =
          {"Runs Berth's scheduler against the API of any Kubernetes cluster, in kube-scheduler's "
           "place or beside it: pods choose it by spec.schedulerName. Its configuration is a "
           "KubeSchedulerConfiguration as kube-scheduler --config takes it; without one there is "
           "Berth's own profile, for default-scheduler and berth-scheduler.",
           "Several processes may run: they elect a leader by a Lease, and one that loses the lead "
           "exits. An interrupt or SIGTERM gives the lead away and ends it."},
      .flags = flags(),
      .examples = {{"as it is configured elsewhere",
                    "scheduler --config scheduler.yaml --kubeconfig ~/.kube/config"},
                   {"one process alone, in a development cluster",
                    "scheduler --leader-elect false"}},
      .exit_codes = {{kDone, "it was told to stop"},
                     {kFailed, "it could not start, or lost the lead"},
                     {kUsage, "the command line is wrong"}},
      .run = &run_it};
}

} // namespace berth::cli
