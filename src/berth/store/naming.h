// Names and labels: the rules of apimachinery util/validation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/store/errors.h"

namespace berth::store {

/// What is wrong with `name` in Kubernetes' words; empty when nothing is.
std::vector<std::string> subdomain_errors(std::string_view name);
std::vector<std::string> label_name_errors(std::string_view name);
/// "prefix/name" or "name", as label and annotation keys and resource names are written.
std::vector<std::string> qualified_name_errors(std::string_view name);
std::vector<std::string> label_value_errors(std::string_view value);

/// Adds an "Invalid value" for each text.
void add_invalid(FieldErrors& errors, const std::string& field, std::string_view value,
                 const std::vector<std::string>& texts);

} // namespace berth::store
