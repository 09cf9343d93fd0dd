#include "berth/net/asio_background.h"

#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

namespace berth::net {
namespace {

class AsioBackground final : public Background {
 public:
  explicit AsioBackground(AsioLoop& loop) : loop_(&loop) {}
  ~AsioBackground() override { thread_.join(); }
  AsioBackground(const AsioBackground&) = delete;
  AsioBackground& operator=(const AsioBackground&) = delete;

  void run(Task work, Task then) override {
    boost::asio::post(thread_,
                      [loop = loop_, work = std::move(work), then = std::move(then)]() mutable {
                        work();
                        loop->post_from_any_thread(std::move(then));
                      });
  }

 private:
  AsioLoop* loop_;
  boost::asio::thread_pool thread_{1};
};

} // namespace

std::unique_ptr<Background> make_background(AsioLoop& loop) {
  return std::make_unique<AsioBackground>(loop);
}

} // namespace berth::net
