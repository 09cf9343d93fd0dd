#include "berth/sched/plugins/hami.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "berth/api/strict.h"
#include "berth/hardware/choose.h"
#include "berth/model/hami.h"
#include "berth/sched/cluster_state.h"

namespace berth::sched {
namespace {

namespace hami = model::hami;

constexpr std::uint64_t kTaken = 0;
constexpr std::uint64_t kMissing = 1;
constexpr std::uint64_t kChoice = 2;
constexpr std::uint64_t kQuota = 3;
constexpr std::uint64_t kLocked = 4;
constexpr int kAllCores = 100;

/// What pods were given that may not say so themselves yet, by uid.
using Book = std::map<std::string, hami::PodShares, std::less<>>;

std::string_view annotation(const model::Pod& pod, std::string_view key) {
  const auto it = pod.meta.annotations.find(key);
  return it == pod.meta.annotations.end() ? std::string_view() : std::string_view(it->second);
}

/// What is between commas, without blanks around it.
std::vector<std::string> items_of(std::string_view rest) {
  std::vector<std::string> items;
  while (!rest.empty()) {
    std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    while (item.starts_with(' ')) {
      item.remove_prefix(1);
    }
    while (item.ends_with(' ')) {
      item.remove_suffix(1);
    }
    if (!item.empty()) {
      items.emplace_back(item);
    }
  }
  return items;
}

std::vector<std::string> list_of(const model::Pod& pod, std::string_view key) {
  return items_of(annotation(pod, key));
}

std::string upper(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return out;
}

/// The first of the list that is one; others are for other things, or unknown.
HamiPolicy policy_of(const model::Pod& pod, std::string_view key, HamiPolicy otherwise) {
  for (const std::string& item : list_of(pod, key)) {
    if (item == "binpack" || item == "spread") {
      return item == "binpack" ? HamiPolicy::Binpack : HamiPolicy::Spread;
    }
  }
  return otherwise;
}

/// Takes one word of a policy of GPUs in; false: it is none.
bool add_word(std::string_view word, HamiGpuPolicy& policy) {
  using Key = HamiGpuPolicy::Key;
  static constexpr std::pair<std::string_view, Key> kKeys[] = {
      {"binpack", Key::Binpack}, {"spread", Key::Spread}, {"numa", Key::Numa}};
  policy.unused_only = policy.unused_only || word == "mutex";
  policy.topology = policy.topology || word == "topology-aware";
  for (const auto& [name, key] : kKeys) {
    if (word == name) {
      policy.chained = policy.chained || key == Key::Numa;
      if (std::ranges::find(policy.keys, key) == policy.keys.end()) {
        policy.keys.push_back(key);
      }
      return true;
    }
  }
  return word == "mutex" || word == "topology-aware";
}

/// Words that are none are passed over; without any that is one, `otherwise`.
HamiGpuPolicy gpu_policy_of(const model::Pod& pod, const HamiGpuPolicy& otherwise) {
  HamiGpuPolicy policy;
  int words = 0;
  for (const std::string& word : list_of(pod, hami::kGpuPolicy)) {
    words += add_word(word, policy) ? 1 : 0;
  }
  policy.chained = policy.chained || words > 1;
  return words == 0 ? otherwise : policy;
}

/// The pod that the node is locked for, "NAMESPACE,NAME"; "" for none.
std::string_view locked_for(const model::Node& node) {
  const auto lock = node.meta.annotations.find(hami::kLock);
  const std::string_view text =
      lock == node.meta.annotations.end() ? std::string_view() : std::string_view(lock->second);
  const std::size_t comma = text.find(',');
  return comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
}

/// The machine of the builtin catalogue, by the node's labels and the number of GPUs that are
/// registered: NodeInfo::platform is not known where nvidia.com/gpu are no whole GPUs.
const hardware::Platform* machine_of(const model::Node& node, std::size_t gpus) {
  const auto label = [&](std::string_view key) {
    const auto found = node.meta.labels.find(key);
    return found == node.meta.labels.end() ? std::string_view() : std::string_view(found->second);
  };
  const auto& catalogue = hardware::Catalogue::builtin();
  if (const auto* named = catalogue.find(label(model::kPlatformLabel))) {
    return named->gpus.size() == gpus ? named : nullptr;
  }
  const std::string_view product = label("nvidia.com/gpu.product");
  for (const std::string& name : catalogue.names()) {
    const hardware::Platform* platform = catalogue.find(name);
    const auto& also = platform->also_products;
    if (!product.empty() && platform->gpus.size() == gpus &&
        (platform->gpu_model.product == product ||
         std::ranges::find(also, product) != also.end())) {
      return platform;
    }
  }
  return nullptr;
}

/// Memory and cores of vGPUs together.
struct Sum {
  std::int64_t memory = 0; ///< MiB
  std::int64_t cores = 0;

  void add(const hami::Share& share, std::int64_t sign = 1) {
    memory += sign * share.memory;
    cores += sign * share.cores;
  }
};

enum class Quota { Count, Ignore };

/// A GPU and what is in use of it.
struct Gpu {
  hami::Device device;
  int used = 0; ///< containers
  std::int64_t memory = 0;
  int cores = 0;

  void add(const hami::Share& share) {
    ++used;
    memory += share.memory;
    cores += share.cores;
  }
  /// Thousandths of each of its three amounts, added up.
  std::int64_t load() const {
    const auto part = [](std::int64_t of, std::int64_t all) {
      constexpr std::int64_t kPermille = 1000;
      return all > 0 ? of * kPermille / all : 0;
    };
    return part(used, device.count) + part(memory, device.memory) + part(cores, device.cores);
  }
};

class HamiRun final : public Run {
 public:
  HamiRun(PodPtr pod, std::vector<hami::Request> requests, const ClusterState& state,
          std::shared_ptr<Book> book, const HamiArgs& args)
      : pod_(std::move(pod)), requests_(std::move(requests)), state_(&state),
        book_(std::move(book)), nodes_(policy_of(*pod_->pod, hami::kNodePolicy, args.nodes)),
        gpus_(gpu_policy_of(*pod_->pod, args.gpus)),
        use_types_(list_of(*pod_->pod, hami::kUseType)),
        no_types_(list_of(*pod_->pod, hami::kNoUseType)),
        use_uuids_(list_of(*pod_->pod, hami::kUseUuid)),
        no_uuids_(list_of(*pod_->pod, hami::kNoUseUuid)),
        modes_(annotation(*pod_->pod, hami::kMode)),
        bound_to_numa_(annotation(*pod_->pod, hami::kNumaBind) == "true"),
        limits_(state.vgpu_quotas().limits(pod_->ns())) {
    for (const PlacedPod* placed :
         limits_.any() ? state.placed_pods() : std::vector<const PlacedPod*>()) {
      count(*placed->pod, 1);
    }
  }

  // What was reserved is the plugin's to know: never answered from memory.
  Reach reach() const override { return Reach::Cluster; }
  Grading grading() const override { return Grading::Absolute; }

  Verdict filter(NodeId id) const override {
    const std::vector<Gpu> gpus = look(id, {});
    if (gpus.empty()) {
      return Verdict::unresolvable(kMissing);
    }
    if (std::ranges::none_of(gpus, [&](const Gpu& gpu) { return taken_by_pod(gpu.device); })) {
      return Verdict::unresolvable(kChoice);
    }
    if (is_locked(id)) {
      return Verdict::unschedulable(kLocked);
    }
    const hardware::Platform* platform = platform_of(*state_->node(id).node, gpus);
    if (place(gpus, platform, Quota::Count)) {
      return Verdict::feasible();
    }
    const bool quota = limits_.any() && place(gpus, platform, Quota::Ignore);
    return Verdict::unschedulable(quota ? kQuota : kTaken);
  }

  void add_pod(const PodInfo& pod, NodeId) override { count(pod, 1); }
  void remove_pod(const PodInfo& pod, NodeId) override { count(pod, -1); }

  std::vector<std::string> reasons(NodeId, Verdict verdict) const override {
    return {std::string(verdict.detail == kChoice    ? kReasonHamiChoice
                        : verdict.detail == kMissing ? kReasonHamiMissing
                        : verdict.detail == kQuota   ? kReasonHamiQuota
                        : verdict.detail == kLocked  ? kReasonHamiLocked
                                                     : kReasonHamiTaken)};
  }

  std::int64_t score(NodeId id) const override {
    constexpr std::int64_t kMostLoad = 3000; // of a GPU, in thousandths
    std::int64_t load = 0;
    const std::vector<Gpu> gpus = look(id, {});
    for (const Gpu& gpu : gpus) {
      load += std::min(gpu.load(), kMostLoad);
    }
    const std::int64_t all = kMostLoad * std::max<std::int64_t>(1, std::ssize(gpus));
    const std::int64_t used = load * kMaxNodeScore / all;
    return nodes_ == HamiPolicy::Binpack ? used : kMaxNodeScore - used;
  }

  Status reserve(const PodInfo& pod, const ClusterState& state, Reservation& reservation) override {
    const std::vector<Gpu> gpus = look(reservation.node, pod.uid);
    auto shares = place(gpus, platform_of(*state.node(reservation.node).node, gpus), Quota::Count);
    if (!shares) {
      return Status::of(StatusCode::Unschedulable, std::string(kReasonHamiTaken));
    }
    std::erase_if(*book_, [&](const auto& each) { return state.find_pod(each.first) == nullptr; });
    const std::string text = hami::encode_shares(*shares);
    book_->insert_or_assign(pod.uid, *std::move(shares));
    const TimePoint made = pod.pod->meta.creation_timestamp.value_or(TimePoint());
    for (const auto& [key, value] :
         {std::pair(hami::kToAllocate, text), std::pair(hami::kAllocated, text),
          std::pair(hami::kNode, state.node_name(reservation.node)),
          std::pair(hami::kBindPhase, std::string("allocating")),
          std::pair(hami::kBindTime, fmt::to_string(made.unix_seconds()))}) {
      reservation.annotations.insert_or_assign(std::string(key), value);
    }
    return Status::success();
  }

 private:
  /// What the pod has, or is to have.
  hami::PodShares shares_of(const PodInfo& pod) const {
    if (auto shares = hami::shares_of(*pod.pod)) {
      return *std::move(shares);
    }
    const auto known = book_->find(pod.uid);
    return known == book_->end() ? hami::PodShares() : known->second;
  }

  /// Adds what a placed pod has to what the namespace has, or with sign -1 takes it away.
  void count(const PodInfo& pod, std::int64_t sign) {
    if (!limits_.any() || pod.uid == pod_->uid || pod.ns() != pod_->ns()) {
      return;
    }
    for (const auto& container : shares_of(pod)) {
      for (const hami::Share& share : container) {
        used_.add(share, sign);
      }
    }
  }

  /// The node's GPUs with what pods but `except` have of them.
  std::vector<Gpu> look(NodeId id, std::string_view except) const {
    const NodeInfo& node = state_->node(id);
    std::vector<Gpu> gpus;
    for (hami::Device& device : hami::devices_of(*node.node)) {
      gpus.push_back({.device = std::move(device)});
    }
    for (const PodSlot slot : gpus.empty() ? std::vector<PodSlot>() : node.pods) {
      const PodInfo& pod = *state_->placed(slot).pod;
      if (pod.uid == except) {
        continue;
      }
      for (const auto& container : shares_of(pod)) {
        for (const hami::Share& share : container) {
          const auto gpu =
              std::ranges::find(gpus, share.uuid, [](const Gpu& each) { return each.device.uuid; });
          if (gpu != gpus.end()) {
            gpu->add(share);
          }
        }
      }
    }
    return gpus;
  }

  /// nullptr: it is not known, or the policy does not ask for it.
  const hardware::Platform* platform_of(const model::Node& node,
                                        const std::vector<Gpu>& gpus) const {
    return gpus_.topology ? machine_of(node, gpus.size()) : nullptr;
  }

  /// As long as a pod on the node is given its vGPUs, another scheduler's word counts.
  bool is_locked(NodeId id) const {
    const NodeInfo& node = state_->node(id);
    const std::string_view name = locked_for(*node.node);
    return !name.empty() && std::ranges::any_of(node.pods, [&](const PodSlot slot) {
      const PodInfo& pod = *state_->placed(slot).pod;
      return pod.uid != pod_->uid && annotation(*pod.pod, hami::kBindPhase) == hami::kAllocating &&
             !book_->contains(pod.uid) &&
             name == fmt::format("{},{}", pod.ns(), pod.pod->meta.name);
    });
  }

  bool taken_by_pod(const hami::Device& device) const {
    const std::string type = upper(device.type);
    const auto of_type = [&](const std::string& part) {
      return type.find(upper(part)) != std::string::npos;
    };
    const auto is_it = [&](const std::string& uuid) { return uuid == device.uuid; };
    return (use_types_.empty() || std::ranges::any_of(use_types_, of_type)) &&
           std::ranges::none_of(no_types_, of_type) &&
           (use_uuids_.empty() ? std::ranges::none_of(no_uuids_, is_it)
                               : std::ranges::any_of(use_uuids_, is_it)) &&
           device.mode != "mig" &&
           (modes_.empty() || modes_.find(device.mode) != std::string_view::npos);
  }

  bool holds(const Gpu& gpu, const hami::Request& request) const {
    const hami::Device& device = gpu.device;
    const bool alone = device.cores == kAllCores && request.cores == kAllCores;
    const bool no_cores_left = device.cores > 0 && gpu.cores >= device.cores;
    return device.healthy && taken_by_pod(device) && gpu.used < device.count &&
           !(gpus_.unused_only && gpu.used > 0) &&
           device.memory - gpu.memory >= request.memory_of(device) &&
           device.cores - gpu.cores >= request.cores && !(alone && gpu.used > 0) &&
           !(no_cores_left && request.cores == 0);
  }

  /// The lowest is the best.
  std::vector<std::int64_t> rank_of(const Gpu& gpu) const {
    using Key = HamiGpuPolicy::Key;
    const std::int64_t numa = gpu.device.numa;
    if (!gpus_.chained) {
      const bool pack = !gpus_.keys.empty() && gpus_.keys.front() == Key::Binpack;
      const std::int64_t sign = pack ? 1 : -1;
      return {bound_to_numa_ ? sign * numa : 0, -sign * gpu.load(), sign * numa, gpu.device.index};
    }
    std::vector<std::int64_t> rank;
    if (bound_to_numa_) {
      rank.push_back(-numa);
    }
    for (const Key key : gpus_.keys.empty() ? std::vector{Key::Spread} : gpus_.keys) {
      rank.push_back(key == Key::Numa ? -numa : key == Key::Spread ? gpu.load() : -gpu.load());
    }
    rank.push_back(-gpu.device.index);
    return rank;
  }

  /// Best first.
  std::vector<std::size_t> order_of(const std::vector<Gpu>& gpus) const {
    std::vector<std::pair<std::vector<std::int64_t>, std::size_t>> ranked;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      ranked.emplace_back(rank_of(gpus[i]), i);
    }
    std::ranges::sort(ranked);
    std::vector<std::size_t> order;
    for (const auto& [rank, i] : ranked) {
      order.push_back(i);
    }
    return order;
  }

  bool within_quota(Sum with, const hami::Share& share) const {
    with.add(share);
    return with.memory <= limits_.memory.value_or(INT64_MAX) &&
           with.cores <= limits_.cores.value_or(INT64_MAX);
  }

  static hami::Share share_of(const Gpu& gpu, const hami::Request& request) {
    return {
        .uuid = gpu.device.uuid, .memory = request.memory_of(gpu.device), .cores = request.cores};
  }

  /// The GPUs that belong together most, of those that can hold the container; empty where the
  /// machine is not known, there are not as many, or the quota leaves no room for them.
  std::vector<std::size_t> pick_together(const std::vector<Gpu>& gpus,
                                         const hardware::Platform& platform,
                                         const hami::Request& request, const Sum& had,
                                         Quota quota) const {
    hardware::GpuMask open = 0;
    std::map<int, std::size_t> places; // by index of the GPU
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const int index = gpus[i].device.index;
      if (index >= 0 && index < std::ssize(platform.gpus) && holds(gpus[i], request)) {
        open |= hardware::GpuMask{1} << static_cast<unsigned>(index);
        places.emplace(index, i);
      }
    }
    const auto chosen =
        hardware::choose_gpus(platform, open, request.gpus, hardware::ChoicePolicy::Topology);
    if (!chosen) {
      return {};
    }
    Sum with = had;
    std::vector<std::size_t> picked;
    for (const auto& [index, i] : places) {
      if ((*chosen >> static_cast<unsigned>(index) & 1U) == 0) {
        continue;
      }
      const hami::Share share = share_of(gpus[i], request);
      if (quota == Quota::Count && !within_quota(with, share)) {
        return {};
      }
      with.add(share);
      picked.push_back(i);
    }
    return picked;
  }

  /// Distinct GPUs for one container; empty if there are not as many. `had`: what the namespace has
  /// with the pod's containers before.
  std::vector<std::size_t> pick(const std::vector<Gpu>& gpus, const hardware::Platform* platform,
                                const hami::Request& request, const Sum& had, Quota quota) const {
    if (gpus_.topology && platform != nullptr && !bound_to_numa_) {
      if (auto together = pick_together(gpus, *platform, request, had, quota); !together.empty()) {
        return together;
      }
    }
    Sum with = had;
    std::vector<std::size_t> picked;
    const auto wanted = static_cast<std::size_t>(request.gpus);
    for (const std::size_t i : order_of(gpus)) {
      if (picked.size() == wanted || !holds(gpus[i], request)) {
        continue;
      }
      if (bound_to_numa_ && !picked.empty() &&
          gpus[picked.front()].device.numa != gpus[i].device.numa) {
        picked.clear(); // nodes come one after the other: begin again with this one
        with = had;
      }
      const hami::Share share = share_of(gpus[i], request);
      if (quota == Quota::Count && !within_quota(with, share)) {
        continue;
      }
      with.add(share);
      picked.push_back(i);
    }
    return picked.size() == wanted ? picked : std::vector<std::size_t>();
  }

  std::optional<hami::PodShares> place(std::vector<Gpu> gpus, const hardware::Platform* platform,
                                       Quota quota) const {
    hami::PodShares shares;
    Sum had = used_;
    for (const hami::Request& request : requests_) {
      std::vector<hami::Share>& list = shares.emplace_back();
      const std::vector<std::size_t> picked = pick(gpus, platform, request, had, quota);
      if (picked.empty() && request.gpus > 0) {
        return std::nullopt;
      }
      for (const std::size_t i : picked) {
        list.push_back(share_of(gpus[i], request));
        gpus[i].add(list.back());
        had.add(list.back());
      }
    }
    return shares;
  }

  PodPtr pod_;
  std::vector<hami::Request> requests_;
  const ClusterState* state_;
  std::shared_ptr<Book> book_;
  HamiPolicy nodes_;
  HamiGpuPolicy gpus_;
  std::vector<std::string> use_types_;
  std::vector<std::string> no_types_;
  std::vector<std::string> use_uuids_;
  std::vector<std::string> no_uuids_;
  std::string modes_;
  bool bound_to_numa_;
  VgpuLimits limits_; ///< of the pod's namespace
  Sum used_;          ///< by its placed pods; counted only where there are limits
};

class Hami final : public Plugin {
 public:
  explicit Hami(HamiArgs args) : args_(std::move(args)) {}

  std::string_view name() const override { return kHami; }
  Points points() const override { return Point::Filter | Point::Score | Point::Reserve; }

  std::vector<EventInterest> events() const override {
    return {{.resource = EventResource::AssignedPod, .action = actions::kDelete},
            {.resource = EventResource::Node, .action = actions::kAdd | actions::kNodeAnnotation},
            {.resource = EventResource::ResourceQuota, .action = actions::kAll}};
  }

  bool looks_beyond_shape() const override { return true; }

  Prepared prepare(const PodPtr& pod, const ClusterState& state) const override {
    auto requests = hami::requests_of(*pod->pod);
    if (!requests) {
      return {.status = Status::of(StatusCode::Unresolvable, requests.error().message),
              .run = nullptr,
              .nodes = {}};
    }
    if (requests->empty()) {
      return {.status = Status::skip(), .run = nullptr, .nodes = {}};
    }
    return {.status = {},
            .run = std::make_unique<HamiRun>(pod, *std::move(requests), state, book_, args_),
            .nodes = {}};
  }

  Effects unreserve(const PodPtr& pod, NodeId, const ClusterState&) override {
    if (const auto known = book_->find(pod->uid); known != book_->end()) {
      book_->erase(known);
    }
    return {};
  }

 private:
  HamiArgs args_;
  std::shared_ptr<Book> book_ = std::make_shared<Book>();
};

void read_gpu_policy(const api::Field& in, std::string_view name, HamiGpuPolicy& out) {
  in.within(name, [&](const api::Field& field) {
    std::string text;
    decode(field, text);
    HamiGpuPolicy policy;
    const std::vector<std::string> words = items_of(text);
    for (const std::string& word : words) {
      add_word(word, policy);
      api::check_choice(field, word, {"binpack", "spread", "numa", "mutex", "topology-aware"});
    }
    if (words.empty()) {
      api::check_choice(field, text, {"binpack", "spread", "numa", "mutex", "topology-aware"});
    }
    policy.chained = policy.chained || words.size() > 1;
    out = std::move(policy);
  });
}

void read_node_policy(const api::Field& in, std::string_view name, HamiPolicy& out) {
  in.within(name, [&](const api::Field& field) {
    std::string policy;
    decode(field, policy);
    api::check_choice(field, policy, {"binpack", "spread"});
    out = policy == "spread" ? HamiPolicy::Spread : HamiPolicy::Binpack;
  });
}

} // namespace

void decode(const api::Field& in, HamiArgs& out) {
  api::refuse_unknown(in, {"nodeSchedulerPolicy", "gpuSchedulerPolicy"});
  read_node_policy(in, "nodeSchedulerPolicy", out.nodes);
  read_gpu_policy(in, "gpuSchedulerPolicy", out.gpus);
}

Result<HamiArgs> parse_hami_args(const boost::json::value& args) {
  return api::decode_document<HamiArgs>(args);
}

std::unique_ptr<Plugin> make_hami(HamiArgs args) {
  return std::make_unique<Hami>(std::move(args));
}

} // namespace berth::sched
