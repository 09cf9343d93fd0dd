// The file of --scheduler-config.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "berth/base/result.h"
#include "berth/hardware/choose.h"
#include "berth/report/run_report.h"
#include "berth/scheduler/scheduler.h"

namespace berth::cli {

struct SchedulerFile {
  std::shared_ptr<const scheduler::SchedulerOptions> options;
  std::vector<report::Note> notes; ///< what is read and makes no difference
};

/// A KubeSchedulerConfiguration. Errors have file, line, column and field path.
Result<SchedulerFile> read_scheduler_file(const std::string& path,
                                          hardware::ChoicePolicy gpu_policy);

} // namespace berth::cli
