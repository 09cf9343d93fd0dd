#include "berth/cli/run/scheduler_file.h"

#include <utility>

#include "berth/cli/run/manifest_files.h"
#include "berth/scheduler/scheduler_config.h"

namespace berth::cli {

Result<SchedulerFile> read_scheduler_file(const std::string& path,
                                          hardware::ChoicePolicy gpu_policy) {
  BERTH_TRY(const std::string text, read_text(path));
  BERTH_TRY(sched::SchedulerConfig config,
            scheduler::read_config(text, path, to_string(gpu_policy)));
  SchedulerFile file;
  scheduler::SchedulerOptions options = scheduler::options_of(config);
  if (!options.extenders.empty()) {
    options.poster = scheduler::blocking_poster();
  }
  file.options = std::make_shared<const scheduler::SchedulerOptions>(std::move(options));
  for (sched::ConfigRemark& remark : config.remarks) {
    file.notes.push_back({.warning = remark.severity == sched::ConfigRemark::Severity::Warning,
                          .where = std::move(remark.where),
                          .message = std::move(remark.message)});
  }
  return file;
}

} // namespace berth::cli
