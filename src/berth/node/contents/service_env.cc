#include "berth/node/contents/service_env.h"

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "berth/node/contents/spec_field.h"

namespace berth::node {
namespace {

namespace json = boost::json;

std::string upper(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    c = c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return out;
}

std::string lower(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

std::string host_and_port(std::string_view ip, std::int64_t port) {
  return ip.find(':') == std::string_view::npos ? fmt::format("{}:{}", ip, port)
                                                : fmt::format("[{}]:{}", ip, port);
}

void add_port(std::map<std::string, std::string>& env, const std::string& name, std::string_view ip,
              const json::value& port) {
  const std::string_view given = api::string_at(port, "protocol");
  const std::string protocol(given.empty() ? "TCP" : given);
  const std::int64_t number = int_at(port, "port").value_or(0);
  const std::string prefix = fmt::format("{}_PORT_{}_{}", name, number, upper(protocol));
  env[prefix] = fmt::format("{}://{}", lower(protocol), host_and_port(ip, number));
  env[prefix + "_PROTO"] = lower(protocol);
  env[prefix + "_PORT"] = fmt::to_string(number);
  env[prefix + "_ADDR"] = ip;
}

void add_service(std::map<std::string, std::string>& env, const json::value& service) {
  const std::string_view ip = api::string_at(service, "spec.clusterIP");
  const json::array& ports = list_at(service, "spec.ports");
  if (ip.empty() || ip == "None" || ports.empty()) {
    return;
  }
  const std::string name = upper(api::string_at(service, "metadata.name"));
  const json::value& first = ports.front();
  env[name + "_SERVICE_HOST"] = ip;
  env[name + "_SERVICE_PORT"] = fmt::to_string(int_at(first, "port").value_or(0));
  for (const json::value& port : ports) {
    if (const std::string_view called = api::string_at(port, "name"); !called.empty()) {
      env[fmt::format("{}_SERVICE_PORT_{}", name, upper(called))] =
          fmt::to_string(int_at(port, "port").value_or(0));
    }
    add_port(env, name, ip, port);
  }
  const std::string_view protocol = api::string_at(first, "protocol");
  env[name + "_PORT"] = fmt::format("{}://{}", lower(protocol.empty() ? "TCP" : protocol),
                                    host_and_port(ip, int_at(first, "port").value_or(0)));
}

} // namespace

std::map<std::string, std::string> service_env(const std::vector<api::Object>& services) {
  std::map<std::string, std::string> env;
  for (const api::Object& service : services) {
    add_service(env, service.json());
  }
  return env;
}

} // namespace berth::node
