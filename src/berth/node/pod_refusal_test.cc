#include "berth/node/pod_refusal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::node {
namespace {

api::json::value pod(const std::string& spec) {
  return api::parse_json(R"({"spec":)" + spec + "}").value();
}

struct SysctlCase {
  std::string name;
  std::string more;
  std::string message; ///< "": it is let in
};
class Sysctls : public testing::TestWithParam<SysctlCase> {};

TEST_P(Sysctls, AreLetInOrNot) {
  const auto document = pod(R"({"securityContext":{"sysctls":[{"name":")" + GetParam().name +
                            R"(","value":"1"}]})" + GetParam().more + "}");
  const auto refusal = sysctl_refusal(document, {"net.core.*", "kernel.msgmax", "vm.swappiness"});
  EXPECT_EQ(refusal ? refusal->message : "", GetParam().message);
  EXPECT_EQ(refusal ? refusal->reason : "SysctlForbidden", "SysctlForbidden");
}
INSTANTIATE_TEST_SUITE_P(
    All, Sysctls,
    testing::Values(
        SysctlCase{"net.ipv4.tcp_syncookies", "", ""}, SysctlCase{"kernel.shm_rmid_forced", "", ""},
        SysctlCase{"net/ipv4/ping_group_range", "", ""}, SysctlCase{"net.core.somaxconn", "", ""},
        SysctlCase{"kernel.msgmax", "", ""},
        SysctlCase{"net.ipv4.tcp_syncookies", R"(,"hostNetwork":true)",
                   "forbidden sysctl: \"net.ipv4.tcp_syncookies\" not allowed with host net "
                   "enabled"},
        SysctlCase{"kernel.shm_rmid_forced", R"(,"hostIPC":true)",
                   "forbidden sysctl: \"kernel.shm_rmid_forced\" not allowed with host ipc "
                   "enabled"},
        SysctlCase{"vm.swappiness", "",
                   "forbidden sysctl: \"vm.swappiness\" not allowlisted"}, // of no namespace
        SysctlCase{"net.ipv4.ip_forward", "",
                   "forbidden sysctl: \"net.ipv4.ip_forward\" not allowlisted"}));

std::string ports(const std::string& list) {
  return R"({"containers":[{"name":"c","ports":[)" + list + "]}]}";
}
bool collide(const std::string& a, const std::string& b) {
  const auto other = pod(b);
  return host_port_refusal(pod(a), {&other}).has_value();
}

TEST(HostPorts, OfOthersAreNotGivenAgain) {
  const std::string http = ports(R"({"containerPort":80,"hostPort":8080})");
  EXPECT_TRUE(collide(http, http));
  EXPECT_TRUE(collide(http, ports(R"({"hostPort":8080,"hostIP":"192.0.2.1"})")));
  EXPECT_FALSE(collide(http, ports(R"({"hostPort":8080,"protocol":"UDP"})")));
  EXPECT_FALSE(collide(http, ports(R"({"hostPort":8081})")));
  EXPECT_FALSE(collide(http, ports(R"({"containerPort":8080})")));
  EXPECT_FALSE(collide(ports(R"({"hostPort":1,"hostIP":"192.0.2.1"})"),
                       ports(R"({"hostPort":1,"hostIP":"192.0.2.2"})")));
  EXPECT_TRUE(collide(http, R"({"initContainers":[{"restartPolicy":"Always",
                                "ports":[{"hostPort":8080}]}]})"))
      << "a sidecar stays";
  EXPECT_FALSE(collide(http, R"({"initContainers":[{"ports":[{"hostPort":8080}]}]})"));
  const auto other = pod(http);
  EXPECT_EQ(host_port_refusal(pod(http), {&other})->reason, "NodePorts");
}

struct PlaceCase {
  const char* name;
  const char* spec;
  const char* reason; ///< "": it is let in
};
class Places : public testing::TestWithParam<PlaceCase> {};

TEST_P(Places, AreTheNodesOrNot) {
  auto document = pod(GetParam().spec);
  document.as_object()["apiVersion"] = "v1";
  document.as_object()["kind"] = "Pod";
  document.as_object()["metadata"] = {{"name", "a"}, {"namespace", "default"}};
  const auto object = api::Object::from_json(document.as_object());
  ASSERT_TRUE(object);
  const auto view = model::pod_view(*object);
  ASSERT_TRUE(view) << to_string(view.error());
  const auto refusal =
      place_refusal(document, **view, {{"kubernetes.io/os", "linux"}, {"zone", "b"}}, "n1");
  EXPECT_EQ(refusal ? refusal->reason : "", GetParam().reason);
}
INSTANTIATE_TEST_SUITE_P(
    All, Places,
    testing::Values(
        PlaceCase{"NothingAsked", "{}", ""}, PlaceCase{"Linux", R"({"os":{"name":"linux"}})", ""},
        PlaceCase{"Windows", R"({"os":{"name":"windows"}})", "PodOSNotSupported"},
        PlaceCase{"WindowsByLabel", R"({"nodeSelector":{"kubernetes.io/os":"windows"}})",
                  "PodOSSelectorNodeLabelDoesNotMatch"},
        PlaceCase{"ItsLabel", R"({"nodeSelector":{"zone":"b"}})", ""},
        PlaceCase{"AnothersLabel", R"({"nodeSelector":{"zone":"c"}})", "NodeAffinity"},
        PlaceCase{"NoSuchLabel", R"({"nodeSelector":{"disk":"ssd"}})", "NodeAffinity"},
        PlaceCase{"ItsName",
                  R"({"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
                      {"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name",
                       "operator":"In","values":["n1"]}]}]}}}})",
                  ""},
        PlaceCase{"AnothersName",
                  R"({"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
                      {"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name",
                       "operator":"In","values":["n2"]}]}]}}}})",
                  "NodeAffinity"}),
    [](const auto& one) { return one.param.name; });

} // namespace
} // namespace berth::node
