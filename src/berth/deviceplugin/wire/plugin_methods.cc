#include "berth/deviceplugin/wire/plugin_methods.h"

#include <string>
#include <utility>
#include <vector>

#include "berth/deviceplugin/wire/messages.h"
#include "berth/deviceplugin/wire/methods.h"
#include "berth/rpc/typed.h"

namespace berth::deviceplugin {
namespace {

template <class T> using Respond = std::function<void(Result<T>)>;
using Preference = std::vector<std::string>;

/// A kubelet's stream, while it lasts.
struct Listening {
  explicit Listening(std::shared_ptr<Audience> its_audience) : audience(std::move(its_audience)) {
    ++audience->listeners;
  }
  ~Listening() { --audience->listeners; }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

  std::shared_ptr<Audience> audience;
  std::unique_ptr<DeviceStream> stream;
};

std::shared_ptr<void> listen(DevicePlugin& plugin, const std::shared_ptr<Audience>& audience,
                             const std::shared_ptr<rpc::Sink>& sink) {
  if (audience->listeners >= kMostListeners) {
    sink->finish(fail(Code::TooManyRequests, "too many listen to this device plugin already"));
    return nullptr;
  }
  auto listening = std::make_shared<Listening>(audience);
  // The sink keeps what is returned here, so it must not be kept by it.
  listening->stream = plugin.list_and_watch(
      [weak = std::weak_ptr(sink)](const std::vector<Device>& devices) {
        if (const auto open = weak.lock()) {
          open->send(to_message(devices).SerializeAsString());
        }
      },
      [weak = std::weak_ptr(sink)](Error error) {
        if (const auto open = weak.lock()) {
          open->finish(tl::unexpected(std::move(error)));
        }
      });
  return listening;
}

/// Asks for one container after the other.
void prefer(const std::shared_ptr<DevicePlugin>& plugin,
            const std::shared_ptr<std::vector<PreferredAllocationRequest>>& requests,
            std::vector<Preference> so_far, Respond<v1beta1::PreferredAllocationResponse> respond) {
  if (so_far.size() == requests->size()) {
    respond(preference_message(so_far));
    return;
  }
  const PreferredAllocationRequest& next = (*requests)[so_far.size()];
  plugin->get_preferred_allocation(
      next, [plugin, requests, so_far = std::move(so_far),
             respond = std::move(respond)](Result<Preference> preferred) mutable {
        if (!preferred) {
          respond(tl::unexpected(std::move(preferred).error()));
          return;
        }
        so_far.push_back(*std::move(preferred));
        prefer(plugin, requests, std::move(so_far), std::move(respond));
      });
}

} // namespace

rpc::Methods plugin_methods(std::shared_ptr<DevicePlugin> plugin,
                            std::shared_ptr<Audience> audience) {
  rpc::Methods methods;
  methods.unary[method::kGetOptions] = rpc::unary<v1beta1::Empty, v1beta1::DevicePluginOptions>(
      [plugin](const v1beta1::Empty&, const Respond<v1beta1::DevicePluginOptions>& respond) {
        plugin->get_options([respond](const Result<DevicePluginOptions>& options) {
          respond(options.map([](const DevicePluginOptions& known) { return to_message(known); }));
        });
      });
  methods.unary[method::kGetPreferredAllocation] =
      rpc::unary<v1beta1::PreferredAllocationRequest, v1beta1::PreferredAllocationResponse>(
          [plugin](const v1beta1::PreferredAllocationRequest& message,
                   Respond<v1beta1::PreferredAllocationResponse> respond) {
            auto requests = from_message(message);
            if (!requests) {
              respond(tl::unexpected(std::move(requests).error()));
              return;
            }
            prefer(plugin,
                   std::make_shared<std::vector<PreferredAllocationRequest>>(*std::move(requests)),
                   {}, std::move(respond));
          });
  methods.unary[method::kAllocate] =
      rpc::unary<v1beta1::AllocateRequest, v1beta1::AllocateResponse>(
          [plugin](const v1beta1::AllocateRequest& message,
                   const Respond<v1beta1::AllocateResponse>& respond) {
            plugin->allocate(
                from_message(message),
                [respond](const Result<std::vector<ContainerAllocateResponse>>& responses) {
                  respond(responses.map([](const std::vector<ContainerAllocateResponse>& given) {
                    return to_message(given);
                  }));
                });
          });
  methods.unary[method::kPreStartContainer] =
      rpc::unary<v1beta1::PreStartContainerRequest, v1beta1::PreStartContainerResponse>(
          [plugin](const v1beta1::PreStartContainerRequest& message,
                   const Respond<v1beta1::PreStartContainerResponse>& respond) {
            plugin->pre_start_container(
                {message.devices_ids().begin(), message.devices_ids().end()},
                [respond](const Result<void>& done) {
                  respond(done.map([] { return v1beta1::PreStartContainerResponse(); }));
                });
          });
  methods.streams[method::kListAndWatch] =
      [plugin, audience = std::move(audience)](
          const std::string& bytes,
          const std::shared_ptr<rpc::Sink>& sink) -> std::shared_ptr<void> {
    if (auto request = rpc::decode<v1beta1::Empty>(bytes); !request) {
      sink->finish(tl::unexpected(std::move(request).error()));
      return nullptr;
    }
    return listen(*plugin, audience, sink);
  };
  return methods;
}

} // namespace berth::deviceplugin
