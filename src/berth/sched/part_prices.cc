#include "berth/sched/part_prices.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace berth::sched {
namespace {

constexpr std::int32_t kStep = 10; // milli
constexpr std::int32_t kWhole = 1000;
constexpr int kRounds = 8000;
constexpr double kLearning = 0.05;

struct Size {
  std::size_t steps = 0; ///< rounded up: it needs that much
  double wanted = 0;
};

/// Each size's price by what filling a GPU with it displaces: sizes that the best filling at the
/// current prices covers well become cheaper.
class Pricing {
 public:
  Pricing(std::vector<Size> sizes, std::size_t steps)
      : sizes_(std::move(sizes)), log_(sizes_.size(), 0), price_(sizes_.size(), 0), steps_(steps) {}

  /// Prices at which a full GPU is worth 1 and demand earns the most seen.
  std::vector<double> solve() {
    std::vector<double> best_prices;
    double best = -1;
    for (int round = 0; round < kRounds; ++round) {
      reprice();
      fill();
      double earned = 0;
      for (std::size_t i = 0; i < sizes_.size(); ++i) {
        earned += sizes_[i].wanted * price_[i];
      }
      earned /= worth_.back();
      if (earned > best) {
        best = earned;
        best_prices = price_;
        std::ranges::for_each(best_prices, [&](double& price) { price /= worth_.back(); });
      }
      learn();
    }
    return best_prices;
  }

 private:
  void reprice() {
    const double most = std::ranges::max(log_);
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      price_[i] = std::exp(log_[i] - most) / sizes_[i].wanted;
    }
  }

  /// The knapsack of every length up to a whole GPU.
  void fill() {
    worth_.assign(steps_ + 1, 0);
    last_.assign(steps_ + 1, sizes_.size());
    for (std::size_t room = 1; room <= steps_; ++room) {
      worth_[room] = worth_[room - 1];
      for (std::size_t i = 0; i < sizes_.size(); ++i) {
        const std::size_t steps = sizes_[i].steps;
        if (steps <= room && worth_[room - steps] + price_[i] > worth_[room]) {
          worth_[room] = worth_[room - steps] + price_[i];
          last_[room] = i;
        }
      }
    }
  }

  void learn() {
    std::vector<double> covered(sizes_.size(), 0);
    for (std::size_t room = steps_; room > 0;) {
      if (last_[room] == sizes_.size()) {
        --room;
      } else {
        covered[last_[room]] += 1 / sizes_[last_[room]].wanted;
        room -= sizes_[last_[room]].steps;
      }
    }
    const double most = std::ranges::max(covered);
    for (std::size_t i = 0; i < sizes_.size() && most > 0; ++i) {
      log_[i] -= kLearning * covered[i] / most;
    }
  }

  std::vector<Size> sizes_;
  std::vector<double> log_;
  std::vector<double> price_;
  std::vector<double> worth_;
  std::vector<std::size_t> last_;
  std::size_t steps_;
};

std::size_t steps_up(std::int32_t milli) {
  return static_cast<std::size_t>((std::clamp(milli, 0, kWhole) + kStep - 1) / kStep);
}

std::size_t steps_down(std::int32_t milli) {
  return static_cast<std::size_t>(std::clamp(milli, 0, kWhole) / kStep);
}

} // namespace

PartPrices::PartPrices(const TargetWorkload& target) {
  std::map<std::size_t, double> wanted;
  for (const auto& [demand, count] : target.pods) {
    if (demand.gpus == 1 && demand.milli > 0 && demand.milli < kWhole) {
      wanted[steps_up(demand.milli)] += static_cast<double>(count);
    }
  }
  wanted[kSteps] += 1; // a whole GPU is always worth a whole GPU
  std::vector<Size> sizes;
  for (const auto& [steps, count] : wanted) {
    sizes.push_back({.steps = steps, .wanted = count});
  }
  if (sizes.size() == 1) {
    for (std::size_t i = 0; i <= kSteps; ++i) {
      worth_[i] = static_cast<double>(i) * kStep;
    }
    return;
  }
  const std::vector<double> prices = Pricing(sizes, kSteps).solve();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    price_[sizes[i].steps] = prices[i] * kWhole;
  }
  for (std::size_t room = 1; room <= kSteps; ++room) {
    worth_[room] = worth_[room - 1];
    for (const Size& size : sizes) {
      if (size.steps <= room) {
        worth_[room] = std::max(worth_[room], worth_[room - size.steps] + price_[size.steps]);
      }
    }
  }
}

double PartPrices::worth(std::int32_t milli_left) const {
  return worth_[steps_down(milli_left)];
}

double PartPrices::price(std::int32_t milli) const {
  const std::size_t steps = steps_up(milli);
  return price_[steps] > 0 ? price_[steps] : worth_[steps];
}

double PartPrices::regret(std::int32_t milli_left, std::int32_t milli) const {
  return std::max(0.0, worth(milli_left) - worth(milli_left - milli) - price(milli));
}

} // namespace berth::sched
