#include "berth/runtime/container_log.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace berth::runtime {
namespace {

/// One line of a command line, whatever its words hold.
std::string words(const std::vector<std::string>& command, const std::vector<std::string>& args) {
  std::string line;
  for (const auto* list : {&command, &args}) {
    for (const std::string& word : *list) {
      line += line.empty() ? "" : " ";
      for (const char c : word) {
        line += c == '\n' ? std::string("\\n") : std::string(1, c);
      }
    }
  }
  return line;
}

std::string started_text(const LoggedContainer& container) {
  const ContainerConfig& config = container.config;
  std::string text = fmt::format("started container {} of image {}", config.name, config.image);
  if (config.attempt > 0) {
    text += fmt::format(", restart {}", config.attempt);
  }
  const std::string line = words(config.command, config.args);
  return text + (line.empty() ? ", with the image's command" : ": " + line);
}

bool is_gpu(const DeviceNode& node) {
  constexpr std::string_view kPrefix = "/dev/nvidia";
  const std::string_view path = node.path;
  return path.starts_with(kPrefix) && path.size() > kPrefix.size() &&
         path.find_first_not_of("0123456789", kPrefix.size()) == std::string_view::npos;
}

std::string gpus_text(const ContainerFacts& facts) {
  std::vector<std::string_view> nodes;
  for (const DeviceNode& node : facts.devices) {
    if (is_gpu(node)) {
      nodes.push_back(node.path);
    }
  }
  const auto visible = std::ranges::find(facts.env, "NVIDIA_VISIBLE_DEVICES",
                                         &std::pair<std::string, std::string>::first);
  const bool named =
      visible != facts.env.end() && !visible->second.empty() && visible->second != "void";
  if (nodes.empty() && !named) {
    return "sees no GPU";
  }
  std::string text = nodes.empty()
                         ? "sees GPUs"
                         : fmt::format("sees {} {}: {}", nodes.size(),
                                       nodes.size() == 1 ? "GPU" : "GPUs", fmt::join(nodes, " "));
  return named ? text + fmt::format(", NVIDIA_VISIBLE_DEVICES={}", visible->second) : text;
}

std::string plan_text(Duration run_for) {
  return run_for == Duration::max() ? "simulated: runs until it is stopped"
                                    : fmt::format("simulated: runs for {}", to_string(run_for));
}

} // namespace

std::vector<LogLine> log_of(const LoggedContainer& container) {
  const ContainerStatus& status = container.status;
  if (status.started_at == TimePoint()) {
    return {};
  }
  std::vector<LogLine> lines{{status.started_at, started_text(container)},
                             {status.started_at, gpus_text(container.facts)},
                             {status.started_at, plan_text(container.run_for)}};
  if (const auto& asked = container.asked_to_stop) {
    lines.push_back({asked->at, fmt::format("got SIGTERM, {} until SIGKILL",
                                            to_string(std::max(asked->grace, Duration())))});
  }
  if (status.state == ContainerState::Exited) {
    lines.push_back(
        {status.finished_at,
         fmt::format("ended after {} with exit code {}{}",
                     to_string(status.finished_at - status.started_at), status.exit_code,
                     status.reason.empty() ? "" : fmt::format(" ({})", status.reason))});
  }
  return lines;
}

} // namespace berth::runtime
