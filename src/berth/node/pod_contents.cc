#include "berth/node/pod_contents.h"

#include "berth/node/contents/spec_field.h"
#include "berth/node/contents/termination_message.h"
#include "berth/node/volumes/files.h"

namespace berth::node {

PodContents::PodContents(Contents& contents, std::shared_ptr<const NodeAmounts> amounts,
                         std::string host_ip, PodContentsEvents events)
    : contents_(&contents), amounts_(std::move(amounts)), host_ip_(std::move(host_ip)),
      events_(std::move(events)), wanted_(std::make_shared<int>(0)) {
  const ContentsPlace& place = contents.place();
  volumes_ = std::make_shared<PodVolumes>(VolumesPlace{.loop = place.loop,
                                                       .client = place.client,
                                                       .background = place.background,
                                                       .tokens = place.tokens,
                                                       .root = contents.options().kubelet_root,
                                                       .owner = contents.options().owner,
                                                       .refresh = contents.options().volume_refresh,
                                                       .allocatable = amounts_->allocatable,
                                                       .host_ip = host_ip_},
                                          events_.tell, events_.on_change);
}

bool PodContents::volumes_ready(const api::Object& pod, const std::string& pod_ip) {
  volumes_->want(pod, pod_ip);
  return volumes_->ready();
}

Result<void> PodContents::complete(const api::Object& object, const model::Pod& pod,
                                   runtime::SandboxConfig& config) const {
  const std::string folder = contents_->log_folder(pod);
  BERTH_CHECK(make_folder(folder, 0755));
  const DnsSettings& dns = contents_->options().dns;
  constexpr std::size_t kMostBytes = std::size_t{64} * 1024;
  const auto machine = read_file(dns.resolv_conf, kMostBytes);
  if (machine || !dns.cluster_servers.empty()) {
    config.dns = pod_dns(object.json(), dns, parse_resolv_conf(machine.value_or("")));
  }
  return complete_sandbox(object.json(), contents_->options().kubelet_root, folder, config);
}

std::optional<ContainerContents> PodContents::take(const api::Object& object,
                                                   const std::shared_ptr<const model::Pod>& pod,
                                                   const ContainerView& container,
                                                   const std::string& pod_ip) {
  const Attempt attempt{container.spec->name, container.next_attempt};
  if (const auto found = ready_.find(attempt); found != ready_.end()) {
    ContainerContents made = std::move(found->second);
    ready_.clear(); // what was got ready for another attempt is out of date by now
    return made;
  }
  if (under_way_ || !wanted_) {
    return std::nullopt;
  }
  under_way_ = attempt;
  prepare_container(*contents_,
                    {.object = object,
                     .pod = pod,
                     .container = container.spec->name,
                     .role = container.role,
                     .attempt = container.next_attempt,
                     .address = {pod_ip.empty() ? host_ip_ : pod_ip, host_ip_},
                     .volumes = volumes_->at(),
                     .amounts = *amounts_,
                     .tell = events_.tell},
                    wanted_,
                    [this, attempt](Preparation made) { prepared(attempt, std::move(made)); });
  return std::nullopt;
}

void PodContents::prepared(const Attempt& attempt, Preparation made) {
  under_way_.reset();
  if (made.ok()) {
    ready_.insert_or_assign(attempt, std::move(made.contents));
  } else {
    events_.on_failure(attempt.first, made);
  }
  events_.on_change();
}

const std::map<std::string, std::string>& PodContents::messages(const api::Object& pod,
                                                                const PodView& view) {
  for (const ContainerView& each : view.containers) {
    const api::json::value* spec = container_spec(pod.json(), each.spec->name);
    for (const runtime::ContainerStatus* status : {each.current, each.previous}) {
      if (!spec || !status || status->state != runtime::ContainerState::Exited ||
          messages_.contains(status->id)) {
        continue;
      }
      messages_[status->id] = termination_message(
          *spec, {.file = termination_file(contents_->options().kubelet_root, view.pod->meta.uid,
                                           status->name, status->attempt),
                  .log_path = status->log_path,
                  .exit_code = status->exit_code});
    }
  }
  return messages_;
}

void PodContents::tear_down(const std::string& pod_uid) {
  wanted_.reset();
  under_way_.reset();
  volumes_->tear_down(pod_uid, [] {});
}

} // namespace berth::node
