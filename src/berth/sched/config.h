// Reads a KubeSchedulerConfiguration file, unmodified, into the profiles of one scheduler. Every
// mistake is an error with file, line, column and field path; nothing is left out in silence: what
// is read and makes no difference is told in `remarks`.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/result.h"
#include "berth/sched/config_document.h"
#include "berth/sched/framework.h"
#include "berth/sched/queue.h"

namespace berth::sched {

/// Something about the file that its author should know.
struct ConfigRemark {
  enum class Severity { Note, Warning };
  Severity severity = Severity::Note;
  Where where;
  std::string message;
};

/// Every profile makes a Framework, names are distinct, and all sort the queue alike.
struct SchedulerConfig {
  std::vector<Profile> profiles; ///< at least one
  QueueOptions queue;
  std::int64_t parallelism = 16;
  std::vector<Extender> extenders;
  std::optional<LeaderElection> leader_election;     ///< as far as the file says
  std::optional<ClientConnection> client_connection; ///< as far as the file says
  std::vector<ConfigRemark> remarks;
};

/// What a file is read against.
struct ConfigContext {
  Registry registry;
  /// The default plugins with their args, in order, that every profile starts from.
  std::function<Profile(KubernetesVersion)> defaults;
  /// Plugins that go by another name in files, e.g. Coscheduling -> Gang. Args and kinds too.
  std::map<std::string, std::string, std::less<>> other_names = {};
  /// Whether a scheduler process of its own is configured: then it has an API to connect to and
  /// others to elect a leader among.
  bool own_process = false;
};

/// Of the profiles' queue orders only one can hold: where some profile names its own, a plugin that
/// sorts by default alone gives way to it.
Result<SchedulerConfig> read_scheduler_config(std::string_view text, std::string_view file,
                                              const ConfigContext& context);

} // namespace berth::sched
