#include "berth/runtime/steering.h"

#include <string>

#include <gtest/gtest.h>

namespace berth::runtime {
namespace {

const SteeringDefaults kDefaults{.run_for = Duration::minutes(10),
                                 .init_runs_for = Duration::seconds(1),
                                 .stop_takes = Duration::millis(500)};

struct Case {
  const char* name;
  api::Labels annotations;
  Attempt attempt;
  Duration run_for;
  int exit_code;
  Duration stop_takes;
};

constexpr Attempt kApp{.container = "main", .role = "app"};
constexpr Attempt kInit{.container = "fetch", .role = "init"};
constexpr Attempt kSidecar{.container = "log", .role = "sidecar"};
constexpr Attempt attempt(std::uint32_t number) {
  return {.container = "main", .role = "app", .number = number};
}
const Duration kRun = kDefaults.run_for;
const Duration kInitRun = kDefaults.init_runs_for;
const Duration kStop = kDefaults.stop_takes;
const Duration kForever = Duration::max();

class Steers : public ::testing::TestWithParam<Case> {};

TEST_P(Steers, AsAnnotated) {
  const Case& given = GetParam();
  const Steering steering = steering_of(given.annotations, given.attempt, kDefaults);
  EXPECT_EQ(steering.run_for, given.run_for);
  EXPECT_EQ(steering.exit_code, given.exit_code);
  EXPECT_EQ(steering.stop_takes, given.stop_takes);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Steers,
    ::testing::Values(
        Case{"Nothing", {}, kApp, kRun, 0, kStop},
        Case{"NothingForInit", {}, kInit, kInitRun, 0, kStop},
        Case{"ASidecarRunsUntilStopped", {}, kSidecar, kForever, 0, kStop},
        Case{"NoRoleIsAnApp", {}, {.container = "main"}, kRun, 0, kStop},
        Case{"RunFor", {{"berth.dev/run-for", "1m30s"}}, kApp, Duration::seconds(90), 0, kStop},
        Case{"NotAtAll", {{"berth.dev/run-for", "0s"}}, kApp, Duration(), 0, kStop},
        Case{"Forever", {{"berth.dev/run-for", "forever"}}, kApp, kForever, 0, kStop},
        Case{"ThePodsWordIsNotForInit", {{"berth.dev/run-for", "1h"}}, kInit, kInitRun, 0, kStop},
        Case{"ThePodsWordIsNotForSidecars",
             {{"berth.dev/run-for", "1h"}, {"berth.dev/exit-code", "3"}},
             kSidecar,
             kForever,
             0,
             kStop},
        Case{"TheContainersOwnWordIs",
             {{"berth.dev/run-for.fetch", "5s"}},
             kInit,
             Duration::seconds(5),
             0,
             kStop},
        Case{"TheContainersOwnWordComesFirst",
             {{"berth.dev/run-for", "1h"}, {"berth.dev/run-for.main", "5s"}},
             kApp,
             Duration::seconds(5),
             0,
             kStop},
        Case{"AnotherContainersWordDoesNotCount",
             {{"berth.dev/run-for.other", "5s"}},
             kApp,
             kRun,
             0,
             kStop},
        Case{"ExitCode", {{"berth.dev/exit-code", "7"}}, kApp, kRun, 7, kStop},
        Case{"TheLargestExitCode", {{"berth.dev/exit-code", "255"}}, kApp, kRun, 255, kStop},
        Case{"StopTakes", {{"berth.dev/stop-takes", "20s"}}, kApp, kRun, 0, Duration::seconds(20)},
        Case{"SigtermIsIgnored", {{"berth.dev/stop-takes", "forever"}}, kApp, kRun, 0, kForever},
        Case{"FailsAtFirst", {{"berth.dev/fail-times", "2"}}, attempt(1), kRun, 1, kStop},
        Case{"ThenSucceeds", {{"berth.dev/fail-times", "2"}}, attempt(2), kRun, 0, kStop},
        Case{"FailsWithItsOwnCode",
             {{"berth.dev/fail-times", "2"}, {"berth.dev/exit-code", "9"}},
             attempt(0),
             kRun,
             9,
             kStop},
        Case{"ThenSucceedsAllTheSame",
             {{"berth.dev/fail-times", "2"}, {"berth.dev/exit-code", "9"}},
             attempt(2),
             kRun,
             0,
             kStop}),
    [](const auto& test) { return test.param.name; });

class Malformed : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(Malformed, CountsAsAbsent) {
  const auto& [key, value] = GetParam();
  const Steering steering = steering_of({{key, value}}, kApp, kDefaults);
  EXPECT_EQ(steering.run_for, kRun);
  EXPECT_EQ(steering.exit_code, 0);
  EXPECT_EQ(steering.stop_takes, kStop);
}

INSTANTIATE_TEST_SUITE_P(
    Values, Malformed,
    ::testing::Values(std::pair{"berth.dev/run-for", ""}, std::pair{"berth.dev/run-for", "5"},
                      std::pair{"berth.dev/run-for", "soon"}, std::pair{"berth.dev/run-for", "-5s"},
                      std::pair{"berth.dev/stop-takes", "-1ns"},
                      std::pair{"berth.dev/exit-code", "256"},
                      std::pair{"berth.dev/exit-code", "-1"},
                      std::pair{"berth.dev/exit-code", "1x"}, std::pair{"berth.dev/exit-code", ""},
                      std::pair{"berth.dev/fail-times", "-1"},
                      std::pair{"berth.dev/fail-times", "many"}));

} // namespace
} // namespace berth::runtime
