// Reads the types of the bundle that schemas/bundle.mjs writes; its header says what words mean.
#pragma once

#include <string_view>

#include <boost/json/object.hpp>

#include "berth/base/result.h"
#include "berth/schema/arena.h"

namespace berth::schema {

/// The text that is compiled into the program.
std::string_view bundle_text();

/// Fills the arena from the bundle's "types". Error Invalid: a form, word or type that nobody
/// knows.
Result<void> read_types(const boost::json::object& types, Arena& arena);

} // namespace berth::schema
