#include "berth/kubelet/kubelet_paths.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

namespace berth::kubelet {
namespace {

using What = KubeletPath::What;

/// nullopt: a percent sign without two hexadecimal digits.
std::optional<std::string> decoded(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      out += text[at];
      continue;
    }
    unsigned value = 0;
    const std::string_view digits = text.substr(at + 1, 2);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (digits.size() != 2 || error != std::errc() || end != digits.data() + 2) {
      return std::nullopt;
    }
    out += static_cast<char>(value);
    at += 2;
  }
  return out;
}

/// nullopt: a part is empty or cannot be decoded.
std::optional<std::vector<std::string>> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  while (path.starts_with('/')) {
    path.remove_prefix(1);
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(part.size());
    auto text = decoded(part);
    if (!text || text->empty()) {
      return std::nullopt;
    }
    parts.push_back(*std::move(text));
  }
  return parts;
}

} // namespace

std::optional<KubeletPath> kubelet_path(std::string_view path) {
  struct Known {
    std::string_view name;
    What what;
    std::size_t least; ///< parts behind the name
    std::size_t most;
  };
  constexpr std::array<std::pair<std::string_view, What>, 7> kPages = {
      {{"/healthz", What::Healthz},
       {"/pods", What::Pods},
       {"/metrics", What::Metrics},
       {"/metrics/resource", What::ResourceMetrics},
       {"/metrics/gpus", What::GpuMetrics},
       {"/stats/summary", What::StatsSummary},
       {"/stats/gpus", What::StatsGpus}}};
  const auto page = std::ranges::find(kPages, path, &std::pair<std::string_view, What>::first);
  if (page != kPages.end()) {
    return KubeletPath{.what = page->second, .ns = {}, .pod = {}, .uid = {}, .container = {}};
  }
  constexpr std::array<Known, 4> kKnown = {{{"containerLogs", What::ContainerLogs, 3, 3},
                                            {"exec", What::Exec, 3, 4},
                                            {"attach", What::Attach, 3, 4},
                                            {"portForward", What::PortForward, 2, 3}}};
  const auto parts = parts_of(path);
  if (!parts || parts->empty()) {
    return std::nullopt;
  }
  const auto known = std::ranges::find(kKnown, parts->front(), &Known::name);
  const std::size_t behind = parts->size() - 1;
  if (known == kKnown.end() || behind < known->least || behind > known->most) {
    return std::nullopt;
  }
  KubeletPath out{.what = known->what, .ns = {}, .pod = {}, .uid = {}, .container = {}};
  out.ns = (*parts)[1];
  out.pod = (*parts)[2];
  if (known->what == What::PortForward) {
    out.uid = behind == known->most ? parts->back() : "";
    return out;
  }
  out.uid = behind == 4 ? (*parts)[3] : "";
  out.container = parts->back();
  return out;
}

} // namespace berth::kubelet
