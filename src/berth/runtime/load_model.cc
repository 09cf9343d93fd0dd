#include "berth/runtime/load_model.h"

#include <algorithm>
#include <optional>

namespace berth::runtime {
namespace {

constexpr std::int64_t kNanocores = 1'000'000'000;
constexpr std::int64_t kMilli = 1'000'000; ///< nanocores
constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr Duration kFills = Duration::seconds(60);

/// FNV-1a, then a finish that spreads it: the sequence is the same on every platform.
class Dice {
 public:
  Dice& of(std::string_view text) {
    for (const char c : text) {
      state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
    }
    state_ = (state_ ^ 0xFFU) * 0x100000001B3ULL;
    return *this;
  }
  Dice& of(std::int64_t number) {
    state_ = (state_ ^ static_cast<std::uint64_t>(number)) * 0x9E3779B97F4A7C15ULL;
    return *this;
  }
  /// Uniform in [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) const {
    std::uint64_t x = state_;
    x = (x ^ (x >> 33U)) * 0xFF51AFD7ED558CCDULL;
    x = (x ^ (x >> 33U)) * 0xC4CEB9FE1A85EC53ULL;
    x ^= x >> 33U;
    return low + static_cast<std::int64_t>(x % static_cast<std::uint64_t>(high - low + 1));
  }

 private:
  std::uint64_t state_ = 0xCBF29CE484222325ULL;
};

/// A part in thousandths: the container's own middle, and a little up and down with time.
std::int64_t part(const Dice& who, std::string_view what, std::int64_t low, std::int64_t high,
                  TimePoint at) {
  constexpr std::int64_t kSwing = 40;
  const std::int64_t middle = Dice(who).of(what).between(low + kSwing, high - kSwing);
  const std::int64_t swing = Dice(who).of(what).of(at.unix_seconds()).between(-kSwing, kSwing);
  return middle + swing;
}

std::optional<api::Quantity> amount(const model::ResourceList& list, std::string_view resource) {
  const auto found = list.find(resource);
  return found == list.end() || found->second.sign() <= 0 ? std::nullopt
                                                          : std::optional(found->second);
}

/// What it asks for; its limit where it says only that.
std::optional<api::Quantity> wanted(const model::ResourceRequirements& resources,
                                    std::string_view resource) {
  const auto request = amount(resources.requests, resource);
  return request ? request : amount(resources.limits, resource);
}

std::int64_t nanocores(const api::Quantity& cpu) {
  constexpr std::int64_t kMost = 1'000'000; // cores; beyond them nobody computes
  return std::min(cpu.milli_value(), kMost * 1000) * kMilli;
}

std::int64_t thousandths(std::int64_t of, std::int64_t part) {
  return of / 1000 * part + of % 1000 * part / 1000;
}

} // namespace

TimePoint measured_at(TimePoint now) {
  const std::int64_t window = kLoadWindow.count_nanos();
  return TimePoint::from_unix_nanos(now.unix_nanos() / window * window);
}

Load load_of(const LoadSubject& subject, TimePoint now) {
  const TimePoint at = std::max(measured_at(now), subject.started_at);
  const Dice who = Dice().of(subject.pod_uid).of(subject.container);
  const auto cpu = wanted(subject.resources, "cpu");
  const auto memory = wanted(subject.resources, "memory");
  // What feeds GPUs without asking for anything takes about a core and 4 GiB for each.
  const std::int64_t cores = cpu                ? nanocores(*cpu)
                             : subject.gpus > 0 ? subject.gpus * kNanocores
                                                : 30 * kMilli;
  const std::int64_t bytes = memory             ? memory->value()
                             : subject.gpus > 0 ? subject.gpus * 4 * kGiB
                                                : 64 * kMiB;
  const std::int64_t filled = std::min<std::int64_t>(
      (at - subject.started_at).count_millis() * 1000 / kFills.count_millis(), 1000);
  const std::int64_t full = 300 + filled * 7 / 10; // thousandths of what it will hold in the end
  Load load{.cpu_nanocores = thousandths(cores, part(who, "cpu", 450, 900, at)),
            .memory_bytes =
                thousandths(thousandths(bytes, part(who, "memory", 500, 900, TimePoint())), full)};
  if (subject.gpus > 0) {
    load.gpu_percent = static_cast<int>(part(who, "gpu", 550, 1000, at) / 10);
    load.gpu_memory_percent =
        static_cast<int>(thousandths(part(who, "gpu-memory", 500, 950, TimePoint()), full) / 10);
  }
  if (const auto limit = amount(subject.resources.limits, "cpu")) {
    load.cpu_nanocores = std::min(load.cpu_nanocores, nanocores(*limit));
  }
  if (const auto limit = amount(subject.resources.limits, "memory")) {
    load.memory_bytes = std::min(load.memory_bytes, limit->value());
  }
  return load;
}

Load system_load(std::string_view node, TimePoint now) {
  const Dice who = Dice().of(node);
  const TimePoint at = measured_at(now);
  return {.cpu_nanocores = part(who, "cpu", 150, 450, at) * kMilli,
          .memory_bytes = part(who, "memory", 1500, 2500, TimePoint()) * kMiB};
}

} // namespace berth::runtime
