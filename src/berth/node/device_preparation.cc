#include "berth/node/device_preparation.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "berth/node/plugin_call.h"
#include "berth/node/pod_actions.h"
#include "berth/node/pod_verdict.h"

namespace berth::node {
namespace {

using deviceplugin::ContainerAllocateResponse;

} // namespace

DevicePreparation::DevicePreparation(Loop& loop, std::shared_ptr<DeviceBook> book)
    : loop_(&loop), book_(std::move(book)) {}

void DevicePreparation::prepare(std::shared_ptr<const model::Pod> pod, const std::string& container,
                                Done done) {
  AllocationVerdict verdict = check(*pod, container);
  if (book_->unproven(pod->meta.uid) && all_well(*pod)) {
    book_->prove(pod->meta.uid);
  }
  loop_->post([weak = weak_from_this(), verdict = std::move(verdict), pod = std::move(pod),
               container, done = std::move(done)]() mutable {
    const auto self = weak.lock();
    if (verdict.kind != AllocationVerdict::Kind::Granted) {
      done(std::move(verdict));
    } else if (self) {
      self->refill(pod, container, std::move(done));
    }
  });
}

bool DevicePreparation::all_well(const model::Pod& pod) const {
  return std::ranges::all_of(containers_of(pod.spec), [&](const ContainerRef& ref) {
    return book_->ledger().of_container(pod.meta.uid, ref.container->name).empty() ||
           check(pod, ref.container->name).kind == AllocationVerdict::Kind::Granted;
  });
}

AllocationVerdict DevicePreparation::check(const model::Pod& pod,
                                           const std::string& container) const {
  if (book_->numa().active()) {
    const topology::PodAsk ask = topology::ask_of(pod);
    const topology::ContainerAsk* part = ask.find(container);
    if (part && !book_->numa().complete(ask, *part)) {
      return {
          AllocationVerdict::Kind::Wait,
          fmt::format("no CPUs or memory found allocated in local cache for pod {}, container {}",
                      log_name(pod), container),
          ""};
    }
  }
  const bool old_boot = book_->unproven(pod.meta.uid);
  for (const DeviceRequest& request : book_->requests_of(pod)) {
    if (request.container != container) {
      continue;
    }
    const Holding* holding = book_->ledger().find(pod.meta.uid, container, request.resource);
    const auto endpoint = book_->endpoints().live(request.resource);
    if (!holding || (!holding->response && !endpoint)) {
      return {AllocationVerdict::Kind::Wait,
              fmt::format(
                  "no devices found allocated in local cache for pod {}, container {}, resource {}",
                  log_name(pod), container, request.resource)};
    }
    if (old_boot && !endpoint) {
      return {AllocationVerdict::Kind::Wait,
              fmt::format("endpoint not found in cache for a registered resource: {}",
                          request.resource)};
    }
    const auto healthy = old_boot ? book_->endpoints().pool(request.resource)->healthy()
                                  : std::vector<std::string>();
    const bool well = std::ranges::all_of(holding->ids(), [&](const std::string& id) {
      return std::ranges::find(healthy, id) != healthy.end();
    });
    if (old_boot && !well) { // plugins find devices one by one after a boot
      return {AllocationVerdict::Kind::Wait,
              fmt::format("previously allocated devices are no longer healthy; "
                          "cannot allocate unhealthy devices {}",
                          request.resource)};
    }
  }
  return {};
}

// Asks again for the edits of devices whose holder was found in the runtime only.
void DevicePreparation::refill(const std::shared_ptr<const model::Pod>& pod,
                               const std::string& container, Done done) {
  for (const Holding* holding : book_->ledger().of_container(pod->meta.uid, container)) {
    const auto endpoint = book_->endpoints().live(holding->resource);
    if (!holding->response && endpoint) {
      call_plugin<std::vector<ContainerAllocateResponse>>(
          *loop_, book_->options().rpc_timeout, weak_from_this(),
          [&](const auto& answer) { endpoint->plugin->allocate({holding->ids()}, answer); },
          [this, pod, container, done = std::move(done),
           copy = *holding](Result<std::vector<ContainerAllocateResponse>> responses) mutable {
            if (!responses || responses->empty()) {
              done({AllocationVerdict::Kind::Wait,
                    responses ? "no containers return in allocation response []"
                              : responses.error().message});
              return;
            }
            copy.response = std::move(responses->front());
            book_->tell_part(*pod, copy);
            const bool recorded =
                book_->ledger().find(copy.pod_uid, copy.container, copy.resource) &&
                book_->record(copy);
            if (!recorded) {
              done({AllocationVerdict::Kind::Rejected, "the devices have been released"});
              return;
            }
            refill(pod, container, std::move(done));
          });
      return;
    }
  }
  tell(*pod, container, std::move(done));
}

// PreStartContainer, for the plugin that wants it.
void DevicePreparation::tell(const model::Pod& pod, const std::string& container, Done done) {
  for (const Holding* holding : book_->ledger().of_container(pod.meta.uid, container)) {
    const auto endpoint = book_->endpoints().live(holding->resource);
    if (endpoint && endpoint->options.pre_start_required) {
      call_plugin<void>(
          *loop_, book_->options().rpc_timeout, weak_from_this(),
          [&](const auto& answer) {
            endpoint->plugin->pre_start_container(holding->ids(), answer);
          },
          [done = std::move(done)](const Result<void>& result) {
            done(result ? AllocationVerdict{}
                        : AllocationVerdict{
                              AllocationVerdict::Kind::Wait,
                              fmt::format("device plugin PreStartContainer rpc failed with err: {}",
                                          result.error().message)});
          });
      return;
    }
  }
  done({});
}

} // namespace berth::node
