// The device plugin's configuration file, YAML or JSON, version v1. Read strictly: a field that
// does not exist is an error, with its place.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "berth/deviceplugin/config/config.h"

namespace berth::deviceplugin {

/// The defaults with what the file says. An empty file says nothing. Errors (Invalid) name file,
/// line, column and field.
Result<Config> read_config_file(std::string_view text, std::string_view file);

/// Where a field, "imex.channelIDs", stands in such a file; none if it does not.
std::optional<Where> place_in_config_file(const std::string& field, std::string_view text,
                                          std::string_view file);

} // namespace berth::deviceplugin
