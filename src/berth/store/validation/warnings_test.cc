#include "berth/store/validation/warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/yaml.h"

namespace berth::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> warned(const std::string& yaml) {
  return warnings_of(*api::Object::from_json(api::parse_yaml(yaml, "")->front().value), nullptr);
}

TEST(Warnings, OfPods) {
  EXPECT_THAT(warned("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: "
                     "c, env: [{name: X, value: a}, {name: X, value: b}, {name: B, value: a}, "
                     "{name: B, value: '$(B):b'}]}]}"),
              ElementsAre("spec.containers[0].env[1]: hides previous definition of \"X\", which "
                          "may be dropped when using apply"));
  EXPECT_THAT(
      warned("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {volumes: [{name: v, gitRepo: "
             "{repository: r}}], hostAliases: [{ip: 1.1.1.1}, {ip: 1.1.1.1}], imagePullSecrets: "
             "[{name: a}, {name: a}, {}], topologySpreadConstraints: [{topologyKey: zone}], "
             "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
             "[{topologyKey: zone}]}}, containers: [{name: c}]}"),
      ElementsAre("spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results "
                  "in matching no pod",
                  "spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
                  "spec.hostAliases[1].ip: duplicate ip \"1.1.1.1\"",
                  "spec.imagePullSecrets[1].name: duplicate name \"a\"",
                  "spec.imagePullSecrets[2].name: invalid empty name \"\"",
                  "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]."
                  "labelSelector: a null labelSelector results in matching no pod"));
}

TEST(Warnings, OfTemplates) {
  const std::string spec = "{containers: [{name: c, env: [{name: X}, {name: X}]}]}";
  const std::string text = ": hides previous definition of \"X\", which may be dropped when using "
                           "apply";
  EXPECT_THAT(warned("apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: a}\nspec: {template: "
                     "{spec: " +
                     spec + "}}"),
              ElementsAre("spec.template.spec.containers[0].env[1]" + text));
  EXPECT_THAT(warned("apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec: "
                     "{jobTemplate: {spec: {template: {spec: " +
                     spec + "}}}}"),
              ElementsAre("spec.jobTemplate.spec.template.spec.containers[0].env[1]" + text));
}

TEST(Warnings, OfOtherKinds) {
  EXPECT_THAT(warned("apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {type: ClusterIP, "
                     "externalName: a.b}"),
              ElementsAre("spec.externalName is ignored when spec.type is not \"ExternalName\""));
  EXPECT_THAT(warned("apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a}\nspec: "
                     "{resources: {requests: {storage: 100m}}}"),
              ElementsAre("spec.resources.requests[storage]: fractional byte value \"100m\" is "
                          "invalid, must be an integer"));
  EXPECT_THAT(warned("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}"), IsEmpty());
}

} // namespace
} // namespace berth::store
