// berth chaos gpu, node, plugin: break parts of a running cluster, and heal them.
#include <poll.h>

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/base/suggest.h"
#include "berth/cli/commands/commands.h"
#include "berth/cli/up/admin_api.h"
#include "berth/cluster/injected_fault.h"

namespace berth::cli {
namespace {

namespace json = api::json;
using cluster::InjectedFault;
using Type = InjectedFault::Type;

constexpr const char* kFaultsPath = "/apis/simulation.berth.dev/v1alpha1/faults";
constexpr int kLooksForOutcome = 50; // five seconds
constexpr std::size_t kNamed = 10;
constexpr int kDoubleBitEcc = 48;
constexpr int kOffTheBus = 79;

std::string name_of(const InjectedFault& fault) {
  switch (fault.type) {
  case Type::GpuXid:
  case Type::GpuLost:
    return fmt::format("{}-gpu-{}", fault.node, fault.gpu);
  case Type::NodeDown:
    return fault.node + "-down";
  case Type::NodeReboot:
    return fault.node + "-reboot";
  case Type::AgentCrash:
    return fault.node + "-agent";
  case Type::PluginCrash:
    return fault.node + "-plugin";
  }
  return fault.node;
}

json::object document_of(const InjectedFault& fault) {
  json::object spec{{"node", fault.node}, {"type", to_string(fault.type)}};
  if (fault.of_gpu()) {
    spec["gpu"] = fault.gpu;
  }
  if (fault.type == Type::GpuXid) {
    spec["xid"] = fault.xid;
  }
  return {{"apiVersion", "simulation.berth.dev/v1alpha1"},
          {"kind", "Fault"},
          {"metadata", json::object{{"name", name_of(fault)}}},
          {"spec", std::move(spec)}};
}

/// What a command does with a running cluster.
class Chaos {
 public:
  explicit Chaos(const Invocation& invocation) : terminal_(invocation.terminal) {}

  bool open() {
    const auto home = home_of(process_environment());
    auto api = home ? AdminApi::of(*home) : tl::unexpected(home.error());
    if (!api) {
      terminal_.error(api.error().message);
      return false;
    }
    api_.emplace(*std::move(api));
    return true;
  }

  /// The node is there; else says which are.
  bool know(const std::string& node) {
    const auto list = api_->get("/api/v1/nodes");
    if (!list) {
      terminal_.error(to_string(list.error()));
      return false;
    }
    std::vector<std::string> names;
    for (const json::value& one : items_of(*list)) {
      names.emplace_back(api::string_at(one, "metadata.name"));
    }
    if (std::ranges::find(names, node) != names.end()) {
      return true;
    }
    const std::vector<std::string_view> words(names.begin(), names.end());
    const std::string_view near = nearest(node, words);
    std::vector<std::string> first(
        names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kNamed)));
    terminal_.error(fmt::format(
        "there is no node \"{}\"{}; there {}", node,
        near.empty() ? "" : fmt::format(", did you mean \"{}\"?", near),
        names.empty()
            ? "are none"
            : fmt::format("are: {}{}", fmt::join(first, ", "),
                          names.size() > kNamed ? fmt::format(" and {} more", names.size() - kNamed)
                                                : "")));
    return false;
  }

  int make(const InjectedFault& fault) {
    const auto made = api_->create(kFaultsPath, document_of(fault));
    if (!made && made.error().code == Code::AlreadyExists) {
      terminal_.error(fmt::format("{} is broken already: {}", thing(fault),
                                  message_of(name_of(fault)).value_or("by another fault")),
                      heal_command(fault));
      return kFailed;
    }
    if (!made) {
      terminal_.error(to_string(made.error()));
      return kFailed;
    }
    return outcome(fault);
  }

  /// Everything of that kind on the node (and GPU) that holds.
  int heal(const std::string& what, const std::function<bool(const InjectedFault&)>& concerns) {
    const auto list = api_->get(kFaultsPath);
    if (!list) {
      terminal_.error(to_string(list.error()));
      return kFailed;
    }
    int healed = 0;
    for (const json::value& one : items_of(*list)) {
      const auto fault = cluster::read_injected_fault(one);
      if (!fault || !concerns(*fault)) {
        continue;
      }
      const std::string name(api::string_at(one, "metadata.name"));
      if (const auto gone = api_->remove(fmt::format("{}/{}", kFaultsPath, name));
          !gone && gone.error().code != Code::NotFound) {
        terminal_.error(to_string(gone.error()));
        return kFailed;
      }
      ++healed;
    }
    *terminal_.out.to << what << (healed == 0 ? " is not broken\n" : " is healed\n");
    return kDone;
  }

 private:
  static std::string thing(const InjectedFault& fault) {
    return fault.of_gpu() ? fmt::format("GPU {} of {}", fault.gpu, fault.node)
                          : fmt::format("node {}", fault.node);
  }
  static std::string heal_command(const InjectedFault& fault) {
    return fault.of_gpu() ? fmt::format("berth chaos gpu {} {} --heal", fault.node, fault.gpu)
           : fault.type == Type::NodeDown ? fmt::format("berth chaos node {} --up", fault.node)
                                          : "";
  }

  /// What the cluster says of the fault; nullopt while it says nothing, or if the fault is gone.
  std::optional<std::string> message_of(const std::string& name) {
    const auto found = api_->get(fmt::format("{}/{}", kFaultsPath, name));
    if (!found || api::find_path(*found, "status.phase") == nullptr) {
      return std::nullopt;
    }
    return std::string(api::string_at(*found, "status.message"));
  }

  int outcome(const InjectedFault& fault) {
    if (fault.passes()) {
      *terminal_.out.to << thing(fault)
                        << (fault.type == Type::NodeReboot   ? " reboots\n"
                            : fault.type == Type::AgentCrash ? ": its agent crashes\n"
                                                             : ": its device plugin crashes\n");
      return kDone;
    }
    const std::string name = name_of(fault);
    for (int look = 0; look < kLooksForOutcome; ++look) {
      const auto found = api_->get(fmt::format("{}/{}", kFaultsPath, name));
      const std::string_view phase = found ? api::string_at(*found, "status.phase") : "";
      const std::string_view message = found ? api::string_at(*found, "status.message") : "";
      if (phase == "Active") {
        *terminal_.out.to << message << "; heal it with " << heal_command(fault) << '\n';
        return kDone;
      }
      if (phase == "Refused") {
        (void)api_->remove(fmt::format("{}/{}", kFaultsPath, name));
        terminal_.error(std::string(message));
        return kFailed;
      }
      ::poll(nullptr, 0, 100);
    }
    terminal_.error(fmt::format("nothing makes fault {} true", name));
    return kFailed;
  }

  Terminal& terminal_;
  std::optional<AdminApi> api_;
};

std::optional<int> number_in(std::string_view text, int most) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 0 && number <= most
             ? std::optional(number)
             : std::nullopt;
}

/// The one of these switches that was given, `otherwise` if none was; nullopt, and told, for two.
std::optional<std::string> one_of(const Invocation& invocation,
                                  const std::vector<std::string>& flags,
                                  const std::string& otherwise) {
  std::vector<std::string> given;
  std::ranges::copy_if(flags, std::back_inserter(given),
                       [&](const std::string& flag) { return invocation.values.has(flag); });
  if (given.size() > 1 || (given.empty() && otherwise.empty())) {
    invocation.terminal.error(fmt::format("want one of {}", fmt::join(flags, ", ")));
    return std::nullopt;
  }
  return given.empty() ? otherwise : given.front();
}

int run_gpu(const Invocation& invocation) {
  const Values& values = invocation.values;
  const auto what = one_of(invocation, {"--xid", "--ecc", "--lost", "--heal"}, "--xid");
  if (!what) {
    return kUsage;
  }
  const auto index = number_in(values.arguments[1], 31);
  if (!index) {
    invocation.terminal.error(
        fmt::format("INDEX {}: want the index of a GPU, 0 to 31", values.arguments[1]));
    return kUsage;
  }
  const auto xid = number_in(values.get("--xid", fmt::to_string(kOffTheBus)), 999);
  if (!xid || *xid == 0) {
    invocation.terminal.error(
        fmt::format("--xid {}: want a number from 1 to 999", values.get("--xid")));
    return kUsage;
  }
  InjectedFault fault{.type = *what == "--lost" ? Type::GpuLost : Type::GpuXid,
                      .node = values.arguments[0],
                      .gpu = *index,
                      .xid = *what == "--ecc" ? kDoubleBitEcc : *xid};
  Chaos chaos(invocation);
  if (!chaos.open() || !chaos.know(fault.node)) {
    return kFailed;
  }
  if (*what == "--heal") {
    return chaos.heal(fmt::format("GPU {} of {}", fault.gpu, fault.node),
                      [&](const InjectedFault& other) {
                        return other.of_gpu() && other.node == fault.node && other.gpu == fault.gpu;
                      });
  }
  return chaos.make(fault);
}

int run_node(const Invocation& invocation) {
  const auto what = one_of(invocation, {"--down", "--up", "--reboot", "--crash-agent"}, "");
  if (!what) {
    return kUsage;
  }
  const std::string& node = invocation.values.arguments[0];
  Chaos chaos(invocation);
  if (!chaos.open() || !chaos.know(node)) {
    return kFailed;
  }
  if (*what == "--up") {
    return chaos.heal("node " + node, [&](const InjectedFault& other) {
      return other.node == node && (other.type == Type::NodeDown || other.type == Type::NodeReboot);
    });
  }
  return chaos.make({.type = *what == "--down"     ? Type::NodeDown
                             : *what == "--reboot" ? Type::NodeReboot
                                                   : Type::AgentCrash,
                     .node = node});
}

int run_plugin(const Invocation& invocation) {
  const std::string& node = invocation.values.arguments[0];
  Chaos chaos(invocation);
  if (!chaos.open() || !chaos.know(node)) {
    return kFailed;
  }
  return chaos.make({.type = Type::PluginCrash, .node = node});
}

const std::vector<ExitCode>& exit_codes() {
  static const std::vector<ExitCode> kCodes = {
      {kDone, "it is broken, or healed"},
      {kFailed, "no cluster is running, or there is no such node or GPU"},
      {kUsage, "the command line is wrong"}};
  return kCodes;
}

} // namespace

Command chaos_gpu_command_table() {
  return {
      .name = "chaos gpu",
      .summary = "break a GPU of a running cluster, or heal it",
      .synopsis = {"NODE INDEX [--xid N | --ecc | --lost | --heal]"},
      .description =
          {"The GPU's driver reports an error, by default Xid 79. The device plugin calls the GPU "
           "unhealthy, the node's allocatable GPUs fall, events tell it, and pods that have the "
           "GPU are treated as the kubelet does.",
           "A fault is an object of kind Fault: it holds until it is healed or its node reboots, "
           "over berth down and up too. kubectl get faults lists them."},
      .arguments = {{.name = "NODE", .help = "name of a node"},
                    {.name = "INDEX", .help = "index of the GPU on its node"}},
      .flags = {{.name = "--xid",
                 .value = "N",
                 .help = "the driver's error number; those of applications leave the GPU healthy",
                 .group = "FAULT",
                 .fallback = "79"},
                {.name = "--ecc", .help = "a double bit ECC error, Xid 48", .group = "FAULT"},
                {.name = "--lost",
                 .help = "it falls off the bus and is not found again by a reboot",
                 .group = "FAULT"},
                {.name = "--heal", .help = "it is as new", .group = "FAULT"}},
      .examples = {{"a GPU that has fallen off the bus", "chaos gpu dgx-h100-1 3"},
                   {"well again", "chaos gpu dgx-h100-1 3 --heal"}},
      .exit_codes = exit_codes(),
      .see_also = {"berth chaos node", "berth top gpus"},
      .run = &run_gpu};
}

Command chaos_node_command_table() {
  return {.name = "chaos node",
          .summary = "take a node of a running cluster down, or bring it up",
          .synopsis = {"NODE --down | --up | --reboot | --crash-agent"},
          .description =
              {"A node without power sends no heartbeats: it becomes NotReady after 40 seconds and "
               "its pods are evicted as Kubernetes does. Its containers end when the power goes."},
          .arguments = {{.name = "NODE", .help = "name of a node"}},
          .flags = {{.name = "--down", .help = "the machine has no power", .group = "FAULT"},
                    {.name = "--up", .help = "the machine boots again", .group = "FAULT"},
                    {.name = "--reboot",
                     .help = "down, and up again half a minute later",
                     .group = "FAULT"},
                    {.name = "--crash-agent",
                     .help = "the agent dies and is started again; containers go on",
                     .group = "FAULT"}},
          .examples = {{"a machine that is gone", "chaos node dgx-h100-1 --down"},
                       {"and back", "chaos node dgx-h100-1 --up"}},
          .exit_codes = exit_codes(),
          .see_also = {"berth chaos gpu"},
          .run = &run_node};
}

Command chaos_plugin_command_table() {
  return {.name = "chaos plugin",
          .summary = "crash the device plugin of a node of a running cluster",
          .synopsis = {"NODE"},
          .description = {"It is started again ten seconds later; until then the node has no "
                          "allocatable GPUs, and pods that have some keep them."},
          .arguments = {{.name = "NODE", .help = "name of a node"}},
          .examples = {{"see the node's GPUs go and come back", "chaos plugin dgx-h100-1"}},
          .exit_codes = exit_codes(),
          .see_also = {"berth chaos gpu"},
          .run = &run_plugin};
}

} // namespace berth::cli
