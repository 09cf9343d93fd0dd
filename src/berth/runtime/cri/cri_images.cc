#include "berth/runtime/cri/cri_images.h"

#include "berth/rpc/typed.h"
#include "runtime/cri/cri.pb.h"

namespace berth::runtime::cri {
namespace {

namespace pb = ::runtime::v1;

constexpr rpc::CallOptions kQuick{.timeout = Duration::minutes(2),
                                  .absent = rpc::CallOptions::Absent::Wait};
// Images of tens of gigabytes take their time; the runtime itself ends a pull without progress.
constexpr rpc::CallOptions kPull{.timeout = Duration::hours(4),
                                 .absent = rpc::CallOptions::Absent::Wait};

} // namespace

void CriImages::find(const std::string& image, Done<std::optional<std::string>> done) {
  pb::ImageStatusRequest request;
  request.mutable_image()->set_image(image);
  rpc::call<pb::ImageStatusResponse>(
      *channel_, "/runtime.v1.ImageService/ImageStatus", request, kQuick,
      [done = std::move(done)](const Result<pb::ImageStatusResponse>& response) {
        done(response.map([](const pb::ImageStatusResponse& answer) {
          return answer.image().id().empty() ? std::nullopt : std::optional(answer.image().id());
        }));
      });
}

void CriImages::user_of(const std::string& image, Done<ImageUser> done) {
  pb::ImageStatusRequest request;
  request.mutable_image()->set_image(image);
  rpc::call<pb::ImageStatusResponse>(
      *channel_, "/runtime.v1.ImageService/ImageStatus", request, kQuick,
      [done = std::move(done)](const Result<pb::ImageStatusResponse>& response) {
        done(response.map([](const pb::ImageStatusResponse& answer) {
          ImageUser user{.name = answer.image().username()};
          if (answer.image().has_uid()) {
            user.uid = answer.image().uid().value();
          }
          return user;
        }));
      });
}

void CriImages::pull(const std::string& image, const RegistryLogin& login, Done<std::string> done) {
  pb::PullImageRequest request;
  request.mutable_image()->set_image(image);
  if (!login.username.empty() || !login.password.empty()) {
    request.mutable_auth()->set_username(login.username);
    request.mutable_auth()->set_password(login.password);
    request.mutable_auth()->set_server_address(login.server);
  }
  rpc::call<pb::PullImageResponse>(
      *channel_, "/runtime.v1.ImageService/PullImage", request, kPull,
      [done = std::move(done)](const Result<pb::PullImageResponse>& response) {
        done(response.map([](const pb::PullImageResponse& answer) { return answer.image_ref(); }));
      });
}

} // namespace berth::runtime::cri
