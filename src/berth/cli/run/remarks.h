// What manifests ask for and this cluster will not do, said before it runs: a wish that is passed
// over in silence looks like one that was granted.
#pragma once

#include <vector>

#include "berth/api/manifest.h"
#include "berth/report/run_report.h"

namespace berth::cli {

/// About Pods and Jobs: annotations of Berth that it does not understand, devices asked for through
/// resource claims, queues of Kueue. Each kind of remark is made once, with its first place and the
/// number of objects; annotations are named one by one, twenty at most.
std::vector<report::Note> remarks_on(const std::vector<api::Manifest>& objects);

} // namespace berth::cli
