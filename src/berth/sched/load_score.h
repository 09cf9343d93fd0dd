// Scores from measured load, as Trimaran's plugins of scheduler-plugins compute them: pure formulas
// in float64, in upstream's order of operations. Source: scheduler-plugins pkg/trimaran (spec 12).
#pragma once

#include <cstdint>

namespace berth::sched {

/// TargetLoadPacking. `utilisation` is what the node is expected to use with the pod, in percent
/// (0 and up); `target` in (0, 100). Up to the target the score rises from the target to 100, then
/// it falls from the target to 0 at 100 %; beyond: 0. Rounded half away from zero.
std::int64_t packing_score(double utilisation, double target);

/// One resource of a node, all in one unit.
struct LoadStats {
  double capacity = 0;
  double asked = 0;          ///< by the pod
  double used = 0;           ///< mean
  double used_deviation = 0; ///< standard deviation
};

/// LoadVariationRiskBalancing, one resource: (1 - (mu + margin * sigma^(1/sensitivity)) / 2) * 100
/// with mu = (used + asked) / capacity and sigma = deviation / capacity, each cut to [0, 1]. Not
/// rounded. Without capacity: 0.
double variation_score(const LoadStats& stats, double margin, double sensitivity);

/// Requests and limits of all pods on a node, one resource, limits no less than requests.
struct Commitment {
  double capacity = 0;
  double requests = 0, limits = 0;               ///< with the pod
  double requests_before = 0, limits_before = 0; ///< without it
};
struct OverCommitmentOptions {
  double window = 5;         ///< of the smoothing that the measured deviation went through
  double limit_weight = 0.5; ///< of the risk by limits; the rest is the risk by load
};

/// LowRiskOverCommitment, one resource, 0..1: how likely it is that pods want what the node has
/// not. By limits: (limits - capacity) / (limits - requests) where limits exceed the capacity. By
/// load: the probability that a beta distribution with the measured mean and deviation is above
/// what is requested without the pod (given that it is within the limits, if these are below the
/// capacity). `stats.asked` is not read; without measurements (`measured` false) the load has no
/// part.
enum class Measured { No, Yes };
double over_commitment_risk(const Commitment& commitment, const LoadStats& stats, Measured measured,
                            const OverCommitmentOptions& options);

} // namespace berth::sched
