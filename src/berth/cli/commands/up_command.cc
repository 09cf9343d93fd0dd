// berth up, down, apiserver: a lasting cluster on this machine.
#include <poll.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "berth/base/log_format.h"
#include "berth/cli/commands/commands.h"
#include "berth/cli/listen_address.h"
#include "berth/cli/platform_files.h"
#include "berth/cli/run/interrupt.h"
#include "berth/cli/run/manifest_files.h"
#include "berth/cli/up/detach.h"
#include "berth/cli/up/etcd_flags.h"
#include "berth/cli/up/home.h"
#include "berth/cli/up/up_process.h"
#include "berth/report/text.h"

namespace berth::cli {
namespace {

constexpr int kMostPort = 65'535;
constexpr int kPatienceTenths = 300; // half a minute for a process to end

std::string shown(const std::filesystem::path& path) {
  const auto home = process_environment()("HOME");
  const std::string text = path.string();
  return home && !home->empty() && text.starts_with(*home + "/") ? "~" + text.substr(home->size())
                                                                 : text;
}

Result<std::uint16_t> port_of(const Values& values) {
  const std::string text = values.get("--port", "6443");
  int port = 0;
  const bool digits = !text.empty() && text.size() <= 5 &&
                      text.find_first_not_of("0123456789") == std::string::npos;
  if (digits) {
    port = std::stoi(text);
  }
  if (!digits || port > kMostPort) {
    return fail(Code::BadRequest, fmt::format("--port {}: want a number up to 65535", text));
  }
  return static_cast<std::uint16_t>(port);
}

/// "dgx-h100:4" lines of the nodes that a home's cluster has.
std::vector<std::string> kept_nodes(const Home& home) {
  std::ifstream in(home.nodes());
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) {
      lines.push_back(line);
    }
  }
  return lines;
}

/// Those of the command line, which are then kept; else those that were kept.
Result<void> read_node_groups(const Home& home, const Values& values, cluster::ClusterSpec& spec) {
  std::vector<std::string> texts = values.all("--nodes");
  if (texts.empty()) {
    texts = kept_nodes(home);
  } else {
    BERTH_CHECK(make_folders(home));
    std::string lines;
    for (const std::string& text : texts) {
      lines += with_absolute_path(text) + "\n";
    }
    BERTH_CHECK(write_private(home.nodes(), lines));
  }
  for (const std::string& text : texts) {
    BERTH_TRY(cluster::NodeGroup group, read_node_group(text, spec.catalogue));
    spec.groups.push_back(std::move(group));
  }
  return {};
}

Result<UpOptions> up_options(const Values& values, bool api_alone) {
  BERTH_TRY(const Home home, home_of(process_environment()));
  UpOptions options{.home = home, .api_alone = api_alone};
  options.address = values.get("--address", "127.0.0.1");
  BERTH_TRY(options.port, port_of(values));
  options.in_memory = values.get("--store", "sqlite") == "memory";
  BERTH_TRY(options.etcd, etcd_options(values));
  options.audit_log = values.get("--audit-log");
  if (const std::string path = values.get("--token-auth-file"); !path.empty()) {
    BERTH_TRY(const std::string text, read_text(path));
    BERTH_TRY(options.tokens, server::StaticTokens::parse(text, path));
  }
  if (api_alone) {
    return options;
  }
  BERTH_CHECK(read_node_groups(home, values, options.spec));
  BERTH_CHECK(cluster::validate(options.spec));
  options.cluster.default_run_for = Duration::max();
  if (const std::string text = values.get("--default-run-for", "forever"); text != "forever") {
    auto duration = parse_duration(text);
    if (!duration) {
      return fail(Code::BadRequest,
                  fmt::format("--default-run-for {}: {}", text, duration.error().message));
    }
    options.cluster.default_run_for = *duration;
  }
  if (values.get("--runtime", "simulated") == "containerd") {
    if (options.etcd) {
      return fail(Code::BadRequest, "--runtime containerd: not with --store etcd, whose leader "
                                    "changes; run berth agent on each machine");
    }
    BERTH_TRY(options.machine, machine_choice(values));
  }
  return options;
}

std::string ready_line(const UpOptions& options, const UpReady& ready) {
  std::string line = fmt::format("API {} ready in {:.1f}s   kubeconfig {}", ready.url,
                                 ready.seconds, shown(options.home.kubeconfig()));
  if (!options.api_alone) {
    line += fmt::format("   {} {}, {} {}", ready.nodes, ready.nodes == 1 ? "node" : "nodes",
                        ready.gpus, ready.gpus == 1 ? "GPU" : "GPUs");
  }
  if (options.etcd) {
    return line + fmt::format("   data etcd {}", options.etcd->prefix);
  }
  return line + (options.in_memory ? "   nothing is kept"
                                   : fmt::format("   data {}", shown(options.home.data())));
}

int serve_here(const UpOptions& options, Terminal& terminal) {
  const InterruptWatch interrupts;
  const auto served =
      serve_cluster(options, &InterruptWatch::interrupted, [&](const UpReady& ready) {
        *terminal.out.to << ready_line(options, ready) << std::endl; // told at once, whoever reads
      });
  if (!served) {
    terminal.error(to_string(served.error()));
    return kFailed;
  }
  return kDone;
}

int serve_behind(const UpOptions& options, Terminal& terminal) {
  if (auto made = make_folders(options.home); !made) {
    terminal.error(to_string(made.error()));
    return kFailed;
  }
  const auto said = run_detached(options.home.log(), [&](const Announce& announce) {
    const InterruptWatch interrupts;
    bool announced = false;
    const auto served =
        serve_cluster(options, &InterruptWatch::interrupted, [&](const UpReady& ready) {
          announced = true;
          announce(ready_line(options, ready));
        });
    if (!served && !announced) {
      announce(tl::unexpected(served.error()));
    }
    return served ? kDone : kFailed;
  });
  if (!said) {
    terminal.error(said.error().message);
    return kFailed;
  }
  *terminal.out.to << *said << '\n';
  return kDone;
}

void set_format(const Values& values) {
  set_log_format(values.get("--log-format", "text") == "json" ? LogFormat::Json : LogFormat::Text);
}

int run_up(const Invocation& invocation) {
  set_format(invocation.values);
  const auto options = up_options(invocation.values, false);
  if (!options) {
    invocation.terminal.error(to_string(options.error()));
    return kUsage;
  }
  return invocation.values.has("--foreground") ? serve_here(*options, invocation.terminal)
                                               : serve_behind(*options, invocation.terminal);
}

int run_apiserver(const Invocation& invocation) {
  set_format(invocation.values);
  const auto options = up_options(invocation.values, true);
  if (!options) {
    invocation.terminal.error(to_string(options.error()));
    return kUsage;
  }
  return serve_here(*options, invocation.terminal);
}

int run_down(const Invocation& invocation) {
  const auto home = home_of(process_environment());
  if (!home) {
    invocation.terminal.error(to_string(home.error()));
    return kFailed;
  }
  const auto running = running_at(*home);
  if (!running) {
    *invocation.terminal.out.to << "no cluster is running at " << shown(home->folder) << '\n';
    return kDone;
  }
  if (running->pid <= 0 || ::kill(running->pid, SIGTERM) != 0) {
    invocation.terminal.error(fmt::format("process {} cannot be told to stop", running->pid));
    return kFailed;
  }
  for (int tenth = 0; tenth < kPatienceTenths; ++tenth) {
    if (!running_at(*home)) {
      *invocation.terminal.out.to << "stopped " << running->url << "; its data stays in "
                                  << shown(home->data()) << '\n';
      return kDone;
    }
    ::poll(nullptr, 0, 100);
  }
  invocation.terminal.error(
      fmt::format("process {} does not stop; see {}", running->pid, shown(home->log())));
  return kFailed;
}

std::vector<Flag> server_flags() {
  std::vector<Flag> flags = {
      {.name = "--port",
       .value = "PORT",
       .help = "where the API is served; 0 for any port that is free",
       .group = "API",
       .fallback = "6443"},
      {.name = "--address",
       .value = "IP",
       .help = "the address to listen on; others than loopback reach every machine of the "
               "network",
       .group = "API",
       .fallback = "127.0.0.1"},
      {.name = "--store",
       .value = "STORE",
       .help = "where objects are kept: a SQLite file that outlives the process, its memory, or "
               "etcd, which several processes may share",
       .group = "API",
       .fallback = "sqlite",
       .choices = {"sqlite", "memory", "etcd"},
       .offers = Offers::Choices},
      {.name = "--token-auth-file",
       .value = "FILE",
       .help = "bearer tokens: lines of token,user,uid,\"group1,group2\" (docs/access.md)",
       .group = "API",
       .offers = Offers::Files},
      {.name = "--log-format",
       .value = "FORMAT",
       .help = "of the log: lines for people, or JSON for programs; -v adds a line for each "
               "request",
       .group = "API",
       .fallback = "text",
       .choices = {"text", "json"},
       .offers = Offers::Choices},
      {.name = "--audit-log",
       .value = "FILE",
       .help = "write a line of JSON for each request to it",
       .group = "API",
       .offers = Offers::Files}};
  for (Flag& flag : etcd_flags()) {
    flags.push_back(std::move(flag));
  }
  return flags;
}

std::vector<Flag> up_flags() {
  std::vector<Flag> flags = {
      {.name = "--nodes",
       .value = "PLATFORM:COUNT",
       .help = "simulated nodes of a platform (berth hardware list) or of a platform file "
               "(mine.yaml:COUNT, berth hardware import); without any, those that the "
               "cluster had before",
       .group = "CLUSTER",
       .times = Flag::Times::Many,
       .offers = Offers::NodeGroups},
      {.name = "--default-run-for",
       .value = "DURATION",
       .help = "how long containers run that carry no annotation berth.dev/run-for, or forever",
       .group = "CLUSTER",
       .fallback = "forever"},
      {.name = "--runtime",
       .value = "RUNTIME",
       .help = "containerd: this machine is a node too and runs real containers, as root; the "
               "flags of NODE and RUNTIME are for it (berth agent adds more machines)",
       .group = "CLUSTER",
       .fallback = "simulated",
       .choices = {"simulated", "containerd"},
       .offers = Offers::Choices},
      {.name = "--foreground",
       .help = "stay in this terminal until interrupted",
       .group = "PROCESS"}};
  for (Flag& flag : server_flags()) {
    flags.push_back(std::move(flag));
  }
  for (Flag& flag : machine_flags()) {
    flags.push_back(std::move(flag));
  }
  return flags;
}

} // namespace

Command up_command_table() {
  return {
      .name = "up",
      .summary = "start a cluster that kubectl, helm and client libraries can use",
      .synopsis = {"[--nodes PLATFORM:COUNT]... [FLAGS]"},
      .description =
          {"Serves the Kubernetes API on this machine, with controllers, Berth's scheduler and "
           "simulated GPU nodes behind it, and goes on in the background until berth down. "
           "Needs neither root, nor GPUs, nor containers.",
           "Certificates, data and log are kept in ~/.berth, or in $BERTH_HOME; what was "
           "created is still there after down and up.",
           "With --store etcd several processes, each with a home of its own, serve one cluster; "
           "one of them leads and runs controllers, scheduler and nodes, until it falls silent "
           "and another takes over. Give all of them the same --nodes."},
      .flags = up_flags(),
      .examples = {{"six GPU nodes", "up --nodes dgx-h100:4 --nodes l40s-pcie-8:2"},
                   {"the same cluster again", "up"},
                   {"one node with real containers and simulated GPUs",
                    "up --runtime containerd --platform dgx-h100"}},
      .exit_codes = {{kDone, "the API is ready"},
                     {kFailed, "it could not start"},
                     {kUsage, "the command line is wrong"}},
      .run = &run_up};
}

Command down_command_table() {
  return {.name = "down",
          .summary = "stop the cluster that berth up started",
          .synopsis = {""},
          .description = {"Its objects stay; berth up brings them back."},
          .exit_codes = {{kDone, "no cluster is running any more"}, {kFailed, "it does not stop"}},
          .run = &run_down};
}

Command apiserver_command_table() {
  return {.name = "apiserver",
          .summary = "serve the Kubernetes API alone, in the foreground",
          .synopsis = {"[FLAGS]"},
          .description = {"The API of berth up without controllers, scheduler and nodes: for "
                          "schedulers and agents that run elsewhere, and for tests."},
          .flags = server_flags(),
          .exit_codes = {{kDone, "it was told to stop"},
                         {kFailed, "it could not start"},
                         {kUsage, "the command line is wrong"}},
          .run = &run_apiserver};
}

} // namespace berth::cli
