#include "berth/kubelet/local_nodes.h"

#include <algorithm>

#include "berth/kubelet/stats_summary.h"

namespace berth::kubelet {

void LocalNodes::measure(const std::vector<std::string>& nodes, std::function<void()> done) {
  if (std::ranges::find(nodes, name_) == nodes.end()) {
    done();
    return;
  }
  meter_->measure([weak = std::weak_ptr(last_), gpus = gpus_, done = std::move(done)](
                      const Result<std::shared_ptr<const Measurement>>& measured) {
    const auto last = weak.lock();
    if (last == nullptr) {
      return;
    }
    last->reset();
    if (measured) {
      *last = node_usage(**measured);
      (*last)->gpus = gpus ? gpus() : std::vector<server::GpuUsage>();
    }
    done();
  });
}

} // namespace berth::kubelet
