// berth cdi generate: the CDI spec of a machine's GPUs.
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/yaml.h"
#include "berth/cdi/spec_store.h"
#include "berth/cli/cdi_source.h"
#include "berth/cli/commands/commands.h"

namespace berth::cli {
namespace {

constexpr std::string_view kDefaultVendor = "nvidia.com";
constexpr std::string_view kDefaultClass = "gpu";

Result<std::vector<cdi::DeviceNaming>> namings_of(const Values& values) {
  std::vector<cdi::DeviceNaming> namings;
  for (const std::string& word : values.all("--device-name-strategy")) {
    namings.push_back(word == "index"  ? cdi::DeviceNaming::Index
                      : word == "uuid" ? cdi::DeviceNaming::Uuid
                                       : cdi::DeviceNaming::TypeIndex);
  }
  return namings.empty() ? std::vector{cdi::DeviceNaming::Index, cdi::DeviceNaming::Uuid} : namings;
}

/// "yaml" or "json": what --format says, else the output's ending, else YAML.
Result<std::string> format_of(const Values& values) {
  const std::string output = values.get("--output");
  const std::string ending = std::filesystem::path(output).extension().string();
  const std::string asked = values.get("--format");
  if (!output.empty() && ending != ".yaml" && ending != ".json") {
    return fail(Code::BadRequest,
                fmt::format("--output: runtimes read *.yaml and *.json alone, got \"{}\"", output));
  }
  if (!output.empty() && !asked.empty() && "." + asked != ending) {
    return fail(Code::BadRequest,
                fmt::format("--format {} does not go with --output {}", asked, output));
  }
  return !asked.empty() ? asked : ending == ".json" ? "json" : "yaml";
}

Result<CdiSource> source_of(const Values& values) {
  if (values.has("--platform")) {
    return simulated_cdi_source({.platform = values.get("--platform"),
                                 .node = values.get("--node"),
                                 .cuts = values.all("--mig")});
  }
  if (values.has("--mig") || values.has("--node")) {
    return fail(Code::BadRequest, "--mig and --node are of a simulated machine; add --platform");
  }
  return local_cdi_source(process_environment(), "/");
}

struct Generated {
  std::string format;
  cdi::Spec spec;
  std::vector<std::string> notes;
};

Result<Generated> generate(const Values& values) {
  BERTH_TRY(std::string format, format_of(values));
  BERTH_TRY(CdiSource source, source_of(values));
  BERTH_TRY(source.options.naming, namings_of(values));
  source.options.kind = fmt::format("{}/{}", values.get("--vendor", kDefaultVendor),
                                    values.get("--class", kDefaultClass));
  source.options.hook_program = values.get("--nvidia-cdi-hook-path", source.options.hook_program);
  cdi::Spec spec = cdi::nvidia_spec(source.gpus, source.options);
  if (const auto valid = cdi::validate(spec); !valid) {
    return fail(Code::BadRequest, to_string(valid.error()));
  }
  return Generated{std::move(format), std::move(spec), std::move(source.notes)};
}

Result<void> write(const Values& values, const Generated& generated, Terminal& terminal) {
  const std::filesystem::path output(values.get("--output"));
  if (output.empty()) {
    const api::json::value document = cdi::to_json(generated.spec);
    *terminal.out.to << (generated.format == "json" ? api::to_pretty_json(document) + "\n"
                                                    : api::to_yaml(document));
    return {};
  }
  const std::string directory = output.parent_path().string();
  return cdi::DirectoryStore(directory.empty() ? "." : directory)
      .put(output.filename().string(), generated.spec);
}

int run(const Invocation& invocation) {
  Terminal& terminal = invocation.terminal;
  const auto generated = generate(invocation.values);
  const auto written = generated ? write(invocation.values, *generated, terminal)
                                 : Result<void>(tl::unexpected(generated.error()));
  if (!written) {
    const bool usage = written.error().code == Code::BadRequest;
    terminal.error(to_string(written.error()),
                   terminal.program +
                       (usage ? " cdi generate --help" : " cdi generate --platform dgx-h100"));
    return usage ? kUsage : kFailed;
  }
  for (const std::string& note : generated->notes) {
    terminal.note(note);
  }
  return kDone;
}

} // namespace

Command cdi_generate_command_table() {
  return {
      .name = "cdi generate",
      .summary = "write the CDI spec of a machine's GPUs",
      .synopsis = {"[--platform PLATFORM] [FLAGS]"},
      .description =
          {"A spec of the Container Device Interface with a device for each GPU and MIG device, "
           "and all for them together: device nodes, the driver's libraries and tools, and the "
           "hooks that make them usable. It is what nvidia-ctk cdi generate writes, and what "
           "container runtimes read in /etc/cdi and /var/run/cdi.",
           "Names are indices (0, and 0:1 for a MIG device) and UUIDs, unless "
           "--device-name-strategy says otherwise. A file is replaced at once: whoever reads it "
           "sees the old spec or the new."},
      .flags = {{.name = "--platform",
                 .value = "PLATFORM",
                 .help = "a simulated machine: a name of berth hardware list, or a platform file. "
                         "Without it, this machine",
                 .group = "WHAT",
                 .offers = Offers::Platforms},
                {.name = "--node",
                 .value = "NAME",
                 .help = "the simulated node's name, which UUIDs follow from. Without it, "
                         "PLATFORM-1",
                 .group = "WHAT"},
                {.name = "--mig",
                 .value = "GPU:PROFILES",
                 .help = "cut a simulated GPU into MIG instances: 0:1g.10gb=7",
                 .group = "WHAT",
                 .times = Flag::Times::Many},
                {.name = "--vendor",
                 .value = "VENDOR",
                 .help = "of the spec's kind",
                 .group = "NAMES",
                 .fallback = kDefaultVendor},
                {.name = "--class",
                 .value = "CLASS",
                 .help = "of the spec's kind",
                 .group = "NAMES",
                 .fallback = kDefaultClass},
                {.name = "--device-name-strategy",
                 .value = "STRATEGY",
                 .help = "what names a device: 0, GPU-..., or gpu0. Without it, index and uuid",
                 .group = "NAMES",
                 .times = Flag::Times::Many,
                 .choices = {"index", "uuid", "type-index"},
                 .offers = Offers::Choices},
                {.name = "--nvidia-cdi-hook-path",
                 .value = "FILE",
                 .help = "the program of the hooks. Without it, /usr/bin/nvidia-cdi-hook",
                 .group = "NAMES",
                 .offers = Offers::Files},
                {.name = "--format",
                 .value = "FORMAT",
                 .help = "of the spec. Without it, by the file's ending, else yaml",
                 .group = "OUTPUT",
                 .choices = {"yaml", "json"},
                 .offers = Offers::Choices},
                {.name = "--output",
                 .letter = 'o',
                 .value = "FILE",
                 .help = "write it there, such as /etc/cdi/nvidia.yaml, instead of printing it",
                 .group = "OUTPUT",
                 .offers = Offers::Files}},
      .examples = {{"of this machine, for container runtimes",
                    "cdi generate --output /etc/cdi/nvidia.yaml"},
                   {"of a simulated DGX H100 with a GPU cut in seven",
                    "cdi generate --platform dgx-h100 --mig 0:1g.10gb=7"}},
      .exit_codes = {{kDone, "written"},
                     {kFailed, "no GPUs to be found here, no such platform, or it cannot be "
                               "written"},
                     {kUsage, "the command line is wrong"}},
      .see_also = {"berth cdi list", "berth cdi validate", "berth hardware"},
      .run = &run};
}

} // namespace berth::cli
