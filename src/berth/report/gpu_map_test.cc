#include "berth/report/gpu_map.h"

#include <gtest/gtest.h>

namespace berth::report {
namespace {

constexpr GpuCell::State kFree = GpuCell::State::Free;

GpuCell held(std::string by) {
  return {.state = GpuCell::State::Held, .holder = std::move(by)};
}
GpuCell broken() {
  return {.state = GpuCell::State::Unhealthy, .holder = ""};
}
GpuCell idle() {
  return {.state = kFree, .holder = ""};
}

NodeMap node(std::string name, std::vector<GpuCell> gpus) {
  return {.node = std::move(name), .platform = "", .gpus = std::move(gpus)};
}

TEST(GpuMap, ARowSaysWhoHoldsWhat) {
  const GpuMap map{.at = {},
                   .nodes = {node("dgx-1", {held("ml/a"), held("ml/a"), held("ml/b"), idle()}),
                             node("dgx-2", {held("ml/c"), broken(), broken(), idle()}),
                             node("dgx-10", {idle(), idle(), idle(), idle()})}};
  EXPECT_EQ(render_gpu_map(map, {}), "NODE    0 1 2 3  HELD BY\n"
                                     "dgx-1   A A B .  A ml/a  B ml/b\n"
                                     "dgx-2   C ! ! .  C ml/c  ! GPUs 1-2 unhealthy\n"
                                     "dgx-10  . . . .  free\n");
  EXPECT_EQ(map.total(), 12);
  EXPECT_EQ(map.held(), 4);
  EXPECT_EQ(map.unhealthy(), 2);
}

TEST(GpuMap, NodesOfDifferentSizesShareTheColumns) {
  const GpuMap map{
      .at = {}, .nodes = {node("big", std::vector<GpuCell>(8, held("a/b"))), node("t4", {idle()})}};
  EXPECT_EQ(render_gpu_map(map, {}), "NODE  0 1 2 3 4 5 6 7  HELD BY\n"
                                     "big   A A A A A A A A  A a/b\n"
                                     "t4    .                free\n");
}

TEST(GpuMap, SixteenGpusStandUnderTheirNumbers) {
  const GpuMap map{.at = {}, .nodes = {node("n", std::vector<GpuCell>(12, idle()))}};
  EXPECT_EQ(render_gpu_map(map, {}), "NODE   0  1  2  3  4  5  6  7  8  9 10 11  HELD BY\n"
                                     "n      .  .  .  .  .  .  .  .  .  .  .  .  free\n");
}

TEST(GpuMap, LettersStartAgainAfterZ) {
  GpuMap map;
  for (int i = 0; i < 27; ++i) {
    map.nodes.push_back(node("n", {held("a/" + std::to_string(i))}));
  }
  const std::string text = render_gpu_map(map, {});
  EXPECT_NE(text.find("n     Z     Z a/25\n"), std::string::npos) << text;
  EXPECT_NE(text.find("n     A     A a/26\n"), std::string::npos) << text;
}

TEST(GpuMap, BigClustersShowOnlyNodesInUse) {
  GpuMap map;
  for (int i = 0; i < 50; ++i) {
    map.nodes.push_back(node("n-" + std::to_string(i), {i == 7 ? held("a/b") : idle()}));
  }
  EXPECT_EQ(render_gpu_map(map, {}), "NODE  0     HELD BY\n"
                                     "n-7   A     A a/b\n"
                                     "49 nodes with every GPU free are not drawn\n");
}

TEST(GpuMap, ABigIdleClusterIsOneLine) {
  GpuMap map;
  map.nodes.assign(41, node("n", {idle()}));
  EXPECT_EQ(render_gpu_map(map, {}), "41 nodes with every GPU free are not drawn\n");
}

} // namespace
} // namespace berth::report
