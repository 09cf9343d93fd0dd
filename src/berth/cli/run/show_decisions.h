// --explain: the scheduler's whole table for every attempt to place the pods asked for.
#pragma once

#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "berth/base/result.h"
#include "berth/explain/book.h"
#include "berth/report/run_report.h"
#include "berth/report/table.h"

namespace berth::cli {

struct Decisions {
  std::vector<boost::json::value> documents; ///< one a pod (explain/decisions_json.h)
  std::vector<Error> errors; ///< --explain names a pod that never was; names the nearest
};

/// `report`: for the pods that there were.
Decisions decisions_of(const explain::Book& book, const report::RunReport& report);

/// One table an attempt; a sentence for pods that were asked for and never tried.
std::string render_decisions(const explain::Book& book, const report::RunReport& report,
                             const report::TableStyle& style);

} // namespace berth::cli
