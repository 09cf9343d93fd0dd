#include "berth/cli/up/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

namespace berth::cli {
namespace {

std::string metric(std::string_view name, std::string_view type, std::string_view help,
                   double value) {
  return fmt::format("# HELP {} {}\n# TYPE {} {}\n{} {}\n", name, help, name, type, name, value);
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

std::string cpu() {
  rusage used{};
  if (::getrusage(RUSAGE_SELF, &used) != 0) {
    return "";
  }
  return metric("process_cpu_seconds_total", "counter",
                "Total user and system CPU time spent in seconds.",
                seconds(used.ru_utime) + seconds(used.ru_stime));
}

std::string files() {
  std::string text;
  std::error_code error;
  std::ptrdiff_t open = -1; // the folder itself is one while it is read
  for (auto entry = std::filesystem::directory_iterator("/proc/self/fd", error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    ++open;
  }
  if (open >= 0) {
    text += metric("process_open_fds", "gauge", "Number of open file descriptors.",
                   static_cast<double>(open));
  }
  rlimit most{};
  if (::getrlimit(RLIMIT_NOFILE, &most) == 0) {
    text += metric("process_max_fds", "gauge", "Maximum number of open file descriptors.",
                   static_cast<double>(most.rlim_cur));
  }
  return text;
}

std::string memory() {
  std::ifstream in("/proc/self/statm");
  double whole = 0;
  double resident = 0;
  if (!(in >> whole >> resident)) {
    return "";
  }
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  return metric("process_resident_memory_bytes", "gauge", "Resident memory size in bytes.",
                resident * page) +
         metric("process_virtual_memory_bytes", "gauge", "Virtual memory size in bytes.",
                whole * page);
}

} // namespace

std::string process_metrics(TimePoint started) {
  return cpu() + files() + memory() +
         metric("process_start_time_seconds", "gauge",
                "Start time of the process since unix epoch in seconds.",
                static_cast<double>(started.unix_nanos()) / 1e9);
}

} // namespace berth::cli
