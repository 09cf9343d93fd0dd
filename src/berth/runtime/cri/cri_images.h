// runtime.v1.ImageService over gRPC.
#pragma once

#include "berth/rpc/channel.h"
#include "berth/runtime/runtime.h"

namespace berth::runtime::cri {

/// The channel must outlive it.
class CriImages final : public Images {
 public:
  explicit CriImages(rpc::Channel& channel) : channel_(&channel) {}
  void find(const std::string& image, Done<std::optional<std::string>> done) override;
  void pull(const std::string& image, const RegistryLogin& login, Done<std::string> done) override;
  void user_of(const std::string& image, Done<ImageUser> done) override;

 private:
  rpc::Channel* channel_;
};

} // namespace berth::runtime::cri
