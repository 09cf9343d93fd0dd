#include "berth/server/pod_logs.h"

#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/api/json.h"
#include "berth/server/log_options.h"

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

/// The container that is meant: the one that is named, or the only one.
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

/// The id, in the pod's status, of the container whose log is meant.
Answer<std::string> logged_container(const api::Object& pod, const std::string& name,
                                     bool previous) {
  const std::string& in = pod.meta().name;
  const json::value* status = status_of_container(pod, name);
  if (status == nullptr) {
    return bad_request(fmt::format("container \"{}\" in pod \"{}\" is not available", name, in));
  }
  const std::string last(api::string_at(*status, "lastState.terminated.containerID"));
  if (previous) {
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

std::string_view without_scheme(std::string_view id) {
  const std::size_t at = id.find("://");
  return at == std::string_view::npos ? id : id.substr(at + 3);
}

/// As kube-apiserver says it of a kubelet that does not answer.
Status unreachable(const api::Object& pod, std::string_view container) {
  const std::string_view host = api::string_at(pod.json(), "status.hostIP");
  const std::string at = fmt::format(
      "{}:{}", host.empty() ? api::string_at(pod.json(), "spec.nodeName") : host, kKubeletPort);
  return {.code = 500,
          .reason = "",
          .message = fmt::format("Get \"https://{}/containerLogs/{}/{}/{}\": dial tcp {}: connect: "
                                 "no route to host",
                                 at, pod.meta().ns, pod.meta().name, container, at),
          .details = nullptr};
}

/// One reader of a log that may grow. Lives as long as its stream is used.
class Following : public std::enable_shared_from_this<Following> {
 public:
  Following(Nodes& nodes, std::string node, std::string container, LogWriter writer)
      : nodes_(nodes), node_(std::move(node)), container_(std::move(container)),
        writer_(std::move(writer)) {}

  void start(std::shared_ptr<net::HttpStream> stream) {
    stream_ = std::move(stream);
    stream_->on_gone([self = shared_from_this()] { self->stop(); });
    follower_ = nodes_.follow(node_, container_, [this] { tell(); });
    tell();
  }

 private:
  void tell() {
    const auto self = shared_from_this();
    const auto log = nodes_.log(node_, container_);
    if (log) {
      if (const std::string text = writer_.more(log->lines); !text.empty()) {
        stream_->send(text);
      }
    }
    if (!log || !log->open || writer_.full()) {
      const auto stream = stream_;
      stop();
      stream->end();
    }
  }

  void stop() {
    const auto self = shared_from_this(); // until this is over
    follower_ = nullptr;
    stream_->on_gone(nullptr);
  }

  Nodes& nodes_;
  std::string node_;
  std::string container_;
  LogWriter writer_;
  std::shared_ptr<net::HttpStream> stream_;
  std::unique_ptr<LogFollower> follower_;
};

net::HttpResponse plain(int status) {
  return {.status = status,
          .headers = {{"Content-Type", "text/plain"}, {"Cache-Control", "no-cache, private"}}};
}

Answer<api::Object> pod_of(const Shared& shared, const Call& call) {
  auto pod = shared.registry->get(store::kPods, {call.info.ns, call.info.name});
  if (!pod) {
    return tl::unexpected(status_of(pod.error()));
  }
  return *std::move(pod);
}

} // namespace

Answer<net::HttpResponse> pod_log(const Shared& shared, const Call& call) {
  const auto options = log_options(call.info.name, call.query, shared.loop->now());
  if (!options) {
    return tl::unexpected(options.error());
  }
  const auto pod = pod_of(shared, call);
  if (!pod) {
    return tl::unexpected(pod.error());
  }
  const auto container = container_of(*pod, options->container);
  if (!container) {
    return tl::unexpected(container.error());
  }
  const std::string node(api::string_at(pod->json(), "spec.nodeName"));
  if (node.empty()) {
    return net::HttpResponse{.status = 204};
  }
  if (!shared.nodes->reachable(node)) {
    return tl::unexpected(unreachable(*pod, *container));
  }
  const auto id = logged_container(*pod, *container, options->previous);
  if (!id) {
    return tl::unexpected(id.error());
  }
  const std::string_view known = without_scheme(*id);
  const auto log = shared.nodes->log(node, known);
  if (!log) {
    return bad_request(fmt::format("unable to retrieve container logs for {}", *id));
  }
  net::HttpResponse response = plain(200);
  if (!options->follow || !log->open) {
    response.body = LogWriter(*options).more(log->lines);
    return response;
  }
  const auto following =
      std::make_shared<Following>(*shared.nodes, node, std::string(known), LogWriter(*options));
  response.stream = [following](std::shared_ptr<net::HttpStream> stream) {
    following->start(std::move(stream));
  };
  return response;
}

Status pod_connection(const Shared& shared, const Call& call) {
  const auto pod = pod_of(shared, call);
  if (!pod) {
    return pod.error();
  }
  const bool of_container = call.info.subresource != "portforward";
  if (of_container) {
    const auto container = container_of(*pod, std::string(parameter(call.query, "container")));
    if (!container) {
      return container.error();
    }
  }
  if (api::string_at(pod->json(), "spec.nodeName").empty()) {
    return bad_request(fmt::format("pod {} does not have a host assigned", pod->meta().name))
        .value();
  }
  return {.code = 501,
          .reason = "NotImplemented",
          .message = fmt::format(
              "{} is not possible: the containers of this cluster are simulated, no process runs "
              "in them; try kubectl logs {} for what {} was given, or kubectl describe pod {}",
              of_container ? call.info.subresource : "port-forward", pod->meta().name,
              of_container ? "it" : "they", pod->meta().name),
          .details = nullptr};
}

} // namespace berth::server
