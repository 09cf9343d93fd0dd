// Many questions whose answers make one.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "berth/runtime/runtime.h"

namespace berth::runtime::cri {

/// Collects what a number of answers bring and tells when the last is in; the first error wins.
template <class T> class Gathering : public std::enable_shared_from_this<Gathering<T>> {
 public:
  Gathering(std::size_t count, Done<std::vector<T>> done) : left_(count), done_(std::move(done)) {}
  void put(Result<T> one) {
    if (one) {
      items_.push_back(*std::move(one));
    } else if (one.error().code != Code::NotFound && !error_) { // gone meanwhile: not there
      error_ = std::move(one).error();
    }
    if (--left_ == 0) {
      finish();
    }
  }
  void finish() {
    if (error_) {
      done_(tl::unexpected(*error_));
    } else {
      done_(std::move(items_));
    }
  }

 private:
  std::size_t left_;
  std::vector<T> items_;
  std::optional<Error> error_;
  Done<std::vector<T>> done_;
};

} // namespace berth::runtime::cri
