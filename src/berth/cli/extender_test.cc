// berth run with an extender behind a real socket: its answers take no virtual time, and equal
// answers give equal bytes.
#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/berth_run.h"
#include "berth/testing/fake_extender.h"
#include "berth/testing/temp_files.h"

namespace berth::cli {
namespace {

using test::berth_run;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
namespace json = boost::json;

class ExtenderRun : public test::TempFiles {
 protected:
  std::string config(const std::string& url, const std::string& more) {
    return write("scheduler.yaml", "apiVersion: kubescheduler.config.k8s.io/v1\n"
                                   "kind: KubeSchedulerConfiguration\n"
                                   "extenders:\n- urlPrefix: " +
                                       url + "\n" + more);
  }
  std::string pods() {
    std::string text;
    for (int i = 0; i < 3; ++i) {
      text += "apiVersion: v1\nkind: Pod\nmetadata: {name: p" + std::to_string(i) +
              "}\nspec:\n  restartPolicy: Never\n  containers:\n  - name: c\n    image: i\n"
              "    resources: {limits: {cpu: 1, memory: 1Gi, nvidia.com/gpu: 1}}\n---\n";
    }
    return write("pods.yaml", text);
  }
  std::vector<std::string> words(const std::string& config, std::vector<std::string> more = {}) {
    std::vector<std::string> all = {"-f",  pods(), "--nodes", "dgx-h100:3", "--scheduler-config",
                                    config};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

constexpr const char* kFilterAndScore = "  filterVerb: filter\n"
                                        "  prioritizeVerb: prioritize\n"
                                        "  weight: 100\n";

/// Everywhere but on dgx-h100-1, and best on dgx-h100-3. Sees whole nodes.
net::HttpResponse likes_the_third(std::string_view path, const json::value& args) {
  if (path == "/prioritize") {
    return net::json_response(200, R"([{"Host":"dgx-h100-3","Score":10}])");
  }
  json::array passing;
  for (const json::value& node : args.at_pointer("/Nodes/items").as_array()) {
    if (node.at_pointer("/metadata/name").as_string() != "dgx-h100-1") {
      passing.push_back(node);
    }
  }
  return net::json_response(
      200, json::serialize(json::object{
               {"Nodes", json::object{{"items", std::move(passing)}}},
               {"FailedNodes", json::object{{"dgx-h100-1", "vGPU quota is used up"}}}}));
}

TEST_F(ExtenderRun, ItsAnswersDecideAndTakeNoTime) {
  test::FakeExtender extender(&likes_the_third);
  const std::string file = config(extender.url(), kFilterAndScore);
  const auto first = berth_run(words(file, {"--explain", "p0", "-o", "wide"}));
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.err, Not(HasSubstr("warning")));
  EXPECT_THAT(first.out, HasSubstr("p0  attempt 1 of 1 at 0:00:00.000: Scheduled on dgx-h100-3"));
  EXPECT_THAT(first.out, HasSubstr("Extender"));
  EXPECT_THAT(first.out, HasSubstr("vGPU quota is used up"));
  EXPECT_THAT(extender.paths(), Contains("/prioritize"));
  EXPECT_EQ(first.out, berth_run(words(file, {"--explain", "p0", "-o", "wide"})).out);
}

TEST_F(ExtenderRun, WhoeverCannotBeReachedIsNamed) {
  std::string url;
  {
    const test::FakeExtender gone(&likes_the_third);
    url = gone.url();
  }
  const auto strict = berth_run(words(config(url, kFilterAndScore), {}));
  EXPECT_EQ(strict.code, 1);
  EXPECT_THAT(strict.out, HasSubstr("Post \"" + url + "/filter\": "));
  EXPECT_THAT(strict.out, HasSubstr("SCHEDULER_ERROR"));
  EXPECT_THAT(strict.out, Not(HasSubstr("can never fit")));
  const auto lenient = berth_run(
      words(config(url, std::string(kFilterAndScore) + "  ignorable: true\n"), {"--quiet"}));
  EXPECT_EQ(lenient.code, 0) << lenient.out;
}

TEST_F(ExtenderRun, InRealTimeItIsCalledOnTheLoop) {
  test::FakeExtender extender(&likes_the_third);
  const auto o = berth_run(words(config(extender.url(), kFilterAndScore),
                                 {"--speed", "real", "--until", "10s", "--default-run-for", "10ms",
                                  "--explain", "p0", "--listen", "0"}));
  EXPECT_EQ(o.code, 0) << o.out << o.err;
  EXPECT_THAT(o.out, HasSubstr("Scheduled on dgx-h100-3"));
  EXPECT_THAT(o.err, HasSubstr("the scheduler's pages are at http://127.0.0.1:"));
}

} // namespace
} // namespace berth::cli
