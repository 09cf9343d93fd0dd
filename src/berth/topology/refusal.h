// Why a container gets no CPUs or memory of its own: a verdict, not an error. The pod is turned
// away with it.
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace berth::topology {

struct Refusal {
  std::string reason; ///< "SMTAlignmentError"; "" for an allocation that failed otherwise
  std::string message;

  bool operator==(const Refusal&) const = default;
};

template <class T> using Granted = tl::expected<T, Refusal>;

inline tl::unexpected<Refusal> refuse(std::string message, std::string reason = "") {
  return tl::unexpected(Refusal{std::move(reason), std::move(message)});
}

} // namespace berth::topology
