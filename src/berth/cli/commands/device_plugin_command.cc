// berth device-plugin: the GPUs of this machine, or of a simulated one, given to a kubelet.
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "berth/cdi/spec_store.h"
#include "berth/cli/commands/commands.h"
#include "berth/cli/local_gpus.h"
#include "berth/cli/platform_files.h"
#include "berth/cli/run/interrupt.h"
#include "berth/cli/run/manifest_files.h"
#include "berth/deviceplugin/config/settings.h"
#include "berth/deviceplugin/host_driver.h"
#include "berth/deviceplugin/mps/command_runner.h"
#include "berth/deviceplugin/plugin_set.h"
#include "berth/deviceplugin/registration_notice.h"
#include "berth/deviceplugin/wire/kubelet_directory.h"
#include "berth/inventory/simulated_inventory.h"
#include "berth/net/asio_background.h"
#include "berth/net/asio_loop.h"

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
  hardware::ChoicePolicy policy = hardware::ChoicePolicy::Topology;
  deviceplugin::Config config;
};

hardware::ChoicePolicy policy_of(std::string_view text) {
  using hardware::ChoicePolicy;
  return text == "binpack"  ? ChoicePolicy::Binpack
         : text == "spread" ? ChoicePolicy::Spread
                            : ChoicePolicy::Topology;
}

/// NVIDIA's configuration: flags, environment, file.
Result<deviceplugin::Config> config_of(const Values& values) {
  deviceplugin::ConfigSources sources{.environment = [](std::string_view name) {
    return process_environment()(std::string(name).c_str());
  }};
  for (const deviceplugin::SettingName& setting : deviceplugin::setting_names()) {
    if (values.has(setting.flag)) {
      sources.flags.emplace(setting.flag, values.all(setting.flag));
    }
  }
  if (values.has("--config")) {
    sources.flags["--config-file"] = {values.get("--config")};
  }
  if (const std::string path = deviceplugin::config_file_name(sources); !path.empty()) {
    BERTH_TRY(sources.file_text, read_text(path));
    sources.file_name = path;
  }
  return deviceplugin::make_config(sources);
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
                  .policy = policy_of(values.get("--gpu-policy", "topology"))};
  BERTH_TRY(options.config, config_of(values));
  std::error_code error;
  if (!fs::is_directory(options.kubelet_dir, error)) {
    return fail(Code::NotFound, fmt::format("--kubelet-dir: no directory {}; is there a kubelet on "
                                            "this machine?",
                                            options.kubelet_dir));
  }
  return options;
}

/// The plugins, and what they stand on, in order.
class Process {
 public:
  Process(Options options, Terminal& terminal)
      : options_(std::move(options)), terminal_(&terminal),
        plugins_dir_(deviceplugin::device_plugins_directory(options_.kubelet_dir)),
        socket_(loop_, {.directory = plugins_dir_}),
        notice_(
            loop_, plugins_dir_, [this](const std::string& line) { terminal_->note(line); },
            [this](const std::string& line) { terminal_->warn(line); }),
        specs_(options_.cdi_dir), programs_(net::make_background(loop_)), commands_(*programs_) {}

  Result<void> run() {
    if (const auto found = open_inventory(); !found) {
      if (options_.config.flags.fail_on_init_error) {
        return tl::unexpected(found.error());
      }
      for (const std::string& remark : options_.config.remarks) {
        terminal_->warn(remark); // else the plugins log them
      }
      terminal_->warn(fmt::format("{}; nothing is advertised", found.error().message));
    } else {
      BERTH_CHECK(start());
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

  /// Plugins would try again and again to write their specs there.
  Result<void> check_cdi_directory() const {
    std::error_code failed;
    fs::create_directories(options_.cdi_dir, failed);
    if (!failed && ::access(options_.cdi_dir.c_str(), W_OK) != 0) {
      failed = std::error_code(errno, std::generic_category());
    }
    return failed ? fail(Code::Unavailable, fmt::format("--cdi-dir: no CDI spec can be written to "
                                                        "{}: {}",
                                                        options_.cdi_dir, failed.message()))
                  : Result<void>();
  }

  Result<void> start() {
    if (options_.config.flags.plugin.device_list_strategies.any_cdi()) {
      BERTH_CHECK(check_cdi_directory());
    }
    const deviceplugin::Flags& flags = options_.config.flags;
    BERTH_TRY(deviceplugin::DriverNodes nodes,
              deviceplugin::host_driver_nodes({.root = flags.nvidia_dev_root.empty()
                                                           ? flags.nvidia_driver_root
                                                           : flags.nvidia_dev_root,
                                               .imex = options_.config.imex,
                                               .driver_version = inventory_->survey().driver}));
    plugins_ = std::make_unique<deviceplugin::PluginSet>(
        deviceplugin::PluginPlace{.loop = &loop_,
                                  .inventory = inventory_.get(),
                                  .specs = &specs_,
                                  .socket = &socket_,
                                  .commands = &commands_},
        deviceplugin::PluginOptions{
            .config = options_.config,
            .nodes = std::move(nodes),
            .policy = options_.policy,
            .on_registered = [this](const std::string& name) { notice_.registered(name); }});
    terminal_->note(fmt::format("{}; kubelet: {}",
                                advertised_text(*plugins_, inventory_->gpus().size()),
                                options_.kubelet_dir));
    std::error_code unknown;
    notice_.begin([this] { return plugins_->resources(); },
                  fs::exists(plugins_dir_ + "/kubelet.sock", unknown));
    return {};
  }

  Options options_;
  Terminal* terminal_;
  net::AsioLoop loop_;
  std::unique_ptr<inventory::Inventory> inventory_;
  std::string plugins_dir_; ///< where kubelet.sock is
  deviceplugin::KubeletDirectory socket_;
  deviceplugin::RegistrationNotice notice_;
  cdi::DirectoryStore specs_;
  std::unique_ptr<Background> programs_;
  deviceplugin::ProcessRunner commands_;
  std::unique_ptr<deviceplugin::PluginSet> plugins_;
};

int run_it(const Invocation& invocation) {
  Terminal& terminal = invocation.terminal;
  auto options = options_of(invocation.values);
  if (!options) {
    terminal.error(to_string(options.error()));
    return options.error().code == Code::NotFound ? kFailed : kUsage;
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

std::vector<Flag> flags() {
  std::vector<Flag> all = {
      {.name = "--platform",
       .value = "PLATFORM",
       .help = "a simulated machine: a name of berth hardware list, or a platform file. "
               "Without it, this machine",
       .group = "WHAT",
       .offers = Offers::Platforms},
      {.name = "--node",
       .value = "NAME",
       .help = "the simulated node's name, which its GPUs' UUIDs follow from. Without it, "
               "PLATFORM-1",
       .group = "WHAT"},
      {.name = "--gpu-policy",
       .value = "POLICY",
       .help = "which GPUs the kubelet is advised to give together",
       .group = "WHAT",
       .fallback = "topology",
       .choices = {"topology", "binpack", "spread"},
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
       .offers = Offers::Directories}};
  all.push_back({.name = "--config",
                 .value = "FILE",
                 .help = "a configuration file of NVIDIA's device plugin (version v1)",
                 .group = "CONFIGURATION",
                 .offers = Offers::Files});
  for (const deviceplugin::SettingName& setting : deviceplugin::setting_names()) {
    all.push_back({.name = setting.flag,
                   .value = setting.value,
                   .help = setting.help,
                   .group = "CONFIGURATION",
                   .times = Flag::Times::Many});
  }
  return all;
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
           "well again. It says when a kubelet has taken a resource, and warns if none has after "
           "ten "
           "seconds. An interrupt or SIGTERM ends it.",
           "With --platform the GPUs are simulated, so that schedulers and monitoring can be tried "
           "against a real kubelet without any."},
      .flags = flags(),
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
