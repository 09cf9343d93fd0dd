#include "berth/trace/openb_experiments.h"

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <gmock/gmock.h>

#include "berth/testing/temp_files.h"

namespace berth::trace {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

fs::path openb() {
  const char* shared = std::getenv("BERTH_SHARED");
  return fs::path(shared != nullptr ? shared : BERTH_SOURCE_DIR "/../shared") / "data/openb";
}

/// All policies on two workloads, the second with pods that want certain models; all seeds and
/// workloads are for `berth golden-openb`.
class Openb : public testing::TestWithParam<const char*> {};

TEST_P(Openb, ReplaysWhatWasPublished) {
  if (!fs::exists(openb() / "golden.csv")) {
    GTEST_SKIP() << "no " << openb() << "; set BERTH_SHARED";
  }
  std::ostringstream out;
  const auto differ = compare_openb(
      {.dir = openb(), .workloads = {GetParam()}, .policies = {}, .seeds = {"42"}, .threads = 2},
      out);
  ASSERT_TRUE(differ.has_value()) << to_string(differ.error());
  EXPECT_EQ(*differ, 0) << out.str();
  EXPECT_THAT(out.str(), HasSubstr("5 series: 5 agree, 0 differ\n"));
}

INSTANTIATE_TEST_SUITE_P(Workloads, Openb, testing::Values("default", "gpuspec33"));

class OpenbFiles : public test::TempFiles {};

TEST_F(OpenbFiles, ColumnsAreFoundByName) {
  const auto pods =
      read_pods(write("pods.csv", "cpu_milli,name,extra,memory_mib,gpu_spec,num_gpu,gpu_milli\r\n"
                                  "500,a,x,0,,0,1000\r\n"
                                  "1000,b,x,64,T4|V100,2,1000\r\n"));
  ASSERT_TRUE(pods) << to_string(pods.error());
  ASSERT_EQ(pods->size(), 2U);
  EXPECT_EQ((*pods)[0].demand, (sched::GpuDemand{.cpu = 500, .milli = 0, .gpus = 0}));
  EXPECT_EQ((*pods)[1].demand,
            (sched::GpuDemand{.cpu = 1000, .milli = 1000, .gpus = 2, .models = {"T4", "V100"}}));
}

TEST_F(OpenbFiles, MistakesAreNamedWithTheirLine) {
  struct Case {
    std::string_view text;
    std::string_view says;
  };
  const Case cases[] = {
      {"name,cpu_milli\n", "pods.csv:1: the table has no column \"memory_mib\""},
      {"name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,1\n",
       "pods.csv:2: 4 cells, but the table has 5 columns"},
      {"name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,0,0\nb,much,1,1,1\n",
       "pods.csv:3: column cpu_milli must be a whole number of 0 or more, but is \"much\""},
  };
  for (const auto& [text, says] : cases) {
    const auto pods = read_pods(write("pods.csv", std::string(text)));
    ASSERT_FALSE(pods) << says;
    EXPECT_THAT(to_string(pods.error()), HasSubstr(std::string(says)));
  }
  EXPECT_THAT(to_string(read_pods(path("absent.csv")).error()), HasSubstr("cannot be read"));
}

TEST_F(OpenbFiles, RecordingsThatCannotBeReadAreAnError) {
  write("openb_node_list_gpu_node.csv", "sn,cpu_milli,memory_mib,gpu,model\nn,1000,1,1,T4\n");
  write("openb_pod_list_w.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,1,500\n");
  const auto compare = [&](const std::string& rows, OpenbOptions options) {
    write("golden.csv", "workload,seed,policy,failed,used_gpu_milli,alloc_20\n" + rows);
    options.dir = root();
    std::ostringstream out;
    const auto differ = compare_openb(options, out);
    return differ ? out.str() : to_string(differ.error());
  };
  EXPECT_THAT(compare("w,1,FGD,none,0,0\n", {}), HasSubstr("series 1 has an unknown policy"));
  EXPECT_THAT(compare("w,1,FGD,0,0,x\n", {}), HasSubstr("series 1"));
  EXPECT_THAT(compare("w,1,Mine,0,0,0\n", {}), HasSubstr("series 1"));
  EXPECT_THAT(compare("w,1,FGD,0,0,0\n", {.workloads = {"other"}}),
              HasSubstr("no series of that workload and seed"));
  EXPECT_THAT(compare("w,1,FGD,0,0,0\n", {.policies = {"BidPrice"}}),
              HasSubstr("nothing is recorded of that policy"));
  EXPECT_THAT(compare("w,1,FGD,0,0,0\n", {}), HasSubstr("orders")) << "there is no order";
}

TEST_F(OpenbFiles, OrdersMustFitTheTables) {
  const auto read = [&](const std::string& text) {
    return read_order(write("order.txt", text), 2, 3);
  };
  const auto good = read("2\n0 1\n1 0\n4\n2\n0\n1\n2\n");
  ASSERT_TRUE(good) << to_string(good.error());
  EXPECT_THAT(good->nodes, testing::ElementsAre(1, 0));
  EXPECT_THAT(good->pods, testing::ElementsAre(2, 0, 1, 2));
  EXPECT_FALSE(read("3\n0 1\n1 0\n2 2\n1\n0\n")) << "for other nodes";
  EXPECT_FALSE(read("2\n0 1\n1 1\n1\n0\n")) << "a rank twice";
  EXPECT_FALSE(read("2\n0 1\n1 0\n1\n3\n")) << "a pod that is not there";
  EXPECT_FALSE(read("2\n0 1\n1 0\n2\n1\n")) << "cut short";
  EXPECT_FALSE(read(""));
}

TEST(ArrivalCurves, AverageWhatRoundsToAPercent) {
  // Of 1000 milli: 4 arrive (0.4 %, to 0), then 15 (1.5 %, half to even: 2), then 22 (2).
  const ArrivalResult result{.points = {{.arrived = 4, .held = 4, .fragment = 100},
                                        {.arrived = 15, .held = 10, .fragment = 90},
                                        {.arrived = 22, .held = 20, .fragment = 80}},
                             .total = 1000};
  const ArrivalCurves curves = curves_of(result);
  EXPECT_DOUBLE_EQ(curves.held[0], 0.4);
  EXPECT_DOUBLE_EQ(curves.held[2], 1.5);
  EXPECT_DOUBLE_EQ(curves.held[1], (0.4 + 1 + 2) / 3) << "nothing rounds to 1: the neighbours";
  EXPECT_DOUBLE_EQ(curves.fragment[2], 8.5);
}

} // namespace
} // namespace berth::trace
