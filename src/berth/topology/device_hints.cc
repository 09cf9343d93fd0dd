#include "berth/topology/device_hints.h"

#include <map>

#include "berth/topology/stock_hints.h"

namespace berth::topology {

std::optional<std::vector<Hint>> device_hints(const std::vector<DeviceOffer>& offers,
                                              std::int64_t request, NumaMask machine_nodes) {
  std::map<NumaMask, Stock> by_nodes;
  std::int64_t usable = 0;
  for (const DeviceOffer& offer : offers) {
    usable += offer.state != DeviceOffer::State::Taken;
    NumaMask nodes;
    for (const std::int64_t id : offer.nodes) {
      if (id >= 0 && id < NumaMask::kMostNodes) {
        nodes = nodes | (NumaMask::single(static_cast<int>(id)) & machine_nodes);
      }
    }
    if (nodes.empty()) {
      continue;
    }
    Stock& stock = by_nodes[nodes];
    stock.nodes = nodes;
    ++stock.all;
    stock.free += offer.state == DeviceOffer::State::Free;
    stock.reusable += offer.state == DeviceOffer::State::Reusable;
  }
  if (by_nodes.empty()) {
    return std::nullopt;
  }
  if (usable < request) {
    return std::vector<Hint>();
  }
  std::vector<Stock> stocks;
  for (const auto& [nodes, stock] : by_nodes) {
    stocks.push_back(stock);
  }
  return stock_hints(stocks, request).hints;
}

} // namespace berth::topology
