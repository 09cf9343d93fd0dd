// The words of an expression. Source: cel-spec, doc/langdef.md ("Syntax").
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/cel/issue.h"
#include "berth/cel/value.h"

namespace berth::cel {

struct Token {
  enum class Form { End, Identifier, Quoted, Sign, Literal };
  Form form = Form::End;
  std::string text;   ///< as written; of a Quoted name what is between the backticks
  Value literal;      ///< Literal
  std::size_t at = 0; ///< characters from the beginning

  bool is(std::string_view sign) const { return form == Form::Sign && text == sign; }
};

/// All tokens, the last one End. What is no token is told and left out.
std::vector<Token> tokens_of(std::string_view expression, std::vector<Issue>& issues);

} // namespace berth::cel
