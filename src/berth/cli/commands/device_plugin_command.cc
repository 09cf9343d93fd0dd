// berth device-plugin: the GPUs of this machine, or of a simulated one, given to a kubelet.
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/cdi/registry.h"
#include "berth/cli/commands/commands.h"
#include "berth/cli/local_gpus.h"
#include "berth/cli/platform_files.h"
#include "berth/cli/run/interrupt.h"
#include "berth/deviceplugin/gpu_plugin.h"
#include "berth/deviceplugin/wire/kubelet_directory.h"
#include "berth/inventory/simulated_inventory.h"
#include "berth/net/asio_loop.h"
#include "berth/node/checkpoint_store.h"
#include "berth/node/plugin_endpoints.h"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCdiDirectory = "/var/run/cdi";
constexpr Duration kLook = Duration::millis(100); ///< between looks for an interrupt

struct Options {
  std::shared_ptr<const hardware::Platform> platform; ///< nullptr: this machine
  std::string node;
  std::string kubelet_dir;
  std::string cdi_dir;
  bool fail_on_init_error = true;
  deviceplugin::GpuPluginOptions plugin;
};

/// The number that the kernel gave to a driver's character devices; NotFound without the driver.
Result<std::int64_t> device_major(std::string_view driver) {
  std::ifstream in("/proc/devices");
  std::int64_t major = 0;
  std::string name;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    if (words >> major >> name && name == driver) {
      return major;
    }
  }
  return fail(Code::NotFound, fmt::format("/proc/devices has no {}", driver));
}

hardware::ChoicePolicy policy_of(std::string_view text) {
  using hardware::ChoicePolicy;
  return text == "binpack"  ? ChoicePolicy::Binpack
         : text == "spread" ? ChoicePolicy::Spread
                            : ChoicePolicy::Topology;
}

Result<Options> options_of(const Values& values) {
  std::shared_ptr<const hardware::Platform> platform;
  if (values.has("--platform")) {
    BERTH_TRY(platform, find_platform(values.get("--platform")));
  }
  Options options{.platform = platform,
                  .node = values.get("--node", platform ? platform->name + "-1" : ""),
                  .kubelet_dir = values.get("--kubelet-dir", deviceplugin::kKubeletRoot),
                  .cdi_dir = values.get("--cdi-dir", kCdiDirectory),
                  .fail_on_init_error = values.get("--fail-on-init-error", "true") == "true",
                  .plugin = {.resource_name = values.get("--resource-name", "nvidia.com/gpu")}};
  if (!node::is_extended_resource(options.plugin.resource_name)) {
    return fail(Code::BadRequest,
                fmt::format("--resource-name: want a name such as nvidia.com/gpu, got \"{}\"",
                            options.plugin.resource_name));
  }
  options.plugin.policy = policy_of(values.get("--gpu-policy", "topology"));
  if (const auto uvm = device_major("nvidia-uvm")) {
    options.plugin.uvm_major = *uvm;
  }
  std::error_code error;
  if (!fs::is_directory(options.kubelet_dir, error)) {
    return fail(Code::NotFound, fmt::format("--kubelet-dir: no directory {}; is there a kubelet on "
                                            "this machine?",
                                            options.kubelet_dir));
  }
  return options;
}

/// The plugin, and what it stands on, in order.
class Process {
 public:
  Process(Options options, Terminal& terminal)
      : options_(std::move(options)), terminal_(&terminal),
        socket_(loop_,
                {.directory = deviceplugin::device_plugins_directory(options_.kubelet_dir)}) {}

  Result<void> run() {
    if (const auto found = open_inventory(); !found) {
      if (options_.fail_on_init_error) {
        return tl::unexpected(found.error());
      }
      terminal_->warn(fmt::format("{}; nothing is advertised", found.error().message));
    } else {
      plugin_ = std::make_unique<deviceplugin::GpuPlugin>(loop_, *inventory_, cdi_, socket_,
                                                          options_.plugin);
      BERTH_CHECK(write_cdi_specs());
      terminal_->note(fmt::format("{} GPUs as {}; kubelet: {}", inventory_->gpus().size(),
                                  options_.plugin.resource_name, options_.kubelet_dir));
    }
    const InterruptWatch interrupts;
    while (!InterruptWatch::interrupted()) {
      loop_.run_for(kLook);
    }
    return {};
  }

 private:
  Result<void> open_inventory() {
    if (options_.platform) {
      inventory_ =
          std::make_unique<inventory::SimulatedInventory>(loop_, *options_.platform, options_.node);
    } else {
      BERTH_TRY(inventory_, open_local_gpus(process_environment(), [this](Task task) {
                  loop_.post_from_any_thread(std::move(task));
                }));
    }
    return inventory_->gpus().empty()
               ? fail(Code::NotFound, "the driver knows of no GPU on this machine")
               : Result<void>();
  }

  /// What runtimes read: the plugin's specs as files, each replaced whole.
  Result<void> write_cdi_specs() const {
    std::error_code error;
    fs::create_directories(options_.cdi_dir, error);
    if (error) {
      return fail(Code::Unavailable, fmt::format("--cdi-dir: {} cannot be made: {}",
                                                 options_.cdi_dir, error.message()));
    }
    std::set<const cdi::Spec*> written;
    for (const std::string& name : cdi_.names()) {
      const cdi::Spec* spec = cdi_.find(name).spec;
      if (!written.insert(spec).second) {
        continue;
      }
      std::string file = spec->kind + ".json";
      file.replace(file.find('/'), 1, "-");
      BERTH_CHECK(node::FileCheckpointStore(options_.cdi_dir + "/" + file)
                      .write(api::to_json(cdi::to_json(*spec))));
    }
    return {};
  }

  Options options_;
  Terminal* terminal_;
  net::AsioLoop loop_;
  std::unique_ptr<inventory::Inventory> inventory_;
  cdi::Registry cdi_;
  deviceplugin::KubeletDirectory socket_;
  std::unique_ptr<deviceplugin::GpuPlugin> plugin_;
};

int run_it(const Invocation& invocation) {
  Terminal& terminal = invocation.terminal;
  auto options = options_of(invocation.values);
  if (!options) {
    terminal.error(to_string(options.error()));
    return options.error().code == Code::BadRequest ? kUsage : kFailed;
  }
  const bool simulated = options->platform != nullptr;
  Process process(*std::move(options), terminal);
  if (const auto end = process.run(); !end) {
    const bool no_driver = end.error().code == Code::NotFound && !simulated;
    terminal.error(to_string(end.error()),
                   no_driver ? terminal.program + " device-plugin --platform dgx-h100" : "");
    return kFailed;
  }
  return kDone;
}

} // namespace

Command device_plugin_command_table() {
  return {
      .name = "device-plugin",
      .summary = "give this machine's GPUs to its kubelet",
      .synopsis = {"[--platform PLATFORM] [FLAGS]"},
      .description =
          {"Runs the GPU device plugin beside a kubelet, Kubernetes' own or berth's, in the place "
           "of NVIDIA's: same resource name, device ids, environment and CDI names. It registers "
           "whenever the kubelet starts, tells it at once of GPUs that fail, and of those that are "
           "well again. An interrupt or SIGTERM ends it.",
           "With --platform the GPUs are simulated, so that schedulers and monitoring can be tried "
           "against a real kubelet without any."},
      .flags = {{.name = "--platform",
                 .value = "PLATFORM",
                 .help = "a simulated machine: a name of berth hardware list, or a platform file. "
                         "Without it, this machine",
                 .group = "WHAT",
                 .offers = Offers::Platforms},
                {.name = "--node",
                 .value = "NAME",
                 .help =
                     "the simulated node's name, which its GPUs' UUIDs follow from. Without it, "
                     "PLATFORM-1",
                 .group = "WHAT"},
                {.name = "--resource-name",
                 .value = "NAME",
                 .help = "what pods ask for",
                 .group = "WHAT",
                 .fallback = "nvidia.com/gpu"},
                {.name = "--gpu-policy",
                 .value = "POLICY",
                 .help = "which GPUs the kubelet is advised to give together",
                 .group = "WHAT",
                 .fallback = "topology",
                 .choices = {"topology", "binpack", "spread"},
                 .offers = Offers::Choices},
                {.name = "--fail-on-init-error",
                 .value = "BOOL",
                 .help =
                     "end with an error where no GPU is found; else stay, and advertise nothing",
                 .group = "PROCESS",
                 .fallback = "true",
                 .choices = {"true", "false"},
                 .offers = Offers::Choices},
                {.name = "--kubelet-dir",
                 .value = "DIR",
                 .help = "the kubelet's root directory: its plugins' sockets are in "
                         "DIR/device-plugins",
                 .group = "PROCESS",
                 .fallback = deviceplugin::kKubeletRoot,
                 .offers = Offers::Directories},
                {.name = "--cdi-dir",
                 .value = "DIR",
                 .help = "where the CDI spec is written that containers get their devices by",
                 .group = "PROCESS",
                 .fallback = kCdiDirectory,
                 .offers = Offers::Directories}},
      .examples = {{"the GPUs of this machine", "device-plugin"},
                   {"eight simulated H100 for a kubelet under /tmp/kubelet",
                    "device-plugin --platform dgx-h100 --kubelet-dir /tmp/kubelet --cdi-dir "
                    "/tmp/cdi"}},
      .exit_codes = {{kDone, "it was told to stop"},
                     {kFailed,
                      "no GPU was found here, no such platform, or a directory is not there "
                      "or cannot be written"},
                     {kUsage, "the command line is wrong"}},
      .see_also = {"berth hardware", "berth labels"},
      .run = &run_it};
}

} // namespace berth::cli
