// Tables of custom resources, and the columns of GPUs.
#include <gtest/gtest.h>

#include "berth/model/gpu_share.h"
#include "berth/server/tables/table_fixture.h"

namespace berth::server {
namespace {

schema::Resource gangs(std::vector<schema::PrinterColumn> columns) {
  schema::Resource out = test::table_resource("example.com/Gang");
  out.custom = true;
  out.columns = std::move(columns);
  return out;
}

const std::string kGang = R"(
spec: {members: 3, ratio: 0.5, big: 3.7, flag: true, name: g, at: '2026-01-01T00:58:00Z', odd: soon, none: null, empty: ''}
status:
  tags: [b, a]
  more: {z: 1, a: <x>}
  conditions: [{type: Ready, status: 'True'}]
)";

std::string cell(std::string_view type, std::string_view path) {
  const schema::Resource resource =
      gangs({{.name = "C", .type = std::string(type), .json_path = std::string(path)}});
  const TableShape shape = table_shape(resource);
  const auto cells = table_row(shape, test::table_object(resource, kGang), test::kTableNow).cells;
  return cells.size() == 2 ? api::to_json(cells[1]) : "no such column";
}

TEST(CustomTable, CellsAreOfTheColumnsType) {
  EXPECT_EQ(cell("integer", ".spec.members"), "3");
  EXPECT_EQ(cell("integer", ".spec.big"), "3");
  EXPECT_EQ(cell("integer", ".spec.name"), "null");
  EXPECT_EQ(cell("number", ".spec.ratio"), "0.5");
  EXPECT_EQ(cell("number", ".spec.members"), "3");
  EXPECT_EQ(cell("boolean", ".spec.flag"), "true");
  EXPECT_EQ(cell("boolean", ".spec.members"), "null");
  EXPECT_EQ(cell("date", ".spec.at"), "\"2m\"");
  EXPECT_EQ(cell("date", ".spec.odd"), "\"<invalid>\"");
  EXPECT_EQ(cell("date", ".spec.empty"), "\"<unknown>\"");
  EXPECT_EQ(cell("date", ".spec.members"), "null");
  EXPECT_EQ(cell("string", ".spec.name"), "\"g\"");
  EXPECT_EQ(cell("string", ".spec.members"), "\"3\"");
  EXPECT_EQ(cell("string", ".spec.flag"), "\"true\"");
  EXPECT_EQ(cell("string", ".spec.ratio"), "\"0.5\"");
  EXPECT_EQ(cell("string", ".spec.none"), "\"<no value>\"");
  EXPECT_EQ(cell("string", ".status.tags"), R"("[\"b\",\"a\"]")");
  EXPECT_EQ(cell("string", ".status.more"), R"("{\"a\":\"\\u003cx\\u003e\",\"z\":1}")");
  EXPECT_EQ(cell("string", ".status.tags[*]"), "\"b\"");
  EXPECT_EQ(cell("string", R"(.status.conditions[?(@.type=="Ready")].status)"), "\"True\"");
  EXPECT_EQ(cell("string", ".spec.lost"), "null");
  EXPECT_EQ(cell("odd", ".spec.name"), "null");
}

TEST(CustomTable, HasNameAndAgeUnlessItSaysMore) {
  EXPECT_EQ(test::columns_text(table_shape(gangs({}))), "Name/name | Age:date");
  const schema::Resource plain = gangs({});
  const auto row = table_row(table_shape(plain), test::table_object(plain, ""), test::kTableNow);
  EXPECT_EQ(api::to_json(row.cells), R"(["x","5m"])");
}

TEST(CustomTable, ColumnsAreThoseOfTheVersion) {
  const TableShape shape = table_shape(
      gangs({{.name = "Min", .type = "integer", .format = "int32", .json_path = ".spec.members"},
             {.name = "Why",
              .type = "string",
              .description = "Reason.",
              .priority = 1,
              .json_path = ".status.why"}}));
  EXPECT_EQ(test::columns_text(shape), "Name/name | Min:integer/int32 | Why*");
  EXPECT_EQ(shape.columns[1].description,
            "Custom resource definition column (in JSONPath format): .spec.members");
  EXPECT_EQ(shape.columns[2].description, "Reason.");
}

TEST(CustomTable, FindsNothingByAPathThatCannotBeRead) {
  EXPECT_EQ(cell("string", "spec["), "null");
}

/// The columns of GPUs alone.
std::string gpus(std::string_view kind, std::string_view fields) {
  const auto row = *api::parse_json(test::cells_text(kind, fields, GpuColumns::Shown));
  const auto& cells = row.as_array();
  return std::string(cells.at(cells.size() - 2).as_string()) + " " +
         std::string(cells.back().as_string());
}

TEST(GpuColumnsOfNodes, SayHowManyAndWhich) {
  EXPECT_EQ(gpus("Node", ""), "<none> <none>");
  EXPECT_EQ(gpus("Node", "metadata: {labels: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}}\n"
                         "status: {capacity: {nvidia.com/gpu: '8'}, allocatable: {nvidia.com/gpu: "
                         "'7', cpu: '64'}}"),
            "7 NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(gpus("Node", "status: {allocatable: {nvidia.com/gpu: '0'}}"), "<none> <none>");
  EXPECT_EQ(gpus("Node", "status: {allocatable: {nvidia.com/mig-1g.10gb: 7, nvidia.com/gpu: 6, "
                         "nvidia.com/mig-3g.40gb: 2}}"),
            "6,7x1g.10gb,2x3g.40gb <none>");
  EXPECT_EQ(gpus("Node", "status: {allocatable: {nvidia.com/gpu: eight}}"), "<unknown> <none>");
}

TEST(GpuColumnsOfPods, SayHowManyAndWhich) {
  EXPECT_EQ(gpus("Pod", "spec: {containers: [{name: c}]}"), "<none> <none>");
  EXPECT_EQ(gpus("Pod", "metadata: {annotations: {berth.dev/gpu-indices: '0,1,4'}}\n"
                        "spec: {containers: [{name: a, resources: {requests: {nvidia.com/gpu: 2}}},"
                        " {name: b, resources: {limits: {nvidia.com/gpu: 1}}}]}"),
            "3 0,1,4");
  EXPECT_EQ(gpus("Pod", "spec: {containers: [{name: a, resources: {requests: "
                        "{nvidia.com/mig-1g.10gb: 2}}}]}"),
            "2x1g.10gb <none>");
  EXPECT_EQ(gpus("Pod", "spec: {initContainers: [{name: i, resources: {requests: "
                        "{nvidia.com/gpu: 4}}}], containers: [{name: a, resources: {requests: "
                        "{nvidia.com/gpu: 1}}}]}"),
            "4 <none>");
  EXPECT_EQ(gpus("Pod", "metadata: {annotations: {alibabacloud.com/gpu-milli: '500', "
                        "alibabacloud.com/gpu-index: '2'}}\nspec: {containers: [{name: a}]}"),
            "500m 2");
  EXPECT_EQ(gpus("Pod", "metadata: {annotations: {alibabacloud.com/gpu-milli: '500', "
                        "alibabacloud.com/gpu-count: '2'}}\nspec: {containers: [{name: a}]}"),
            "2x500m <none>");
  EXPECT_EQ(gpus("Pod", "metadata: {annotations: {alibabacloud.com/gpu-milli: lots}}\n"
                        "spec: {containers: [{name: a}]}"),
            "<invalid> <none>");
  EXPECT_EQ(gpus("Pod", "spec: {containers: [{name: a, resources: {requests: {nvidia.com/gpu: "
                        "two}}}]}"),
            "<unknown> <none>");
}

} // namespace
} // namespace berth::server
