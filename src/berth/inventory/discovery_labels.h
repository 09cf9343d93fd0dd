// The labels of GPU feature discovery by the names of this room; hardware/discovery makes them.
#pragma once

#include "berth/hardware/discovery/labels.h"

namespace berth::inventory {

using hardware::discovery_labels;
using hardware::features_file;
using hardware::kGpuUnknown;
using hardware::kMigPending;
using hardware::kMigStateLabel;
using hardware::LabelOptions;
using hardware::MigStrategy;
using hardware::Sharing;

} // namespace berth::inventory
