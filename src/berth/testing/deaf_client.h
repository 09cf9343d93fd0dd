// A client that hears nothing more of some kind while all else goes on: what a watch is that has
// stalled without ending.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "berth/client/passing_client.h"

namespace berth::test {

/// The inner client must outlive it.
class DeafClient final : public client::PassingClient {
 public:
  explicit DeafClient(client::Client& inner) : PassingClient(inner) {}

  /// From now on events of this kind are lost; its watches stay open.
  void ignore(const client::GroupKind& kind) { *ignored_ = kind; }

  std::unique_ptr<client::Watch>
  watch(const client::WatchOptions& options,
        std::function<void(Result<client::WatchEvent>)> on_event) override {
    return inner_.watch(options, [kind = options.what.kind, ignored = ignored_,
                                  heard = std::move(on_event)](Result<client::WatchEvent> event) {
      if (*ignored != kind) {
        heard(std::move(event));
      }
    });
  }

 private:
  std::shared_ptr<std::optional<client::GroupKind>> ignored_ =
      std::make_shared<std::optional<client::GroupKind>>();
};

} // namespace berth::test
