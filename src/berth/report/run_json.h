// A run as a document with a stable schema: apiVersion berth.dev/v1alpha1, kind RunReport. Fields
// are documented in docs/run-report.md; they are added, never renamed. Keys stand in a fixed order,
// so equal runs are equal bytes.
#pragma once

#include <boost/json/value.hpp>

#include "berth/report/run_report.h"

namespace berth::report {

enum class WithTimeline { No, Yes };

boost::json::value run_document(const RunReport& report, WithTimeline timeline);

/// One line of a --record file.
boost::json::value timeline_document(const TimelineLine& line);
/// The first line of a --record file: apiVersion, kind RunRecord, cluster, start.
boost::json::value record_header(const ClusterLine& cluster, TimePoint start);

} // namespace berth::report
