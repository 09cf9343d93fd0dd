// Types as OpenAPI schemas, as kube-openapi writes them.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "berth/schema/type.h"

namespace berth::schema {

/// How documents of the two versions differ: V3 wraps references that have siblings in allOf and
/// knows defaults and oneOf; V2 has neither.
enum class OpenApiVersion { V2, V3 };

class SchemaWriter {
 public:
  explicit SchemaWriter(OpenApiVersion version) : version_(version) {}

  /// The schema of a type itself, as it stands under its name.
  boost::json::object definition(const Type& type);
  /// {"$ref": "#/components/schemas/NAME"}; notes the name.
  boost::json::object reference(std::string_view name);
  /// Every name that was referred to so far.
  const std::set<std::string, std::less<>>& references() const { return references_; }
  OpenApiVersion version() const { return version_; }

 private:
  boost::json::object use(const Type& type);
  boost::json::object property(const Field& field);
  void write_form(const Type& type, boost::json::object& out);
  void write_struct(const Type& type, boost::json::object& out);

  OpenApiVersion version_;
  std::set<std::string, std::less<>> references_;
};

} // namespace berth::schema
