#include "berth/kubelet/process_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/temp_files.h"

namespace berth::kubelet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string kA(64, 'a');
const std::string kB(64, 'b');

struct PlaceCase {
  const char* name;
  std::string text;
  std::vector<std::string> containers;
};

class Place : public testing::TestWithParam<PlaceCase> {};

TEST_P(Place, IsWhatTheGroupsSay) {
  EXPECT_EQ(containers_in_cgroups(GetParam().text), GetParam().containers);
}

INSTANTIATE_TEST_SUITE_P(
    All, Place,
    testing::Values(
        PlaceCase{"NoFile", "", {}}, PlaceCase{"TheMachines", "0::/system.slice/ssh.service\n", {}},
        PlaceCase{"ContainerdWithoutSystemd", "0::/k8s.io/" + kA + "\n", {kA}},
        PlaceCase{"AKubeletsWithoutSystemd",
                  "0::/kubepods/besteffort/pod4a1c0f3e-0000-0000-0000-000000000000/" + kA,
                  {kA}},
        PlaceCase{"AKubeletsWithSystemd",
                  "0::/kubepods.slice/kubepods-pod4a1c_0f3e.slice/cri-containerd-" + kA +
                      ".scope\n",
                  {kA}},
        PlaceCase{"CriO", "0::/kubepods.slice/crio-" + kA + ".scope\n", {kA}},
        PlaceCase{"Docker", "0::/system.slice/docker-" + kA + ".scope\n", {kA}},
        PlaceCase{"RuncsSpelling", "0::/system.slice:cri-containerd:" + kA + "\n", {kA}},
        PlaceCase{"VersionOne",
                  "12:devices:/k8s.io/" + kA + "\n11:cpu,cpuacct:/k8s.io/" + kA +
                      "\n1:name=systemd:/\n",
                  {kA}},
        PlaceCase{"AContainerInAContainer", "0::/k8s.io/" + kA + "/docker/" + kB + "\n", {kA, kB}},
        PlaceCase{"TooShort", "0::/k8s.io/" + kA.substr(1) + "\n", {}},
        PlaceCase{"NotHexadecimal", "0::/k8s.io/" + std::string(64, 'g') + "\n", {}},
        PlaceCase{"NoColons", "/k8s.io/" + kA + "\n", {}}),
    [](const auto& one) { return one.param.name; });

class ReadProcess : public test::TempFiles {};

TEST_F(ReadProcess, ReadsNameAndGroups) {
  std::filesystem::create_directories(path("4242"));
  write("4242/comm", "python3\n");
  write("4242/cgroup", "0::/k8s.io/" + kA + "\n");
  const MachineProcess found = read_process(root(), 4242);
  EXPECT_EQ(found.name, "python3");
  EXPECT_THAT(found.containers, ElementsAre(kA));
}

TEST_F(ReadProcess, OfOneThatIsGoneNothingIsKnown) {
  const MachineProcess gone = read_process(root(), 1);
  EXPECT_EQ(gone.name, "");
  EXPECT_THAT(gone.containers, IsEmpty());
}

} // namespace
} // namespace berth::kubelet
