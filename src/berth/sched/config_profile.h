// One profile of a configuration file made ready: names resolved, plugins merged, args checked.
// Private to this room.
#pragma once

#include <string>
#include <vector>

#include "berth/sched/config.h"

namespace berth::sched {

/// A profile and who sorts its queue.
struct MadeProfile {
  Profile profile;
  std::string queue_sort;
  bool queue_sort_is_default = true; ///< the default one, and the file does not name it
};

/// Errors and remarks have their place below the profile: "plugins.score.enabled[0].name".
Result<MadeProfile> make_profile(const ProfileDocument& document, const ConfigContext& context,
                                 std::vector<ConfigRemark>& remarks);

/// Lets `plugin` sort the profile's queue and nobody else.
void sort_queue_by(Profile& profile, std::string_view plugin);

} // namespace berth::sched
