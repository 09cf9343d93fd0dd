#include "berth/kubelet/usage_meter.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace berth::kubelet {
namespace {

constexpr Duration kFresh = Duration::seconds(1);
constexpr Duration kBetween = Duration::seconds(1);
constexpr Duration kStale = Duration::minutes(1);

/// One look.
struct Look {
  TimePoint at;
  MachineUsage machine;
  runtime::Listing listing;
  runtime::Usages usages;
};

/// None: not known, or the counter began anew between the two.
std::optional<std::int64_t> nanocores(const runtime::Usage& before, const runtime::Usage& now) {
  const std::int64_t span = (now.at - before.at).count_nanos();
  if (!before.cpu_nanos || !now.cpu_nanos || *now.cpu_nanos < *before.cpu_nanos || span <= 0) {
    return std::nullopt;
  }
  const auto used = static_cast<double>(*now.cpu_nanos - *before.cpu_nanos);
  return static_cast<std::int64_t>(used * 1e9 / static_cast<double>(span));
}

/// Of what was not there at the look before: since it began.
runtime::Usage beginning(TimePoint started_at) {
  return {.at = started_at, .cpu_nanos = 0};
}

template <class T>
const runtime::Usage* usage_of(const std::vector<T>& all, const std::string& id) {
  const auto found = std::ranges::find(all, id, &T::id);
  return found == all.end() ? nullptr : &found->usage;
}

void add(std::optional<std::int64_t>& sum, const std::optional<std::int64_t>& part) {
  if (part) {
    sum = sum.value_or(0) + *part;
  }
}

MeasuredContainer measured(const runtime::ContainerUsage& told, const Look& before,
                           const Look& now) {
  MeasuredContainer out{.told = told, .started_at = told.usage.at, .nanocores = std::nullopt};
  const auto status =
      std::ranges::find(now.listing.containers, told.id, &runtime::ContainerStatus::id);
  if (status != now.listing.containers.end()) {
    out.started_at = status->started_at;
  }
  const runtime::Usage* earlier = usage_of(before.usages.containers, told.id);
  out.nanocores = nanocores(earlier ? *earlier : beginning(out.started_at), told.usage);
  return out;
}

/// What a pod's containers use together, where nobody tells of the pod as a whole.
void sum_up(MeasuredPod& pod) {
  pod.usage = {};
  pod.nanocores.reset();
  for (const MeasuredContainer& each : pod.containers) {
    const runtime::Usage& part = each.told.usage;
    pod.usage.at = std::max(pod.usage.at, part.at);
    add(pod.nanocores, each.nanocores);
    add(pod.usage.cpu_nanos, part.cpu_nanos);
    add(pod.usage.memory_bytes, part.memory_bytes);
    add(pod.usage.memory_usage_bytes, part.memory_usage_bytes);
    add(pod.usage.memory_rss_bytes, part.memory_rss_bytes);
    add(pod.usage.page_faults, part.page_faults);
    add(pod.usage.major_page_faults, part.major_page_faults);
  }
}

void add_sandbox(const runtime::SandboxUsage& told, const Look& before, MeasuredPod& pod) {
  pod.interfaces = told.interfaces;
  pod.processes = told.processes;
  if (!told.usage.cpu_nanos && !told.usage.memory_bytes) {
    return;
  }
  pod.usage = told.usage;
  const runtime::Usage* earlier = usage_of(before.usages.sandboxes, told.id);
  pod.nanocores = nanocores(earlier ? *earlier : beginning(pod.started_at), told.usage);
}

std::vector<MeasuredPod> pods_of(const Look& before, const Look& now) {
  std::map<std::string, MeasuredPod> by_uid;
  for (const runtime::ContainerUsage& told : now.usages.containers) {
    by_uid[told.pod_uid].containers.push_back(measured(told, before, now));
  }
  std::vector<MeasuredPod> pods;
  for (const runtime::SandboxStatus& sandbox : now.listing.sandboxes) {
    const auto found = by_uid.find(sandbox.uid);
    if (sandbox.state != runtime::SandboxState::Ready || found == by_uid.end()) {
      continue;
    }
    MeasuredPod& pod = found->second;
    pod.uid = sandbox.uid;
    pod.ns = sandbox.ns;
    pod.name = sandbox.name;
    pod.started_at = sandbox.created_at;
    std::ranges::sort(pod.containers, {},
                      [](const MeasuredContainer& each) { return each.told.name; });
    sum_up(pod);
    const auto told =
        std::ranges::find(now.usages.sandboxes, sandbox.id, &runtime::SandboxUsage::id);
    if (told != now.usages.sandboxes.end()) {
      add_sandbox(*told, before, pod);
    }
    pods.push_back(std::move(pod));
    by_uid.erase(found);
  }
  std::ranges::sort(pods, {}, [](const MeasuredPod& pod) { return std::tie(pod.ns, pod.name); });
  return pods;
}

std::shared_ptr<const Measurement> compare(const Look& before, const Look& now) {
  auto out = std::make_shared<Measurement>();
  out->at = now.at;
  out->window = now.at - before.at;
  out->machine = now.machine;
  out->nanocores = nanocores(before.machine.usage, now.machine.usage);
  out->pods = pods_of(before, now);
  return out;
}

} // namespace

struct UsageMeter::State : std::enable_shared_from_this<State> {
  State(Loop& on, runtime::Runtime& of, MachineSource from)
      : loop(&on), runtime(&of), source(std::move(from)), second(on) {}

  void look() {
    runtime->list([weak = weak_from_this()](Result<runtime::Listing> listing) {
      if (const auto self = weak.lock()) {
        listing ? self->ask_usages(*std::move(listing))
                : self->tell(tl::unexpected(listing.error()));
      }
    });
  }

  void ask_usages(runtime::Listing listing) {
    runtime->usages([weak = weak_from_this(),
                     listing = std::move(listing)](Result<runtime::Usages> usages) mutable {
      if (const auto self = weak.lock()) {
        if (usages) {
          self->looked(Look{.at = self->loop->now(),
                            .machine = read_machine_usage(self->source, self->loop->now()),
                            .listing = std::move(listing),
                            .usages = *std::move(usages)});
        } else {
          self->tell(tl::unexpected(usages.error()));
        }
      }
    });
  }

  void looked(Look now) {
    const bool comparable = before && now.at - before->at <= kStale && now.at > before->at;
    if (comparable) {
      last = compare(*before, now);
    }
    before = std::move(now);
    if (comparable) {
      tell(last);
    } else {
      second.set(kBetween, [this] { look(); });
    }
  }

  void tell(const Result<std::shared_ptr<const Measurement>>& result) {
    for (const Told& each : std::exchange(waiting, {})) {
      each(result);
    }
  }

  Loop* loop;
  runtime::Runtime* runtime;
  MachineSource source;
  Timer second;
  std::optional<Look> before;
  std::shared_ptr<const Measurement> last;
  std::vector<Told> waiting;
};

UsageMeter::UsageMeter(Loop& loop, runtime::Runtime& runtime, MachineSource source)
    : state_(std::make_shared<State>(loop, runtime, std::move(source))) {}

UsageMeter::~UsageMeter() {
  state_->second.cancel();
}

void UsageMeter::measure(Told done) {
  State& state = *state_;
  const TimePoint now = state.loop->now();
  if (state.last && state.last->at <= now && now - state.last->at < kFresh) {
    done(state.last);
    return;
  }
  state.waiting.push_back(std::move(done));
  if (state.waiting.size() == 1) {
    state.look();
  }
}

} // namespace berth::kubelet
