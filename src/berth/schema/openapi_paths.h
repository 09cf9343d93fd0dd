// The paths of OpenAPI documents: what may be asked of a resource, with which parameters and
// bodies. The deprecated watch paths are left out.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "berth/schema/openapi_schema.h"
#include "berth/schema/resource.h"

namespace berth::schema {

class PathWriter {
 public:
  explicit PathWriter(SchemaWriter& schemas) : schemas_(schemas) {}

  /// Adds the paths of one resource and of its subresources.
  void write(const Resource& resource, boost::json::object& paths);
  /// The path of a group and version itself, which answers with its resources.
  void write_group(const api::GroupVersionKind& gvk, boost::json::object& paths);

 private:
  enum class Action { Get, List, Create, Replace, Patch, Delete, DeleteCollection };
  struct Operation;

  void collection(const Resource& resource, boost::json::object& paths);
  void item(const Resource& resource, boost::json::object& paths);
  void subresource(const Resource& resource, const Subresource& sub, boost::json::object& paths);
  boost::json::object operation(const Operation& of);
  boost::json::value answers(const Operation& of);
  void body(const Operation& of, boost::json::object& out, boost::json::array& parameters);
  boost::json::object parameter(std::string_view name, std::string_view place);
  boost::json::object path(bool named, bool namespaced);
  std::string body_type(const Operation& of) const;

  SchemaWriter& schemas_; // lives as long as the document is being written
};

/// "/api/v1", "/apis/apps/v1".
std::string path_of(const api::GroupVersionKind& gvk);

} // namespace berth::schema
