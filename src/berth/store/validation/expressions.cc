#include "berth/store/validation/expressions.h"

#include "berth/cel/program.h"

namespace berth::store {
namespace {

using cel::Kind;

cel::TypeRef device_type() {
  const cel::TypeRef text = cel::simple(Kind::String);
  const auto by_domain = [&](cel::TypeRef of) {
    return cel::map_of(text, cel::map_of(text, std::move(of)));
  };
  return std::make_shared<const cel::Type>(
      cel::Type{.kind = Kind::Object,
                .name = "kubernetes.DRADevice",
                .fields = {{"driver", text},
                           {"attributes", by_domain(cel::simple(Kind::Dyn))},
                           {"capacity", by_domain(cel::opaque("kubernetes.Quantity"))}}});
}

} // namespace

void check_device_expression(const Judged& expression) {
  static const std::vector<cel::Variable> kVariables = {{.name = "device", .type = device_type()}};
  const auto made = cel::Program::compile(expression.text(), kVariables);
  if (!made) {
    expression.invalid(made.error().message);
  } else if (const Kind kind = (*made)->type()->kind; kind != Kind::Bool && kind != Kind::Dyn) {
    expression.invalid(fmt::format("must evaluate to bool or the unknown type, not {}",
                                   cel::to_string(*(*made)->type())));
  }
}

} // namespace berth::store
