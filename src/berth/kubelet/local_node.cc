#include "berth/kubelet/local_node.h"

#include <utility>

#include <fmt/format.h>

#include "berth/kubelet/find_container.h"
#include "berth/kubelet/logs/log_file.h"

namespace berth::kubelet {
namespace {

using server::StreamRequest;

tl::unexpected<server::Status> cannot_upgrade(std::string_view why) {
  return tl::unexpected(
      server::internal_error(fmt::format("unable to upgrade connection: {}", why)));
}

runtime::StreamWish wish_of(const StreamRequest& what) {
  return {.in = what.in, .out = what.out, .err = what.err, .tty = what.tty};
}

server::Answer<server::StreamPlace> place_of(net::AsioLoop& loop, const Result<std::string>& url) {
  if (!url) {
    return cannot_upgrade(url.error().message);
  }
  auto parsed = net::HttpUrl::parse(*url);
  if (!parsed) {
    return cannot_upgrade(parsed.error().message);
  }
  return server::StreamPlace{
      .loop = &loop, .url = *std::move(parsed), .target = {}, .tls = nullptr, .headers = {}};
}

} // namespace

LocalNode::LocalNode(net::AsioLoop& loop, runtime::Runtime& runtime)
    : loop_(&loop), runtime_(&runtime) {}

void LocalNode::open_log(server::LogRequest what, std::function<void()> on_more, LogOpened done) {
  auto read = [loop = loop_, runtime = runtime_, options = what.options,
               on_more = std::move(on_more),
               done](const Result<runtime::ContainerStatus>& container) {
    if (!container) {
      done(server::bad_request(
          fmt::format("unable to retrieve container logs: {}", container.error().message)));
      return;
    }
    auto reading = read_log_file(*loop, *runtime, *container, options, on_more);
    if (reading) {
      done(*std::move(reading));
    } else {
      done(tl::unexpected(server::internal_error(reading.error().message)));
    }
  };
  runtime_->list([runtime = runtime_, what = std::move(what), read = std::move(read),
                  done](const Result<runtime::Listing>& listing) {
    if (!listing) {
      done(tl::unexpected(server::internal_error(listing.error().message)));
      return;
    }
    const PodName pod{.ns = what.ns, .name = what.pod, .uid = what.pod_uid};
    const auto* found =
        !what.container_id.empty()
            ? find_container(*listing, what.container_id)
            : find_container(*listing, pod, what.container,
                             what.options.previous ? Attempt::BeforeLast : Attempt::Last);
    if (found == nullptr && what.container_id.empty() && what.options.previous) {
      done(server::bad_request(
          fmt::format("previous terminated container \"{}\" in pod \"{}\" not found",
                      what.container, what.pod)));
    } else if (found == nullptr) {
      done(server::bad_request(
          fmt::format("unable to retrieve container logs for {}",
                      what.container_id.empty() ? what.container : what.container_id)));
    } else { // a listing need not say where logs are
      runtime->container_status(found->id, read);
    }
  });
}

void LocalNode::find_streams(StreamRequest what,
                             std::function<void(server::Answer<server::StreamPlace>)> done) {
  auto found_url = [loop = loop_, done](const Result<std::string>& url) {
    done(place_of(*loop, url));
  };
  runtime_->list([runtime = runtime_, what = std::move(what), found_url = std::move(found_url),
                  done](const Result<runtime::Listing>& listing) {
    if (!listing) {
      done(cannot_upgrade(listing.error().message));
      return;
    }
    const PodName pod{.ns = what.ns, .name = what.pod, .uid = what.pod_uid};
    if (what.kind == StreamRequest::Kind::PortForward) {
      if (const auto* sandbox = find_sandbox(*listing, pod)) {
        runtime->port_forward_url(sandbox->id, what.ports, found_url);
      } else {
        done(cannot_upgrade(fmt::format("pod not found (\"{}_{}\")", what.pod, what.ns)));
      }
      return;
    }
    const auto* container = find_container(*listing, pod, what.container);
    if (container == nullptr) {
      done(cannot_upgrade(fmt::format("container not found (\"{}\")", what.container)));
    } else if (container->state != runtime::ContainerState::Running) {
      done(cannot_upgrade(fmt::format("container \"{}\" is not running", what.container)));
    } else if (what.kind == StreamRequest::Kind::Exec) {
      runtime->exec_url(container->id, what.command, wish_of(what), found_url);
    } else {
      runtime->attach_url(container->id, wish_of(what), found_url);
    }
  });
}

} // namespace berth::kubelet
