#include "berth/sched/load_score.h"

#include <algorithm>
#include <cmath>

#include <boost/math/special_functions/beta.hpp>

namespace berth::sched {
namespace {

constexpr double kMostScore = 100;
constexpr double kMaxVarianceAllowance = 0.99;

struct MuSigma {
  double mu = 0;
  double sigma = 0;
};

/// As shares of the capacity, within [0, 1].
MuSigma mu_sigma(const LoadStats& stats) {
  const double used = std::clamp(stats.used, 0.0, stats.capacity);
  const double deviation = std::clamp(stats.used_deviation, 0.0, stats.capacity);
  const double asked = std::max(stats.asked, 0.0);
  return {.mu = std::clamp((used + asked) / stats.capacity, 0.0, 1.0),
          .sigma = std::clamp(deviation / stats.capacity, 0.0, 1.0)};
}

/// Distribution function of the beta distribution with this mean and deviation. Precondition: 0 <
/// mean < 1, 0 < deviation^2 < mean (1 - mean).
double beta_below(const MuSigma& moments, double threshold) {
  using boost::math::policies::ignore_error;
  using Quiet = boost::math::policies::policy<boost::math::policies::domain_error<ignore_error>,
                                              boost::math::policies::overflow_error<ignore_error>,
                                              boost::math::policies::underflow_error<ignore_error>,
                                              boost::math::policies::evaluation_error<ignore_error>,
                                              boost::math::policies::promote_double<false>>;
  const double m = moments.mu;
  const double spread = m * (1 - m) / (moments.sigma * moments.sigma) - 1;
  const double below = boost::math::ibeta(m * spread, (1 - m) * spread, threshold, Quiet());
  return std::isfinite(below) ? std::clamp(below, 0.0, 1.0) : 1.0;
}

double limit_risk(const Commitment& c) {
  if (c.limits <= c.capacity) {
    return 0;
  }
  return c.limits <= c.requests ? 1 : (c.limits - c.capacity) / (c.limits - c.requests);
}

double load_risk(const Commitment& c, const LoadStats& stats, double window) {
  MuSigma moments = mu_sigma({.capacity = stats.capacity,
                              .asked = 0,
                              .used = stats.used,
                              .used_deviation = stats.used_deviation});
  moments.sigma *= std::pow(window, 0.5);
  moments.sigma =
      std::min(moments.sigma, std::sqrt(moments.mu * (1 - moments.mu) * kMaxVarianceAllowance));
  const double requested = std::clamp(c.requests_before / c.capacity, 0.0, 1.0);
  const bool spread_out = moments.mu > 0 && moments.sigma > 0;
  double below = 1;
  if (spread_out) {
    below = beta_below(moments, requested);
  } else if (moments.mu > requested) {
    below = 0;
  }
  if (c.limits_before < c.capacity) {
    if (c.limits_before <= 0) {
      below = 1; // nobody may use anything
    } else if (spread_out) {
      const double within = beta_below(moments, c.limits_before / c.capacity);
      below = within > 0 ? std::clamp(below / within, 0.0, 1.0) : below;
    }
  }
  return 1 - below;
}

} // namespace

std::int64_t packing_score(double utilisation, double target) {
  if (utilisation > 100) {
    return 0;
  }
  const double score = utilisation > target ? target * (100 - utilisation) / (100 - target)
                                            : (100 - target) * utilisation / target + target;
  return static_cast<std::int64_t>(std::round(score));
}

double variation_score(const LoadStats& stats, double margin, double sensitivity) {
  if (stats.capacity <= 0) {
    return 0;
  }
  auto [mu, sigma] = mu_sigma(stats);
  sigma = std::pow(sigma, 1 / sensitivity);
  sigma = std::clamp(sigma * margin, 0.0, 1.0);
  const double risk = (mu + sigma) / 2;
  return (1.0 - risk) * kMostScore;
}

double over_commitment_risk(const Commitment& commitment, const LoadStats& stats, Measured measured,
                            const OverCommitmentOptions& options) {
  if (commitment.capacity <= 0) {
    return 1;
  }
  const double by_load =
      measured == Measured::Yes ? load_risk(commitment, stats, options.window) : 0;
  const double w = options.limit_weight;
  return std::clamp(w * limit_risk(commitment) + (1 - w) * by_load, 0.0, 1.0);
}

} // namespace berth::sched
