// The ConfigMaps and Secrets that a pod's containers and volumes are made from, as they were when
// asked for: each there, or the error that says why it is not.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "berth/api/object.h"
#include "berth/base/result.h"
#include "berth/node/contents/references.h"

namespace berth::node {

/// The values of one ConfigMap or Secret, decoded, by key.
using SourceData = std::map<std::string, std::string>;

/// What a reference to something that is not there says: `configmap "x" not found`.
Error missing_source(const SourceName& source);

class Sources {
 public:
  void put(const SourceName& source, Result<api::Object> answer);

  /// Error NotFound also for what was never asked for.
  Result<api::Object> get(const SourceName& source) const;
  /// The text values: of a ConfigMap `data` alone, of a Secret all of it.
  Result<SourceData> text_of(const SourceName& source) const;
  /// The same and `binaryData`: what a volume shows.
  Result<SourceData> files_of(const SourceName& source) const;

 private:
  std::map<SourceName, Result<api::Object>> answers_;
};

} // namespace berth::node
