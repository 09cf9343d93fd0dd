// berth golden-openb DIR: the published GPU packing experiments, replayed and compared.
#include <map>
#include <thread>

#include <fmt/format.h>

#include "berth/cli/commands/commands.h"
#include "berth/report/table.h"
#include "berth/trace/openb_experiments.h"

namespace berth::cli {
namespace {

const std::vector<std::string_view>& policies() {
  static const std::vector<std::string_view> kPolicies = {
      "BestFit", "BidPrice", "DotProduct", "FGD", "GpuClustering", "GpuPacking", "Random"};
  return kPolicies;
}

void print_scores(const std::vector<trace::OpenbScore>& scores,
                  const std::vector<std::string>& columns, std::ostream& out) {
  std::map<std::string, std::map<std::string, double>> rows; // workload -> policy -> mean
  for (const trace::OpenbScore& score : scores) {
    rows[score.workload][score.policy] = score.mean;
  }
  std::vector<report::Column> header = {{.title = "WORKLOAD"}};
  for (const std::string& policy : columns) {
    header.push_back({.title = policy, .align = report::Column::Align::Right});
  }
  report::Table table(header);
  for (const auto& [workload, means] : rows) {
    std::vector<report::Cell> row = {workload};
    for (const std::string& policy : columns) {
      row.emplace_back(fmt::format("{:.2f}", means.at(policy)));
    }
    table.add(std::move(row));
  }
  out << table.render({});
}

int golden_openb(const Invocation& invocation) {
  const Values& values = invocation.values;
  trace::OpenbOptions options{.dir = values.arguments[0],
                              .workloads = values.all("--workload"),
                              .policies = values.all("--policy"),
                              .seeds = values.all("--seed"),
                              .threads = static_cast<int>(std::thread::hardware_concurrency())};
  std::ostream& out = *invocation.terminal.out.to;
  const bool scores = values.has("--scores");
  if (scores && options.policies.empty()) {
    options.policies.assign(policies().begin(), policies().end());
  }
  Result<int> code = kDone;
  if (scores) {
    const auto table = trace::score_openb(options);
    if (table) {
      print_scores(*table, options.policies, out);
    } else {
      code = tl::unexpected(table.error());
    }
  } else {
    code = trace::compare_openb(options, out).map([](int differ) {
      return differ == 0 ? kDone : kFailed;
    });
  }
  if (!code) {
    *invocation.terminal.err.to << "error: " << to_string(code.error()) << '\n';
    return kFailed;
  }
  return *code;
}

} // namespace

Command golden_openb_command_table() {
  return {
      .name = "golden-openb",
      .summary = "replay the published GPU packing experiments on the openb traces",
      .synopsis = {"DIR [--workload NAME]... [--policy NAME]... [--seed NUMBER]... [--scores]"},
      .description =
          {"Pods of a trace arrive one by one on 1,213 GPU nodes until 130 % of the GPUs have "
           "been asked for; each is placed by one scoring policy or turned away. Every series "
           "of DIR/golden.csv is replayed through the scheduler, and every difference is named: "
           "GPUs held and pods turned away at the end must be equal, points of the curves "
           "within 0.01 percentage points. The last line counts series.",
           "With --scores nothing is compared: a table shows how many percent of the GPUs are "
           "idle when as much as the cluster has was asked for, the mean over the recorded "
           "arrival orders."},
      .arguments = {{.name = "DIR",
                     .help = "directory with golden.csv, orders/ and the openb tables",
                     .offers = Offers::Directories}},
      .flags = {{.name = "--workload",
                 .value = "NAME",
                 .help = "only this pod list, e.g. default or gpuspec33",
                 .group = "WHAT IS REPLAYED",
                 .times = Flag::Times::Many},
                {.name = "--policy",
                 .value = "NAME",
                 .help = "only this score plugin",
                 .group = "WHAT IS REPLAYED",
                 .times = Flag::Times::Many,
                 .choices = policies(),
                 .offers = Offers::Choices},
                {.name = "--seed",
                 .value = "NUMBER",
                 .help = "only this arrival order",
                 .group = "WHAT IS REPLAYED",
                 .times = Flag::Times::Many},
                {.name = "--scores",
                 .help = "print how many GPUs each policy leaves idle",
                 .group = "OUTPUT"}},
      .examples = {{"every recorded series", "golden-openb openb/"},
                   {"what two policies leave idle",
                    "golden-openb openb/ --scores --policy FGD --policy BidPrice"}},
      .exit_codes = {{kDone, "no series differs"},
                     {kFailed, "some series differs, or a file could not be read"},
                     {kUsage, "the command line is wrong"}},
      .run = &golden_openb};
}

} // namespace berth::cli
