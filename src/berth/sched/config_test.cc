#include "berth/sched/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/assert.h"
#include "berth/testing/scheduling_world.h"

namespace berth::sched {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

constexpr std::string_view kHead =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

/// Sorts the queue and checks at Permit, as Berth's gang plugin does.
class Sorter final : public Plugin {
 public:
  std::string_view name() const override { return "Sorter"; }
  Points points() const override { return Point::QueueSort | Point::Permit; }
};

/// Kubernetes' defaults, with Sorter before and GpuTopology behind them.
ConfigContext context() {
  ConfigContext out{.registry = builtin_plugins(), .defaults = [](KubernetesVersion version) {
                      Profile profile = default_profile(version);
                      profile.plugins.insert(profile.plugins.begin(), {.name = "Sorter"});
                      profile.plugins.push_back({.name = "GpuTopology",
                                                 .args = test::json_of(R"({"policy": "spread"})")});
                      return profile;
                    }};
  const auto added =
      out.registry.add("Sorter", [](const PluginConfig&) -> Result<std::unique_ptr<Plugin>> {
        return std::make_unique<Sorter>();
      });
  BERTH_ASSERT(added.has_value(), "fresh name");
  out.other_names = {{"Coscheduling", "Sorter"}};
  return out;
}

Result<SchedulerConfig> read(std::string_view body) {
  return read_scheduler_config(std::string(kHead) + std::string(body), "sched.yaml", context());
}

SchedulerConfig config(std::string_view body) {
  auto read_config = read(body);
  BERTH_ASSERT(read_config, to_string(read_config.error()));
  return *std::move(read_config);
}

const ProfilePlugin* find(const Profile& profile, std::string_view plugin) {
  const auto it = std::ranges::find(profile.plugins, plugin, &ProfilePlugin::name);
  return it == profile.plugins.end() ? nullptr : &*it;
}

bool enabled(const Profile& profile, std::string_view plugin, Point point) {
  const ProfilePlugin* entry = find(profile, plugin);
  return entry != nullptr && (entry->points & static_cast<Points>(point)) != 0;
}

std::vector<std::string> names(const Profile& profile) {
  std::vector<std::string> out;
  std::ranges::transform(profile.plugins, std::back_inserter(out), &ProfilePlugin::name);
  return out;
}

std::vector<std::string> remarks(const SchedulerConfig& config) {
  std::vector<std::string> out;
  for (const ConfigRemark& remark : config.remarks) {
    out.push_back((remark.severity == ConfigRemark::Severity::Warning ? "warning: " : "note: ") +
                  to_string(remark.where) + ": " + remark.message);
  }
  return out;
}

// ---- what a file means
// ------------------------------------------------------------------------------------------

TEST(SchedulerConfig, AnEmptyOneIsTheDefault) {
  const SchedulerConfig made = config("");
  ASSERT_THAT(made.profiles, SizeIs(1));
  const Profile& profile = made.profiles[0];
  EXPECT_EQ(profile.scheduler_name, "default-scheduler");
  EXPECT_EQ(profile.kubernetes_version, KubernetesVersion());
  EXPECT_EQ(profile.percentage_of_nodes, std::nullopt);
  EXPECT_EQ(made.queue.initial_backoff, Duration::seconds(1));
  EXPECT_EQ(made.queue.max_backoff, Duration::seconds(10));
  EXPECT_THAT(made.remarks, IsEmpty());

  Profile want = context().defaults({});
  std::erase_if(want.plugins,
                [](const ProfilePlugin& plugin) { return plugin.name == "PrioritySort"; });
  EXPECT_EQ(names(profile), names(want)) << "Sorter sorts, PrioritySort has nothing else to do";
  for (const ProfilePlugin& plugin : want.plugins) {
    EXPECT_EQ(find(profile, plugin.name)->weight, plugin.weight) << plugin.name;
    EXPECT_EQ(find(profile, plugin.name)->args, plugin.args) << plugin.name;
  }
}

TEST(SchedulerConfig, BinpackingAsUsersWriteIt) {
  const SchedulerConfig made = config(R"(
parallelism: 16
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: /etc/kubernetes/scheduler.conf, qps: 200, burst: 400}
percentageOfNodesToScore: 100
podInitialBackoffSeconds: 2
podMaxBackoffSeconds: 60
profiles:
- schedulerName: default-scheduler
- schedulerName: gpu-binpack
  percentageOfNodesToScore: 50
  plugins:
    score:
      enabled:
      - {name: NodeResourcesFit, weight: 10}
      disabled:
      - name: NodeResourcesBalancedAllocation
      - name: PodTopologySpread
  pluginConfig:
  - name: NodeResourcesFit
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: NodeResourcesFitArgs
      scoringStrategy:
        type: MostAllocated
        resources: [{name: nvidia.com/gpu, weight: 100}]
  - name: GpuTopology
    args: {policy: binpack}
)");
  ASSERT_THAT(made.profiles, SizeIs(2));
  EXPECT_EQ(made.queue.initial_backoff, Duration::seconds(2));
  EXPECT_EQ(made.queue.max_backoff, Duration::seconds(60));
  EXPECT_EQ(made.profiles[0].percentage_of_nodes, 100);
  const Profile& gpu = made.profiles[1];
  EXPECT_EQ(gpu.scheduler_name, "gpu-binpack");
  EXPECT_EQ(gpu.percentage_of_nodes, 50);
  EXPECT_EQ(find(gpu, "NodeResourcesFit")->weight, 10);
  EXPECT_EQ(find(gpu, "NodeResourcesFit")->args.at("scoringStrategy").at("type"), "MostAllocated");
  EXPECT_FALSE(find(gpu, "NodeResourcesFit")->args.as_object().contains("kind"));
  EXPECT_EQ(find(gpu, "GpuTopology")->args.at("policy"), "binpack");
  EXPECT_EQ(find(gpu, "NodeResourcesBalancedAllocation"), nullptr);
  EXPECT_TRUE(enabled(gpu, "PodTopologySpread", Point::Filter));
  EXPECT_FALSE(enabled(gpu, "PodTopologySpread", Point::Score));
  EXPECT_TRUE(enabled(made.profiles[0], "PodTopologySpread", Point::Score));
  EXPECT_THAT(remarks(made),
              ElementsAre("note: sched.yaml:4:14: parallelism: read, and without effect: one "
                          "scheduler runs, in this process: parallelism, leaderElection, "
                          "clientConnection"));
}

TEST(SchedulerConfig, TheVersionChoosesTheRules) {
  const SchedulerConfig made = config(R"(
profiles:
- {schedulerName: a, kubernetesVersion: "1.34"}
- {schedulerName: b, kubernetesVersion: v1.36.2}
- {schedulerName: c, kubernetesVersion: 1.34}
- {schedulerName: d}
)");
  EXPECT_EQ(made.profiles[0].kubernetes_version.minor, 34);
  EXPECT_EQ(made.profiles[1].kubernetes_version.minor, 36);
  EXPECT_EQ(made.profiles[2].kubernetes_version.minor, 34) << "not quoted: a number in YAML";
  EXPECT_EQ(made.profiles[3].kubernetes_version, KubernetesVersion());
}

TEST(SchedulerConfig, OursMayBeDisabledByNameOrWithAllOthers) {
  const SchedulerConfig made = config(R"(
profiles:
- schedulerName: without
  plugins: {multiPoint: {disabled: [{name: Sorter}, {name: GpuTopology}]}}
- schedulerName: bare
  plugins:
    multiPoint:
      disabled: [{name: "*"}]
      enabled: [{name: PrioritySort}, {name: NodeResourcesFit, weight: 3}, {name: DefaultBinder}]
)");
  EXPECT_EQ(find(made.profiles[0], "Sorter"), nullptr);
  EXPECT_EQ(find(made.profiles[0], "GpuTopology"), nullptr);
  EXPECT_TRUE(enabled(made.profiles[0], "PrioritySort", Point::QueueSort));
  EXPECT_THAT(names(made.profiles[1]),
              ElementsAre("PrioritySort", "NodeResourcesFit", "DefaultBinder"));
  EXPECT_EQ(find(made.profiles[1], "NodeResourcesFit")->weight, 3);
}

TEST(SchedulerConfig, AnotherNameMeansThePlugin) {
  const SchedulerConfig made = config(R"(
profiles:
- plugins:
    multiPoint: {enabled: [{name: Coscheduling}]}
    queueSort: {enabled: [{name: Coscheduling}], disabled: [{name: "*"}]}
)");
  EXPECT_TRUE(enabled(made.profiles[0], "Sorter", Point::QueueSort));
  EXPECT_TRUE(enabled(made.profiles[0], "Sorter", Point::Permit));
  EXPECT_EQ(find(made.profiles[0], "PrioritySort"), nullptr);
}

// ---- who sorts the queue
// ----------------------------------------------------------------------------------------

TEST(QueueSort, ADefaultOneGivesWayToAChoice) {
  const SchedulerConfig made = config(R"(
profiles:
- schedulerName: usual
- schedulerName: chosen
  plugins: {queueSort: {enabled: [{name: PrioritySort}]}}
- schedulerName: bare
  plugins: {multiPoint: {disabled: [{name: "*"}], enabled: [{name: PrioritySort}, {name: DefaultBinder}]}}
)");
  for (const Profile& profile : made.profiles) {
    EXPECT_TRUE(enabled(profile, "PrioritySort", Point::QueueSort)) << profile.scheduler_name;
    EXPECT_FALSE(enabled(profile, "Sorter", Point::QueueSort)) << profile.scheduler_name;
  }
  EXPECT_TRUE(enabled(made.profiles[0], "Sorter", Point::Permit)) << "it does the rest";
}

TEST(QueueSort, TwoChoicesAreAnError) {
  const auto made = read(R"(
profiles:
- schedulerName: a
  plugins: {queueSort: {enabled: [{name: PrioritySort}]}}
- schedulerName: b
  plugins: {queueSort: {enabled: [{name: Sorter}]}}
)");
  ASSERT_FALSE(made);
  EXPECT_EQ(to_string(made.error()),
            "sched.yaml:8:24: profiles[1].plugins.queueSort: Invalid value: \"Sorter\": must be "
            "the same for all profiles; profile \"a\" sorts by PrioritySort");
}

// ---- remarks
// -------------------------------------------------------------------------------------------

TEST(Remarks, NameWhatHasNoEffect) {
  const SchedulerConfig made = config(R"(
profiles:
- plugins:
    multiPoint:
      enabled: [{name: NodeDeclaredFeatures}]
      disabled: [{name: ImageLocalty}, {name: GangScheduling}]
    filter: {enabled: [{name: NodeDeclaredFeatures}]}
  pluginConfig:
  - {name: NodeDeclaredFeatures, args: {}}
extenders:
- urlPrefix: http://gpu.example
  filterVerb: filter
  managedResources: [{name: example.com/gpu, ignoredByScheduler: true}]
- {urlPrefix: "https://other.example", httpTimeout: 30s, tlsConfig: {serverName: gpu, caData: eA==}}
)");
  EXPECT_THAT(
      remarks(made),
      ElementsAre(
          "warning: sched.yaml:7:24: profiles[0].plugins.multiPoint.enabled[0].name: plugin "
          "NodeDeclaredFeatures is not here yet: what it would keep out or prefer is not looked at",
          "note: sched.yaml:8:25: profiles[0].plugins.multiPoint.disabled[0].name: disables "
          "nothing: there is no plugin \"ImageLocalty\" here",
          "warning: sched.yaml:11:5: profiles[0].pluginConfig[0]: plugin NodeDeclaredFeatures is "
          "not here yet: its args have no effect"));
  ASSERT_THAT(made.extenders, SizeIs(2));
  EXPECT_EQ(made.extenders[0].filter_verb, "filter");
  EXPECT_TRUE(made.extenders[0].managed_resources[0].ignored_by_scheduler);
  EXPECT_EQ(made.extenders[0].http_timeout, Duration::seconds(5));
  EXPECT_EQ(made.extenders[1].http_timeout, Duration::seconds(30));
  const auto& plugins = made.profiles[0].plugins;
  const auto fit = std::ranges::find(plugins, "NodeResourcesFit", &ProfilePlugin::name);
  ASSERT_NE(fit, plugins.end());
  EXPECT_EQ(fit->args.at("ignoredResources").at(0).as_string(), "example.com/gpu");
}

// ---- errors
// --------------------------------------------------------------------------------------------

struct Bad {
  std::string name;
  std::string body;
  std::string want;
};
void PrintTo(const Bad& c, std::ostream* out) {
  *out << c.name;
}

class BadConfig : public testing::TestWithParam<Bad> {};

TEST_P(BadConfig, SaysWhereAndWhy) {
  const auto made = read(GetParam().body);
  ASSERT_FALSE(made);
  EXPECT_THAT(to_string(made.error()), StartsWith("sched.yaml:" + GetParam().want));
}

INSTANTIATE_TEST_SUITE_P(
    Fields, BadConfig,
    testing::Values(
        Bad{"UnknownField", "paralelism: 3\n",
            "3:13: paralelism: unknown field; did you mean \"parallelism\"?"},
        Bad{"UnknownDeepField", "profiles:\n- plugins: {prefilter: {}}\n",
            "4:24: profiles[0].plugins.prefilter: unknown field; did you mean \"preFilter\"?"},
        Bad{"WrongType", "parallelism: many\n",
            "3:14: parallelism: expected an integer, got a string: \"many\""},
        Bad{"NoMap", "profiles: [a]\n", "3:12: profiles[0]: expected a map, got a string: \"a\""},
        Bad{"Parallelism", "parallelism: 0\n",
            "3:14: parallelism: Invalid value: 0: should be an integer value greater than zero"},
        Bad{"Percentage", "percentageOfNodesToScore: 101\n",
            "3:27: percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"},
        Bad{"ProfilePercentage", "profiles:\n- percentageOfNodesToScore: -1\n",
            "4:29: profiles[0].percentageOfNodesToScore: Invalid value: -1: not in valid range "
            "[0-100]"},
        Bad{"InitialBackoff", "podInitialBackoffSeconds: 0\n",
            "3:27: podInitialBackoffSeconds: Invalid value: 0: must be greater than 0"},
        Bad{"MaxBackoff", "podMaxBackoffSeconds: 3\npodInitialBackoffSeconds: 5\n",
            "3:23: podMaxBackoffSeconds: Invalid value: 3: must be greater than or equal to "
            "PodInitialBackoffSeconds"},
        Bad{"Version", "profiles:\n- kubernetesVersion: \"1.22\"\n",
            "4:22: profiles[0].kubernetesVersion: Unsupported value: \"1.22\": supported values: "
            "\"1.34\", \"1.36\""},
        Bad{"Burst", "clientConnection: {burst: -1}\n",
            "3:27: clientConnection.burst: Invalid value: -1: must be non-negative"},
        Bad{"LeaseDuration", "leaderElection: {leaseDuration: 5s}\n",
            "3:33: leaderElection.leaseDuration: LeaseDuration must be greater than "
            "RenewDeadline"},
        Bad{"Duration", "leaderElection: {retryPeriod: soon}\n",
            "3:31: leaderElection.retryPeriod:"},
        Bad{"ResourceLock", "leaderElection: {resourceLock: endpoints}\n",
            "3:32: leaderElection.resourceLock: Invalid value: \"endpoints\": resourceLock value "
            "must be \"leases\""}),
    [](const auto& each) { return each.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Profiles, BadConfig,
    testing::Values(
        Bad{"SameName", "profiles:\n- schedulerName: a\n- schedulerName: a\n",
            "5:18: profiles[1].schedulerName: Duplicate value: \"a\": profiles[0] has it"},
        Bad{"NoName", "profiles:\n- schedulerName: a\n- {}\n",
            "5:3: profiles[1].schedulerName: Required value: of several profiles each needs a "
            "name of its own"},
        Bad{"EmptyName", "profiles:\n- schedulerName: \"\"\n",
            "4:18: profiles[0].schedulerName: Required value"},
        Bad{"UnknownPlugin",
            "profiles:\n- plugins: {score: {enabled: [{name: NodeResourceFit}]}}\n",
            "4:38: profiles[0].plugins.score.enabled[0].name: unknown plugin \"NodeResourceFit\"; "
            "did you mean \"NodeResourcesFit\"? known are BestFit, BidPrice, "},
        Bad{"RemovedPlugin",
            "profiles:\n- plugins: {score: {enabled: [{name: NodeResourcesMostAllocated}]}}\n",
            "4:38: profiles[0].plugins.score.enabled[0].name: unknown plugin "
            "\"NodeResourcesMostAllocated\"; Kubernetes removed it, write NodeResourcesFit with "
            "scoringStrategy MostAllocated; known are"},
        Bad{"NoPluginName", "profiles:\n- plugins: {score: {enabled: [{weight: 3}]}}\n",
            "4:31: profiles[0].plugins.score.enabled[0].name: Required value"},
        Bad{"StarEnabled", "profiles:\n- plugins: {score: {enabled: [{name: \"*\"}]}}\n",
            "4:38: profiles[0].plugins.score.enabled[0].name: \"*\" stands for all plugins"},
        Bad{"NegativeWeight",
            "profiles:\n- plugins: {score: {enabled: [{name: ImageLocality, weight: -2}]}}\n",
            "4:61: profiles[0].plugins.score.enabled[0].weight: Invalid value: -2: must not be "
            "negative"},
        Bad{"HugeWeight",
            "profiles:\n- plugins: {score: {enabled: [{name: ImageLocality, weight: "
            "3000000000}]}}\n",
            "4:61: profiles[0].plugins.score.enabled[0].weight: number does not fit 32 bits"},
        Bad{"WeightText",
            "profiles:\n- plugins: {score: {enabled: [{name: ImageLocality, weight: high}]}}\n",
            "4:61: profiles[0].plugins.score.enabled[0].weight: expected an integer, got a string"},
        Bad{"Twice",
            "profiles:\n- plugins: {score: {enabled: [{name: ImageLocality}, "
            "{name: ImageLocality}]}}\n",
            "4:61: profiles[0].plugins.score.enabled[1].name: plugin \"ImageLocality\" already "
            "registered as \"ScorePlugin\""},
        Bad{"NotThere", "profiles:\n- plugins: {filter: {enabled: [{name: ImageLocality}]}}\n",
            "4:39: profiles[0].plugins.filter.enabled[0].name: plugin \"ImageLocality\" does not "
            "extend FilterPlugin plugin"},
        Bad{"NoBinder", "profiles:\n- plugins: {multiPoint: {disabled: [{name: DefaultBinder}]}}\n",
            "4:12: profiles[0].plugins: at least one bind plugin is needed for profile with "
            "scheduler name \"default-scheduler\""},
        Bad{"NobodySorts", "profiles:\n- plugins: {queueSort: {disabled: [{name: \"*\"}]}}\n",
            "4:12: profiles[0].plugins: only one queue sort plugin required for profile with "
            "scheduler name \"default-scheduler\", but got 0"},
        Bad{"TwoSort",
            "profiles:\n- plugins: {queueSort: {enabled: [{name: PrioritySort}, {name: "
            "Sorter}]}}\n",
            "4:34: profiles[0].plugins.queueSort.enabled: Invalid value: 2: only one queue sort "
            "plugin can be enabled"},
        Bad{"AlphaPoint",
            "profiles:\n- plugins: {placementScore: {enabled: [{name: PodGroupPodsCount}]}}\n",
            "4:29: profiles[0].plugins.placementScore: no plugin here extends this point"}),
    [](const auto& each) { return each.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Args, BadConfig,
    testing::Values(
        Bad{"Value",
            "profiles:\n- pluginConfig:\n  - name: InterPodAffinity\n    args:\n"
            "      hardPodAffinityWeight: 101\n",
            "7:30: profiles[0].pluginConfig[0].args.hardPodAffinityWeight: Invalid value: 101: not "
            "in valid range [0, 100]"},
        Bad{"Field",
            "profiles:\n- pluginConfig:\n  - name: NodeResourcesFit\n    args:\n"
            "      scoringStrateg: {}\n",
            "7:23: profiles[0].pluginConfig[0].args.scoringStrateg: unknown field; did you mean "
            "\"scoringStrategy\"?"},
        Bad{"OfAnOtherPlugin",
            "profiles:\n- pluginConfig:\n  - name: NodeResourcesFit\n    args:\n"
            "      kind: InterPodAffinityArgs\n",
            "7:13: profiles[0].pluginConfig[0].args.kind: Invalid value: \"InterPodAffinityArgs\": "
            "args of plugin NodeResourcesFit are kind \"NodeResourcesFitArgs\""},
        Bad{"Unknown", "profiles:\n- pluginConfig: [{name: MyPlugin, args: {}}]\n",
            "4:25: profiles[0].pluginConfig[0].name: unknown plugin \"MyPlugin\"; known are"},
        Bad{"Repeated", "profiles:\n- pluginConfig: [{name: NodeAffinity}, {name: NodeAffinity}]\n",
            "4:40: profiles[0].pluginConfig[1]: Duplicate value: \"NodeAffinity\""},
        Bad{"NoMap", "profiles:\n- pluginConfig: [{name: NodeAffinity, args: 3}]\n",
            "4:45: profiles[0].pluginConfig[0].args: expected a map"},
        Bad{"TakesNone", "profiles:\n- pluginConfig: [{name: NodeName, args: {a: 1}}]\n",
            "4:41: profiles[0].pluginConfig[0].args: this plugin takes no args"},
        Bad{"Preemption",
            "profiles:\n- pluginConfig: [{name: DefaultPreemption, args: "
            "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}}]\n",
            "4:80: profiles[0].pluginConfig[0].args.minCandidateNodesPercentage: Invalid value: 0: "
            "cannot be zero at the same time as minCandidateNodesAbsolute"},
        Bad{"Balanced",
            "profiles:\n- pluginConfig: [{name: NodeResourcesBalancedAllocation, args: "
            "{resources: [{name: cpu}, {name: cpu}]}}]\n",
            "4:97: profiles[0].pluginConfig[0].args.resources[1].name: Duplicate value: \"cpu\""},
        Bad{"Affinity",
            "profiles:\n- pluginConfig: [{name: NodeAffinity, args: {addedAffinity: "
            "{requiredDuringSchedulingIgnoredDuringExecution: 5}}}]\n",
            "4:110: profiles[0].pluginConfig[0].args.addedAffinity."
            "requiredDuringSchedulingIgnoredDuringExecution: expected a map"},
        Bad{"SpreadType",
            "profiles:\n- pluginConfig: [{name: PodTopologySpread, args: {defaultingType: "
            "None}}]\n",
            "4:67: profiles[0].pluginConfig[0].args.defaultingType: Unsupported value: \"None\": "
            "supported values: \"System\", \"List\""},
        Bad{"SpreadSystem",
            "profiles:\n- pluginConfig: [{name: PodTopologySpread, args: {defaultConstraints: "
            "[{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule}]}}]\n",
            "4:50: profiles[0].pluginConfig[0].args.defaultingType: Invalid value: \"System\": "
            "when "
            ".defaultConstraints are not empty"},
        Bad{"SpreadSelector",
            "profiles:\n- pluginConfig: [{name: PodTopologySpread, args: {defaultingType: List, "
            "defaultConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, "
            "labelSelector: {}}]}}]\n",
            "4:172: profiles[0].pluginConfig[0].args.defaultConstraints[0].labelSelector: "
            "Forbidden"},
        Bad{"BindTimeout",
            "profiles:\n- pluginConfig: [{name: VolumeBinding, args: {bindTimeoutSeconds: 30}}]\n",
            "4:67: profiles[0].pluginConfig[0].args.bindTimeoutSeconds: Invalid value: 30: not in "
            "valid range [600, 600]"},
        Bad{"Devices",
            "profiles:\n- pluginConfig: [{name: DynamicResources, args: {bindingTimeout: 10ms}}]\n",
            "4:66: profiles[0].pluginConfig[0].args.bindingTimeout: Invalid value: \"10ms\": must "
            "be at least 1 second"}),
    [](const auto& each) { return each.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Extenders, BadConfig,
    testing::Values(
        Bad{"Weight", "extenders: [{urlPrefix: \"http://x\", prioritizeVerb: p}]\n",
            "3:13: extenders[0].weight: Invalid value: 0: must have a positive weight applied to "
            "it"},
        Bad{"NoUrl", "extenders: [{filterVerb: f}]\n", "3:13: extenders[0].urlPrefix: Required"},
        Bad{"TwoBinders", "extenders: [{urlPrefix: a, bindVerb: b}, {urlPrefix: c, bindVerb: b}]\n",
            "3:67: extenders[1].bindVerb: only one extender can implement bind"},
        Bad{"Resource", "extenders: [{urlPrefix: a, managedResources: [{name: cpu}]}]\n",
            "3:54: extenders[0].managedResources[0].name: Invalid value: \"cpu\": is an invalid "
            "extended resource name"},
        Bad{"SameResource",
            "extenders: [{urlPrefix: a, managedResources: [{name: e.com/g}]}, "
            "{urlPrefix: a, managedResources: [{name: e.com/g}]}]\n",
            "3:99: extenders[1].managedResources: Invalid value: \"e.com/g\": duplicate"},
        Bad{"Unknown", "extenders: [{urlPrefix: a, filterverb: b}]\n",
            "3:40: extenders[0].filterverb: unknown field; did you mean \"filterVerb\"?"}),
    [](const auto& each) { return each.param.name; });

std::string error_of(std::string_view text) {
  const auto made = read_scheduler_config(text, "sched.yaml", context());
  return made ? "read" : to_string(made.error());
}

TEST(OtherDocuments, AreRefusedWithWhatToChange) {
  const std::string kind = "\nkind: KubeSchedulerConfiguration\n";
  EXPECT_EQ(error_of("apiVersion: kubescheduler.config.k8s.io/v1beta3" + kind),
            "sched.yaml:1:13: apiVersion: Invalid value: "
            "\"kubescheduler.config.k8s.io/v1beta3\": Kubernetes does not read this version any "
            "more; write \"kubescheduler.config.k8s.io/v1\", whose fields are the same");
  EXPECT_THAT(error_of("apiVersion: kubescheduler.config.k8s.io/v1beta1" + kind),
              AllOf(HasSubstr("write \"kubescheduler.config.k8s.io/v1\""),
                    HasSubstr("scoringStrategy types of NodeResourcesFit")));
  EXPECT_EQ(error_of("apiVersion: v1" + kind),
            "sched.yaml:1:13: apiVersion: Invalid value: \"v1\": want "
            "\"kubescheduler.config.k8s.io/v1\"");
  EXPECT_EQ(error_of("apiVersion: kubescheduler.config.k8s.io/v1\nkind: Pod\n"),
            "sched.yaml:2:7: kind: Invalid value: \"Pod\": want \"KubeSchedulerConfiguration\"");
  EXPECT_EQ(error_of("name: config\n"),
            "sched.yaml:1:1: no scheduler configuration: want apiVersion: "
            "kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration");
  EXPECT_EQ(error_of("- a\n"), "sched.yaml:1:1: expected a map, got a list");
  EXPECT_THAT(error_of(""), HasSubstr("want one KubeSchedulerConfiguration document, this file "
                                      "has 0"));
  EXPECT_THAT(error_of(std::string(kHead) + "---\n" + std::string(kHead)), HasSubstr("has 2"));
  EXPECT_THAT(error_of(std::string(kHead) + "profiles: [\n"), StartsWith("sched.yaml:"));
}

TEST(OtherDocuments, JsonIsReadAsWell) {
  EXPECT_EQ(error_of(R"({"apiVersion": "kubescheduler.config.k8s.io/v1",
                         "kind": "KubeSchedulerConfiguration",
                         "profiles": [{"schedulerName": "a"}]})"),
            "read");
}

} // namespace
} // namespace berth::sched
