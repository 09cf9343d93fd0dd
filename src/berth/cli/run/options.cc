#include "berth/cli/run/options.h"

#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "berth/cli/platform_files.h"
#include "berth/explain/book.h"

namespace berth::cli {
namespace {

Error about(std::string_view flag, std::string_view text, Error error) {
  error.code = Code::BadRequest;
  error.message = fmt::format("{} {}: {}", flag, text, error.message);
  return error;
}

// Every value of a repeatable flag through one reader.
template <class T, class F>
Result<std::vector<T>> read_all(const Values& values, std::string_view flag, F&& read) {
  std::vector<T> out;
  for (const std::string& text : values.all(flag)) {
    Result<T> value = read(text);
    if (!value) {
      return tl::unexpected(about(flag, text, std::move(value).error()));
    }
    out.push_back(*std::move(value));
  }
  return out;
}

Result<Duration> read_duration(const Values& values, std::string_view flag,
                               std::string_view fallback) {
  const std::string text = values.get(flag, fallback);
  auto duration = parse_duration(text);
  if (!duration) {
    return tl::unexpected(about(flag, text, std::move(duration).error()));
  }
  return duration;
}

Result<std::uint64_t> read_seed(const Values& values) {
  const std::string text = values.get("--seed", "1");
  std::uint64_t seed = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (problem != std::errc() || end != text.data() + text.size()) {
    return fail(Code::BadRequest,
                fmt::format("--seed: want a whole number from 0 to 2^64-1, got \"{}\"", text));
  }
  return seed;
}

Output output_of(const std::string& text) {
  return text == "json"   ? Output::Json
         : text == "yaml" ? Output::Yaml
         : text == "wide" ? Output::Wide
                          : Output::Text;
}

hardware::ChoicePolicy policy_of(const std::string& text) {
  using hardware::ChoicePolicy;
  return text == "binpack"  ? ChoicePolicy::Binpack
         : text == "spread" ? ChoicePolicy::Spread
                            : ChoicePolicy::Topology;
}

Result<std::optional<ListenAddress>> read_listen(const Values& values, Speed speed) {
  if (!values.has("--listen")) {
    return std::optional<ListenAddress>();
  }
  const std::string text = values.get("--listen");
  if (speed != Speed::Real) {
    return fail(Code::BadRequest,
                "--listen: in virtual time nobody can ask in between; try --speed "
                "real, or --metrics and --explain");
  }
  BERTH_TRY(ListenAddress listen, parse_listen_address(text, "--listen"));
  return std::optional(std::move(listen));
}

} // namespace

Result<RunOptions> read_run_options(const Values& values) {
  RunOptions options;
  options.files = values.all("--filename");
  if (options.files.empty()) {
    return fail(Code::BadRequest, "nothing to run: -f FILE is missing");
  }
  options.depth = values.has("--recursive") ? Depth::Recursive : Depth::Folder;
  options.ns = values.get("--namespace", "default");
  options.cluster_files = values.all("--cluster");
  options.topology_files = values.all("--topology");
  options.scheduler_config = values.get("--scheduler-config");
  for (const std::string& text : values.all("--nodes")) {
    auto group = read_node_group(text, options.catalogue);
    if (!group) {
      return tl::unexpected(about("--nodes", text, std::move(group).error()));
    }
    options.nodes.push_back(*std::move(group));
  }
  BERTH_TRY(options.faults, read_all<cluster::Fault>(values, "--at", &cluster::parse_fault));
  BERTH_TRY(options.cluster.seed, read_seed(values));
  options.cluster.gpu_policy = policy_of(values.get("--gpu-policy"));
  options.cluster.default_run_for = Duration::max();
  if (values.get("--default-run-for", "10m") != "forever") {
    BERTH_TRY(options.cluster.default_run_for, read_duration(values, "--default-run-for", "10m"));
  }
  options.speed = values.get("--speed") == "real" ? Speed::Real : Speed::Virtual;
  if (values.has("--until")) {
    BERTH_TRY(options.until, read_duration(values, "--until", ""));
  }
  options.output = output_of(values.get("--output"));
  options.record = values.get("--record");
  options.show_containers = values.all("--show-container");
  options.cluster.explain = values.all("--explain");
  BERTH_CHECK(read_all<explain::Wanted>(values, "--explain", &explain::Wanted::parse));
  options.metrics = values.get("--metrics");
  BERTH_TRY(options.listen, read_listen(values, options.speed));
  options.quiet = values.has("--quiet");
  options.exit_code = values.has("--exit-code");
  return options;
}

} // namespace berth::cli
