#include "berth/store/pod_standards/standards.h"

#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/api/yaml.h"

namespace berth::store {
namespace {

struct Case {
  std::string name;
  LevelVersion level;
  std::string pod; ///< YAML of a pod
  std::string want;
};

const LevelVersion kBaseline{.level = SecurityLevel::Baseline};
const LevelVersion kRestricted{.level = SecurityLevel::Restricted};

/// What restricted asks of a container, without the braces.
#define BERTH_SAFE                                                                                 \
  "allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, runAsNonRoot: true, "             \
  "seccompProfile: {type: RuntimeDefault}"

class Standard : public testing::TestWithParam<Case> {};

TEST_P(Standard, Forbids) {
  const auto documents = api::parse_yaml(GetParam().pod, "");
  ASSERT_TRUE(documents);
  const api::json::value& pod = documents->front().value;
  EXPECT_EQ(details_of(
                violations({.metadata = api::find(pod, "metadata"), .spec = api::find(pod, "spec")},
                           GetParam().level)),
            GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    All, Standard,
    testing::Values(
        Case{"privileged", {}, "spec: {hostNetwork: true}", ""},
        Case{"plain_baseline", kBaseline, "spec: {containers: [{name: c}]}", ""},
        Case{"plain_restricted", kRestricted, "spec: {containers: [{name: c}]}",
             "allowPrivilegeEscalation != false (container \"c\" must set "
             "securityContext.allowPrivilegeEscalation=false), unrestricted capabilities "
             "(container \"c\" must set securityContext.capabilities.drop=[\"ALL\"]), runAsNonRoot "
             "!= true (pod or container \"c\" must set securityContext.runAsNonRoot=true), "
             "seccompProfile (pod or container \"c\" must set "
             "securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\")"},
        Case{"safe", kRestricted,
             "spec: {containers: [{name: c, securityContext: {" BERTH_SAFE "}}]}", ""},
        Case{"windows", kRestricted,
             "spec: {os: {name: windows}, securityContext: {runAsNonRoot: true}, containers: "
             "[{name: c}]}",
             ""},
        Case{"namespaces_and_ports", kBaseline,
             "spec: {hostNetwork: true, hostPID: true, hostIPC: true, initContainers: [{name: i, "
             "ports: [{hostPort: 9}]}], containers: [{name: c, ports: [{hostPort: 80}]}]}",
             "host namespaces (hostNetwork=true, hostPID=true, hostIPC=true), hostPort (containers "
             "\"i\", \"c\" use hostPorts 80, 9)"},
        Case{"volumes_baseline", kBaseline, "spec: {volumes: [{name: v, hostPath: {path: /}}]}",
             "hostPath volumes (volume \"v\")"},
        Case{"volumes_restricted", kRestricted,
             "spec: {volumes: [{name: v, hostPath: {path: /}}, {name: w, nfs: {}}, {name: e, "
             "emptyDir: {}}]}",
             "restricted volume types (volumes \"v\", \"w\" use restricted volume types "
             "\"hostPath\", \"nfs\")"},
        Case{"capabilities_baseline", kBaseline,
             "spec: {containers: [{name: c, securityContext: {capabilities: {add: [SYS_ADMIN, "
             "CHOWN, NET_ADMIN]}}}]}",
             "non-default capabilities (container \"c\" must not include \"NET_ADMIN\", "
             "\"SYS_ADMIN\" in securityContext.capabilities.add)"},
        Case{"capabilities_restricted", kRestricted,
             "spec: {securityContext: {runAsNonRoot: true, seccompProfile: {type: Localhost}}, "
             "containers: [{name: c, securityContext: {allowPrivilegeEscalation: false, "
             "capabilities: {add: [CHOWN, NET_BIND_SERVICE]}}}]}",
             "unrestricted capabilities (container \"c\" must set "
             "securityContext.capabilities.drop=[\"ALL\"]; container \"c\" must not include "
             "\"CHOWN\" in securityContext.capabilities.add)"},
        Case{"single_settings", kBaseline,
             "spec: {containers: [{name: c, securityContext: {privileged: true, procMount: "
             "Unmasked, windowsOptions: {hostProcess: true}, seLinuxOptions: {type: x, user: u}, "
             "seccompProfile: {type: Unconfined}, appArmorProfile: {type: Unconfined}}}], "
             "securityContext: {sysctls: [{name: net.core.somaxconn}, {name: "
             "net.ipv4.tcp_rmem}]}}",
             "forbidden AppArmor profile (container \"c\" must not set AppArmor profile type to "
             "\"Unconfined\"), privileged (container \"c\" must not set "
             "securityContext.privileged=true), procMount (container \"c\" must not set "
             "securityContext.procMount to \"Unmasked\"), seLinuxOptions (container \"c\" set "
             "forbidden securityContext.seLinuxOptions: type \"x\"; user may not be set), "
             "seccompProfile (container \"c\" must not set securityContext.seccompProfile.type to "
             "\"Unconfined\"), forbidden sysctls (net.core.somaxconn), hostProcess (container "
             "\"c\" must not set securityContext.windowsOptions.hostProcess=true)"},
        Case{"root", kRestricted,
             "spec: {securityContext: {runAsUser: 0, runAsNonRoot: false, seccompProfile: {type: "
             "Unconfined}}, containers: [{name: c, securityContext: {" BERTH_SAFE
             ", runAsUser: 0}}]}",
             "runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false), "
             "runAsUser=0 (pod and container \"c\" must not set runAsUser=0), seccompProfile (pod "
             "must not set securityContext.seccompProfile.type to \"Unconfined\")"},
        Case{"probes", kBaseline,
             "spec: {containers: [{name: c, livenessProbe: {httpGet: {host: 8.8.8.8}}}]}",
             "probe or lifecycle host (container \"c\" uses probe or lifecycle host \"8.8.8.8\")"},
        Case{"older_probes",
             {.level = SecurityLevel::Baseline, .minor = 33},
             "spec: {containers: [{name: c, livenessProbe: {httpGet: {host: 8.8.8.8}}}]}",
             ""},
        Case{"older_restricted",
             {.level = SecurityLevel::Restricted, .minor = 18},
             "spec: {securityContext: {sysctls: [{name: net.ipv4.tcp_rmem}]}, containers: [{name: "
             "c, securityContext: {capabilities: {add: [SYS_TIME]}, allowPrivilegeEscalation: "
             "false, runAsNonRoot: true}}]}",
             "non-default capabilities (container \"c\" must not include \"SYS_TIME\" in "
             "securityContext.capabilities.add), forbidden sysctls (net.ipv4.tcp_rmem)"}),
    [](const auto& one) { return one.param.name; });

TEST(SecurityPolicy, ComesFromLabels) {
  FieldErrors errors;
  const SecurityPolicy policy =
      security_policy({{"pod-security.kubernetes.io/enforce", "baseline"},
                       {"pod-security.kubernetes.io/enforce-version", "v1.30"},
                       {"pod-security.kubernetes.io/audit", "restricted"}},
                      errors);
  EXPECT_TRUE(errors.empty());
  EXPECT_EQ(to_string(policy.enforce), "baseline:v1.30");
  EXPECT_EQ(to_string(policy.audit), "restricted:latest");
  EXPECT_EQ(to_string(policy.warn), "baseline:v1.30") << "who enforces is warned";
}

TEST(SecurityPolicy, SaysWhatIsWrongWithLabels) {
  FieldErrors errors;
  const SecurityPolicy policy =
      security_policy({{"pod-security.kubernetes.io/enforce", "strict"},
                       {"pod-security.kubernetes.io/warn", "strict"},
                       {"pod-security.kubernetes.io/warn-version", "v1.01"}},
                      errors);
  EXPECT_EQ(policy.enforce.level, SecurityLevel::Restricted);
  EXPECT_EQ(policy.warn.level, SecurityLevel::Privileged);
  ASSERT_EQ(errors.size(), 3U);
  EXPECT_EQ(errors[0].where->field, "metadata.labels[pod-security.kubernetes.io/enforce]");
  EXPECT_EQ(errors[0].message,
            "Invalid value: \"strict\": must be one of privileged, baseline, restricted");
  EXPECT_EQ(errors[2].message, "Invalid value: \"v1.01\": must be \"latest\" or \"v1.x\"");
}

} // namespace
} // namespace berth::store
