// The timeline of a run while it goes: lines on standard output (text), JSON lines in the --record
// file, and on a terminal one status line that the next line overwrites.
#pragma once

#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "berth/api/manifest.h"
#include "berth/base/result.h"
#include "berth/cli/run/options.h"
#include "berth/cli/terminal.h"
#include "berth/cluster/flight_record.h"
#include "berth/report/run_report.h"

namespace berth::cli {

class Timeline {
 public:
  /// Opens the record file, if one is wanted. Error: it cannot be written.
  static Result<Timeline> open(const RunOptions& options, Terminal& terminal,
                               const report::ClusterLine& cluster, TimePoint start,
                               const std::vector<api::Manifest>& objects);

  void show(const cluster::Mark& mark);
  /// Node starts are not shown until this is called; then they count as one line.
  void nodes_are_up(int nodes, TimePoint at);
  /// Takes the status line away. Error: the record file could not be written in full.
  Result<void> finish();

 private:
  Timeline(const RunOptions& options, Terminal& terminal, TimePoint start, std::size_t width);
  void print(const report::TimelineLine& line);
  void count(const cluster::Mark& mark);
  void update_status(TimePoint at);

  Terminal* terminal_;
  TimePoint start_;
  std::size_t object_width_;
  bool shows_lines_;
  bool shows_status_;
  bool starting_ = true;
  std::string record_path_;
  std::optional<std::ofstream> record_;
  std::map<std::string, std::string> state_of_pod_;
};

} // namespace berth::cli
