// A device plugin behind a socket, as its client holds it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "berth/base/result.h"
#include "berth/deviceplugin/contract.h"
#include "berth/deviceplugin/wire/limits.h"
#include "berth/net/asio_loop.h"
#include "berth/rpc/channel.h"

namespace berth::deviceplugin {

/// Connects when first used: get_options() waits until somebody listens, at most limits.dial. What
/// the peer does is bounded: calls have an end, messages a size, lists a rate and a length; a
/// message that is none, or a list that is too long, is the end of the stream. The loop must
/// outlive it.
class RemotePlugin final : public DevicePlugin {
 public:
  /// `socket` is its path, or why there is none: then get_options() says so.
  RemotePlugin(net::AsioLoop& loop, Result<std::string> socket, WireLimits limits);
  ~RemotePlugin() override;
  RemotePlugin(const RemotePlugin&) = delete;
  RemotePlugin& operator=(const RemotePlugin&) = delete;

  /// Closes the connection: streams end and calls fail, those to come too.
  void hang_up();

  /// Error Unavailable: nobody is there, or it is no plugin. Others: it is there, and refuses.
  void get_options(Done<DevicePluginOptions> done) override;
  std::unique_ptr<DeviceStream> list_and_watch(std::function<void(std::vector<Device>)> on_list,
                                               std::function<void(Error)> on_end) override;
  void get_preferred_allocation(const PreferredAllocationRequest& request,
                                Done<std::vector<std::string>> done) override;
  void allocate(const std::vector<std::vector<std::string>>& containers,
                Done<std::vector<ContainerAllocateResponse>> done) override;
  void pre_start_container(const std::vector<std::string>& ids, Done<void> done) override;

 private:
  struct Listener;
  class Listening;

  template <class T> Done<T> until_closed(Done<T> done);
  template <class T> bool refused(const Done<T>& done);
  Error explained(Error error) const;

  net::AsioLoop* loop_;
  Result<std::string> socket_;
  WireLimits limits_;
  std::unique_ptr<rpc::Channel> channel_; ///< none: nothing is to be asked there any more
  std::map<std::uint64_t, std::function<void(Error)>> in_flight_; ///< how to end each call
  std::uint64_t next_call_ = 1;
  std::vector<std::weak_ptr<Listener>> listeners_;
};

} // namespace berth::deviceplugin
