// Objects as bytes of an answer, in the form the client wants. Stored bytes are handed on where the
// form allows it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "berth/api/object.h"
#include "berth/base/time.h"
#include "berth/schema/resource.h"
#include "berth/server/json_list.h"
#include "berth/server/media.h"
#include "berth/server/table.h"

namespace berth::server {

/// includeObject= of tables: what of each object comes with its row.
enum class RowObject { Metadata, None, Whole };

struct RenderOptions {
  Wanted wanted;
  RowObject row_object = RowObject::Metadata;
  TimePoint now; ///< ages in tables are counted to here
  GpuColumns gpu_columns = GpuColumns::Hidden;
};

/// One object in the wanted form; `columns`: with the definitions of a table's columns (all but
/// later events of a watch).
std::string render_object(const api::Object& object, const schema::Resource& resource,
                          const RenderOptions& options, bool columns = true);
std::string render_list(std::span<const api::Object> items, const ListHead& head,
                        const schema::Resource& resource, const RenderOptions& options);
/// A JSON document in the encoding.
std::string encode(const api::json::value& document, Encoding encoding);

} // namespace berth::server
