// Pods with random terms about other pods: what scheduling across nodes is tried with.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "berth/base/rng.h"
#include "berth/testing/scheduling_world.h"

namespace berth::test {

/// Spread constraints and (anti-)affinity terms of many kinds about the label app.
class RandomTerms {
 public:
  explicit RandomTerms(Rng& rng) : rng_(&rng) {}

  PodBuilder add_to(PodBuilder builder) {
    builder.label("app", rng_->chance(1, 2) ? "x" : "y");
    if (rng_->chance(1, 4)) {
      return builder; // others may have terms about it
    }
    if (rng_->chance(1, 2)) {
      std::string constraints = constraint();
      if (rng_->chance(1, 3)) {
        constraints += "," + constraint();
      }
      builder = with_spec(builder, "topologySpreadConstraints", "[" + constraints + "]");
    }
    if (rng_->chance(1, 2)) {
      std::string affinity = terms();
      if (rng_->chance(1, 4)) {
        const std::string other = terms();
        const bool both = affinity.substr(0, 14) != other.substr(0, 14);
        affinity += both ? "," + other : "";
      }
      builder = with_spec(builder, "affinity", "{" + affinity + "}");
    }
    return builder;
  }

 private:
  std::string_view key() {
    constexpr std::string_view kKeys[] = {"zone", "rack", "kubernetes.io/hostname", "nowhere"};
    return kKeys[rng_->chance(1, 20) ? 3 : rng_->below(3)];
  }
  std::string selector() {
    constexpr std::string_view kSelectors[] = {
        R"({"matchLabels": {"app": "x"}})", R"({"matchLabels": {"app": "y"}})",
        R"({"matchExpressions": [{"key": "app", "operator": "Exists"}]})", "{}"};
    return std::string(kSelectors[rng_->chance(1, 12) ? 3 : rng_->below(3)]);
  }
  std::string constraint() {
    return fmt::format(
        R"({{"maxSkew": {}, "topologyKey": "{}", "whenUnsatisfiable": "{}", "labelSelector": {}{}{}{}}})",
        1 + rng_->below(3), key(), rng_->chance(1, 2) ? "DoNotSchedule" : "ScheduleAnyway",
        selector(), rng_->chance(1, 6) ? R"(, "nodeTaintsPolicy": "Honor")" : "",
        rng_->chance(1, 6) ? R"(, "nodeAffinityPolicy": "Ignore")" : "",
        rng_->chance(1, 6) ? R"(, "matchLabelKeys": ["app"])" : "");
  }
  std::string term() {
    constexpr std::string_view kNamespaces[] = {
        "", R"(, "namespaces": ["other"])", R"(, "namespaceSelector": {})",
        R"(, "namespaceSelector": {"matchLabels": {"team": "x"}})"};
    return fmt::format(R"({{"topologyKey": "{}", "labelSelector": {}{}}})", key(), selector(),
                       kNamespaces[rng_->chance(1, 2) ? 0 : rng_->below(4)]);
  }
  std::string terms() {
    const std::string_view affinity = rng_->chance(1, 2) ? "podAffinity" : "podAntiAffinity";
    if (rng_->chance(1, 2)) {
      return fmt::format(R"("{}": {{"requiredDuringSchedulingIgnoredDuringExecution": [{}{}]}})",
                         affinity, term(), rng_->chance(1, 5) ? "," + term() : "");
    }
    return fmt::format(R"("{}": {{"preferredDuringSchedulingIgnoredDuringExecution":
                       [{{"weight": {}, "podAffinityTerm": {}}}]}})",
                       affinity, 1 + rng_->below(3) * 40, term());
  }

  Rng* rng_;
};

} // namespace berth::test
