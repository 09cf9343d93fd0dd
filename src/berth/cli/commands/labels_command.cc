// berth labels: what GPU feature discovery would say of a node.
#include <charconv>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/yaml.h"
#include "berth/base/time.h"
#include "berth/cli/commands/commands.h"
#include "berth/cli/local_gpus.h"
#include "berth/cli/platform_files.h"
#include "berth/inventory/discovery_labels.h"

namespace berth::cli {
namespace {

using inventory::LabelOptions;
using inventory::MigStrategy;
using inventory::NodeFacts;
using inventory::Sharing;

Result<NodeFacts> facts_for(const Values& values) {
  if (values.has("--platform")) {
    BERTH_TRY(const auto platform, find_platform(values.get("--platform")));
    return inventory::simulated_facts(*platform, values.get("--node", platform->name + "-1"));
  }
  BERTH_TRY(const auto gpus, open_local_gpus(process_environment()));
  NodeFacts facts = gpus->facts();
  facts.machine = machine_name();
  return facts;
}

Result<LabelOptions> options_of(const Values& values) {
  LabelOptions options;
  const std::string strategy = values.get("--mig-strategy", "none");
  options.mig = strategy == "single"  ? MigStrategy::Single
                : strategy == "mixed" ? MigStrategy::Mixed
                                      : MigStrategy::None;
  const std::string sharing = values.get("--sharing", "none");
  options.sharing = sharing == "time-slicing" ? Sharing::TimeSlicing
                    : sharing == "mps"        ? Sharing::Mps
                                              : Sharing::None;
  options.renamed = values.has("--rename");
  const std::string text = values.get("--replicas", "1");
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), options.replicas);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || options.replicas < 1 ||
      options.replicas > 1'000'000) {
    return fail(Code::BadRequest,
                fmt::format("--replicas: want a whole number from 1 to 1000000, got \"{}\"", text));
  }
  if (values.has("--timestamp")) {
    const std::string seconds = values.get("--timestamp");
    std::int64_t value = 0;
    const auto end = std::from_chars(seconds.data(), seconds.data() + seconds.size(), value);
    if (end.ec != std::errc() || end.ptr != seconds.data() + seconds.size() || value < 0) {
      return fail(Code::BadRequest,
                  fmt::format("--timestamp: want seconds since 1970, got \"{}\"", seconds));
    }
    options.timestamp = value;
  }
  return options;
}

Result<std::string> labels_text(const Values& values) {
  BERTH_TRY(const LabelOptions options, options_of(values));
  BERTH_TRY(const NodeFacts facts, facts_for(values));
  BERTH_TRY(const api::Labels labels, inventory::discovery_labels(facts, options));
  const std::string format = values.get("--output");
  if (format != "json" && format != "yaml") {
    return inventory::features_file(labels);
  }
  api::json::object object;
  for (const auto& [key, value] : labels) {
    object[key] = value;
  }
  return format == "json" ? api::to_pretty_json(object) + "\n" : api::to_yaml(object);
}

/// What to try; "" where the error itself says it.
std::string_view hint_for(const Error& error, bool simulated) {
  if (error.code == Code::BadRequest) {
    return "labels --help";
  }
  if (!simulated) {
    return "labels --platform dgx-h100";
  }
  return error.code == Code::NotFound ? "hardware list" : "";
}

int show_labels(const Invocation& invocation) {
  const auto text = labels_text(invocation.values);
  if (!text) {
    const bool usage = text.error().code == Code::BadRequest;
    const std::string_view hint = hint_for(text.error(), invocation.values.has("--platform"));
    invocation.terminal.error(
        to_string(text.error()),
        hint.empty() ? "" : fmt::format("{} {}", invocation.terminal.program, hint));
    return usage ? kUsage : kFailed;
  }
  *invocation.terminal.out.to << *text;
  return kDone;
}

} // namespace

Command labels_command_table() {
  return {
      .name = "labels",
      .summary = "print the node labels that GPU feature discovery sets",
      .synopsis = {"[--platform PLATFORM] [FLAGS]"},
      .description =
          {"The nvidia.com/* labels of this machine, or of a simulated one, as NVIDIA's GPU "
           "feature "
           "discovery would set them. The default form is that of the file which node feature "
           "discovery reads in /etc/kubernetes/node-feature-discovery/features.d.",
           "With MIG strategy single or mixed the labels tell of MIG devices, with --sharing of "
           "shared GPUs."},
      .flags = {{.name = "--platform",
                 .value = "PLATFORM",
                 .help = "a simulated machine: a name of berth hardware list, or a platform file. "
                         "Without it, this machine",
                 .group = "WHAT",
                 .offers = Offers::Platforms},
                {.name = "--node",
                 .value = "NAME",
                 .help = "the simulated node's name, which its NVLink domain follows from. Without "
                         "it, PLATFORM-1",
                 .group = "WHAT"},
                {.name = "--mig-strategy",
                 .value = "STRATEGY",
                 .help = "what nvidia.com/gpu stands for on GPUs with MIG",
                 .group = "HOW GPUS ARE GIVEN",
                 .fallback = "none",
                 .choices = {"none", "single", "mixed"},
                 .offers = Offers::Choices},
                {.name = "--sharing",
                 .value = "STRATEGY",
                 .help = "how several containers share a GPU",
                 .group = "HOW GPUS ARE GIVEN",
                 .fallback = "none",
                 .choices = {"none", "time-slicing", "mps"},
                 .offers = Offers::Choices},
                {.name = "--replicas",
                 .value = "COUNT",
                 .help = "of each shared GPU, at least 2",
                 .group = "HOW GPUS ARE GIVEN",
                 .fallback = "1"},
                {.name = "--rename",
                 .help = "shared GPUs have a resource name of their own, so that the product keeps "
                         "its name",
                 .group = "HOW GPUS ARE GIVEN"},
                {.name = "--timestamp",
                 .value = "SECONDS",
                 .help = "add gfd.timestamp; without it, as with --no-timestamp",
                 .group = "OUTPUT"},
                {.name = "--output",
                 .letter = 'o',
                 .value = "FORMAT",
                 .help = "as a JSON or YAML mapping instead of the features.d file",
                 .group = "OUTPUT",
                 .choices = {"json", "yaml"},
                 .offers = Offers::Choices}},
      .examples = {{"of a simulated DGX H100", "labels --platform dgx-h100"},
                   {"of four time slices a GPU",
                    "labels --platform t4-pcie-1 --sharing time-slicing --replicas 4"}},
      .exit_codes = {{kDone, "printed"},
                     {kFailed,
                      "no GPUs to be found here, no such platform, or such sharing cannot be"},
                     {kUsage, "the command line is wrong"}},
      .see_also = {"berth hardware"},
      .run = &show_labels};
}

} // namespace berth::cli
