#include "berth/server/pod_containers.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/api/json.h"

namespace berth::server {
namespace {

namespace json = api::json;

constexpr std::string_view kKubeletPort = "10250";
constexpr std::array<std::string_view, 3> kLists = {"containers", "initContainers",
                                                    "ephemeralContainers"};

const json::array* list_at(const json::value& in, std::string_view path) {
  const json::value* list = api::find_path(in, path);
  return list == nullptr ? nullptr : list->if_array();
}

std::vector<std::string> names_in(const api::Object& pod, std::string_view list) {
  std::vector<std::string> names;
  if (const json::array* containers = list_at(pod.json(), fmt::format("spec.{}", list))) {
    for (const json::value& container : *containers) {
      names.emplace_back(api::string_at(container, "name"));
    }
  }
  return names;
}

const json::value* status_of_container(const api::Object& pod, std::string_view name) {
  for (const std::string_view list :
       {"containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"}) {
    if (const json::array* statuses = list_at(pod.json(), fmt::format("status.{}", list))) {
      for (const json::value& status : *statuses) {
        if (api::string_at(status, "name") == name) {
          return &status;
        }
      }
    }
  }
  return nullptr;
}

tl::unexpected<Status> waits(std::string_view container, std::string_view pod,
                             std::string_view reason) {
  std::string text(reason);
  if (reason == "ErrImagePull") {
    text = "image can't be pulled";
  } else if (reason == "ImagePullBackOff") {
    text = "trying and failing to pull image";
  }
  return bad_request(
      fmt::format("container \"{}\" in pod \"{}\" is waiting to start: {}", container, pod, text));
}

std::string kubelet_of(const api::Object& pod) {
  const std::string_view host = api::string_at(pod.json(), "status.hostIP");
  return fmt::format("{}:{}", host.empty() ? api::string_at(pod.json(), "spec.nodeName") : host,
                     kKubeletPort);
}

Status no_answer(std::string message) {
  return {.code = 500, .reason = "", .message = std::move(message), .details = nullptr};
}

} // namespace

Answer<std::string> container_of(const api::Object& pod, const std::string& named) {
  const std::vector<std::string> containers = names_in(pod, kLists[0]);
  const std::vector<std::string> init = names_in(pod, kLists[1]);
  const std::vector<std::string> ephemeral = names_in(pod, kLists[2]);
  if (!named.empty()) {
    for (const auto* names : {&containers, &init, &ephemeral}) {
      if (std::ranges::find(*names, named) != names->end()) {
        return named;
      }
    }
    return bad_request(fmt::format("container {} is not valid for pod {}", named, pod.meta().name));
  }
  if (containers.size() == 1) {
    return containers.front();
  }
  std::string text = fmt::format("a container name must be specified for pod {}", pod.meta().name);
  if (!containers.empty()) {
    text += fmt::format(", choose one of: [{}]", fmt::join(containers, " "));
    if (!init.empty()) {
      text += fmt::format(" or one of the init containers: [{}]", fmt::join(init, " "));
    }
    if (!ephemeral.empty()) {
      text += fmt::format(" or one of the ephemeral containers: [{}]", fmt::join(ephemeral, " "));
    }
  }
  return bad_request(std::move(text));
}

Answer<std::string> logged_container(const api::Object& pod, const std::string& name, LogOf which) {
  const std::string& in = pod.meta().name;
  const json::value* status = status_of_container(pod, name);
  if (status == nullptr) {
    return bad_request(fmt::format("container \"{}\" in pod \"{}\" is not available", name, in));
  }
  const std::string last(api::string_at(*status, "lastState.terminated.containerID"));
  if (which == LogOf::Previous) {
    if (last.empty()) {
      return bad_request(
          fmt::format("previous terminated container \"{}\" in pod \"{}\" not found", name, in));
    }
    return last;
  }
  if (api::find_path(*status, "state.running") != nullptr) {
    return std::string(api::string_at(*status, "containerID"));
  }
  const std::string ended(api::string_at(*status, "state.terminated.containerID"));
  if (!ended.empty()) {
    return ended;
  }
  if (!last.empty()) {
    return last;
  }
  if (api::find_path(*status, "state.terminated") != nullptr ||
      api::find_path(*status, "lastState.terminated") != nullptr) {
    return bad_request(fmt::format("container \"{}\" in pod \"{}\" is terminated", name, in));
  }
  if (api::find_path(*status, "state.waiting") != nullptr) {
    return waits(name, in, api::string_at(*status, "state.waiting.reason"));
  }
  return bad_request(
      fmt::format("container \"{}\" in pod \"{}\" is waiting to start - no logs yet", name, in));
}

Status unreachable(const api::Object& pod, std::string_view container) {
  const std::string at = kubelet_of(pod);
  return no_answer(fmt::format("Get \"https://{}/containerLogs/{}/{}/{}\": dial tcp {}: connect: "
                               "no route to host",
                               at, pod.meta().ns, pod.meta().name, container, at));
}

Status unreachable_streams(const api::Object& pod) {
  return no_answer(fmt::format("error dialing backend: dial tcp {}: connect: no route to host",
                               kubelet_of(pod)));
}

} // namespace berth::server
