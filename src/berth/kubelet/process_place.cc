#include "berth/kubelet/process_place.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

namespace berth::kubelet {
namespace {

constexpr std::size_t kIdLetters = 64;
constexpr std::size_t kMostText = 64 * 1024; ///< of a file below /proc that is read

bool is_id(std::string_view text) {
  return text.size() == kIdLetters && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

/// What comes before the next separator, which goes with it.
std::string_view take(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  return part;
}

/// The id that a group's name stands for; "" if it is no container's.
std::string_view id_of(std::string_view group) {
  constexpr std::string_view kScope = ".scope";
  if (group.ends_with(kScope)) {
    group.remove_suffix(kScope.size());
  }
  if (const std::size_t dash = group.rfind('-'); dash != std::string_view::npos) {
    group.remove_prefix(dash + 1);
  }
  return is_id(group) ? group : std::string_view();
}

std::string read_some(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(kMostText, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  return text;
}

} // namespace

std::vector<std::string> containers_in_cgroups(std::string_view text) {
  std::vector<std::string> ids;
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    take(line, ':'); // the hierarchy
    take(line, ':'); // its controllers
    while (!line.empty()) {
      std::string_view group = take(line, '/');
      // containerd with systemd, spelled for runc: "kubepods-pod1.slice:cri-containerd:ID"
      group = group.substr(group.rfind(':') + 1);
      const std::string_view id = id_of(group);
      if (!id.empty() && std::ranges::find(ids, id) == ids.end()) {
        ids.emplace_back(id);
      }
    }
  }
  return ids;
}

MachineProcess read_process(const std::string& procfs, std::int64_t pid) {
  const std::string directory = fmt::format("{}/{}", procfs, pid);
  std::string name = read_some(directory + "/comm");
  name.resize(std::min(name.find('\n'), name.size()));
  return {.name = std::move(name),
          .containers = containers_in_cgroups(read_some(directory + "/cgroup"))};
}

} // namespace berth::kubelet
