// '%d of %s'.format([1, "two"]). Source: cel-go ext/formatting.go.
#pragma once

#include <string_view>

#include "berth/cel/value.h"

namespace berth::cel {

/// The text with its verbs (%s %d %f %e %x %X %o %b %%) replaced by the arguments in turn.
/// Failures: a verb that is none, or that does not take its argument; too few arguments.
Outcome formatted(std::string_view format, const List& args);

} // namespace berth::cel
