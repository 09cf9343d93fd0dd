#include "berth/cel/parser.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "berth/cel/library.h"
#include "berth/cel/macros.h"
#include "berth/cel/token.h"

namespace berth::cel {
namespace {

/// Of what nests to the left: a.b.c, a + b + c.
constexpr int kMostDepth = 1000;

constexpr std::string_view kBeginnings =
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, "
    "BYTES, IDENTIFIER}";

constexpr std::array<std::string_view, 17> kReservedWords = {
    "as",  "break", "const",   "continue",  "else",   "for", "function", "if",   "import",
    "let", "loop",  "package", "namespace", "return", "var", "void",     "while"};

constexpr std::array<std::string_view, 7> kRelations = {"==", "!=", "<=", ">=", "<", ">", "in"};
constexpr std::array<std::string_view, 2> kSums = {"+", "-"};
constexpr std::array<std::string_view, 3> kProducts = {"*", "/", "%"};

class Parser {
 public:
  Parser(std::vector<Token> tokens, std::vector<Issue>& issues)
      : tokens_(std::move(tokens)), issues_(&issues) {}

  NodePtr whole() {
    NodePtr out = expression();
    if (!failed_ && current().form != Token::Form::End) {
      const bool last = tokens_[next_ + 1].form == Token::Form::End;
      syntax(current(), fmt::format("{} input '{}' expecting <EOF>",
                                    last ? "extraneous" : "mismatched", current().text));
    }
    return failed_ ? nullptr : out;
  }

 private:
  const Token& current() const { return tokens_[next_]; }
  Token take() {
    Token out = tokens_[next_];
    next_ += out.form == Token::Form::End ? 0 : 1;
    return out;
  }
  bool accept(std::string_view sign) {
    if (!current().is(sign)) {
      return false;
    }
    take();
    return true;
  }
  void expect(std::string_view sign) {
    if (!accept(sign)) {
      syntax(current(), fmt::format("missing '{}' at '{}'", sign, current().text));
    }
  }
  /// Only the first is told: what follows comes of it.
  void syntax(const Token& at, const std::string& what) {
    if (!failed_) {
      issues_->push_back({.at = at.at, .what = "Syntax error: " + what});
    }
    failed_ = true;
  }

  void too_deep() {
    syntax(current(), fmt::format("expression recursion limit exceeded: {}", kMostNesting));
  }
  NodePtr made(Node node) {
    NodePtr out = make_node(std::move(node));
    if (out->depth > kMostDepth) {
      too_deep();
    }
    return out;
  }

  // ---- operators, loosest first
  // -------------------------------------------------------------------

  NodePtr expression() {
    if (++depth_ > kMostNesting) {
      too_deep();
    }
    NodePtr out = failed_ ? nullptr : conditional();
    --depth_;
    return out;
  }

  NodePtr conditional() {
    NodePtr condition = disjunction();
    if (!current().is("?")) {
      return condition;
    }
    const Token sign = take();
    NodePtr yes = disjunction();
    expect(":");
    NodePtr no = failed_ ? nullptr : expression();
    return call(sign, "_?_:_", {std::move(condition), std::move(yes), std::move(no)});
  }

  NodePtr disjunction() {
    NodePtr left = conjunction();
    while (!failed_ && current().is("||")) {
      const Token sign = take();
      left = call(sign, "_||_", {left, conjunction()});
    }
    return left;
  }

  NodePtr conjunction() {
    NodePtr left = relation();
    while (!failed_ && current().is("&&")) {
      const Token sign = take();
      left = call(sign, "_&&_", {left, relation()});
    }
    return left;
  }

  bool at_any(std::span<const std::string_view> signs) const {
    return !failed_ &&
           std::ranges::any_of(signs, [&](std::string_view sign) { return current().is(sign); });
  }

  NodePtr relation() {
    NodePtr left = sum();
    while (at_any(kRelations)) {
      const Token sign = take();
      left = call(sign, sign.text == "in" ? "@in" : fmt::format("_{}_", sign.text), {left, sum()});
    }
    return left;
  }

  NodePtr sum() {
    NodePtr left = product();
    while (at_any(kSums)) {
      const Token sign = take();
      left = call(sign, fmt::format("_{}_", sign.text), {left, product()});
    }
    return left;
  }

  NodePtr product() {
    NodePtr left = unary();
    while (at_any(kProducts)) {
      const Token sign = take();
      left = call(sign, fmt::format("_{}_", sign.text), {left, unary()});
    }
    return left;
  }

  NodePtr unary() {
    if (!current().is("!") && !current().is("-")) {
      return member();
    }
    const Token sign = current();
    std::size_t times = 0;
    while (accept(sign.text)) {
      ++times;
    }
    if (sign.text == "-" && times == 1 && is_number(current())) {
      return member(negated(sign, take()));
    }
    NodePtr of = member();
    return times % 2 == 0 ? of : call(sign, sign.text == "!" ? "!_" : "-_", {std::move(of)});
  }

  static bool is_number(const Token& token) {
    return token.form == Token::Form::Literal &&
           (token.literal.is<std::int64_t>() || token.literal.is<double>());
  }

  NodePtr negated(const Token& sign, const Token& number) {
    const auto* whole = number.literal.get<std::int64_t>();
    Value value = whole != nullptr
                      ? Value(static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(*whole)))
                      : Value(-*number.literal.get<double>());
    return made({.at = sign.at, .literal = std::move(value)});
  }

  // ---- members and calls
  // --------------------------------------------------------------------------

  NodePtr member() { return member(primary()); }

  NodePtr member(NodePtr of) {
    while (!failed_) {
      if (current().is(".")) {
        of = selection(std::move(of), take());
      } else if (current().is("[") || current().is("[?")) {
        const Token sign = take();
        NodePtr key = expression();
        expect("]");
        of = call(sign, sign.text == "[" ? "_[_]" : "_[?_]", {std::move(of), std::move(key)});
      } else {
        return of;
      }
    }
    return of;
  }

  NodePtr selection(NodePtr of, const Token& dot) {
    const bool optional = accept("?");
    const Token name = take();
    if (name.form != Token::Form::Identifier && name.form != Token::Form::Quoted) {
      syntax(name, name.form == Token::Form::End
                       ? std::string("no viable alternative at input '.'")
                       : fmt::format("no viable alternative at input '.{}'", name.text));
      return nullptr;
    }
    if (!optional && name.form == Token::Form::Identifier && current().is("(")) {
      const Token open = take();
      return member_call(std::move(of), open, name.text);
    }
    return made({.form = Node::Form::Select,
                 .at = dot.at,
                 .name = name.form == Token::Form::Quoted ? escaped(name.text) : name.text,
                 .optional = optional,
                 .args = {std::move(of)}});
  }

  NodePtr member_call(NodePtr of, const Token& open, const std::string& name) {
    std::vector<NodePtr> args = arguments(")");
    if (failed_) {
      return nullptr;
    }
    if (auto macro = expand({.at = open.at, .target = of, .name = name, .args = args}, *issues_)) {
      failed_ = failed_ || *macro == nullptr;
      return *macro;
    }
    // "sets.contains(...)": a function whose name has a dot in it.
    if (of->form == Node::Form::Name && is_function(fmt::format("{}.{}", of->name, name))) {
      return call(open, fmt::format("{}.{}", of->name, name), std::move(args));
    }
    args.insert(args.begin(), std::move(of));
    return made({.form = Node::Form::Call,
                 .at = open.at,
                 .name = name,
                 .member = true,
                 .args = std::move(args)});
  }

  std::vector<NodePtr> arguments(std::string_view end) {
    std::vector<NodePtr> out;
    if (accept(end)) {
      return out;
    }
    do {
      out.push_back(expression());
    } while (!failed_ && accept(","));
    expect(end);
    return out;
  }

  NodePtr primary() {
    if (const Token& next = current(); !begins(next) && !failed_) {
      const bool extra = next.form != Token::Form::End && begins(tokens_[next_ + 1]);
      syntax(next, fmt::format("{} input '{}' expecting {}", extra ? "extraneous" : "mismatched",
                               next.text, kBeginnings));
    }
    if (failed_) {
      return nullptr;
    }
    const Token token = take();
    if (token.form == Token::Form::Literal) {
      return literal(token);
    }
    if (token.form == Token::Form::Identifier) {
      return name_or_call(token);
    }
    if (token.text == ".") {
      return name_or_call(take());
    }
    if (token.text == "(") {
      NodePtr inside = expression();
      expect(")");
      return inside;
    }
    return token.text == "{" ? map(token) : list(token);
  }

  static bool begins(const Token& token) {
    constexpr std::array<std::string_view, 7> kSigns = {"[", "[?", "{", "(", ".", "-", "!"};
    return token.form == Token::Form::Literal || token.form == Token::Form::Identifier ||
           std::ranges::any_of(kSigns, [&](std::string_view sign) { return token.is(sign); });
  }

  NodePtr literal(const Token& token) {
    const auto* whole = token.literal.get<std::int64_t>();
    if (whole != nullptr && *whole < 0) { // the least int, without its sign
      syntax(token, "invalid int literal");
    }
    return made({.at = token.at, .literal = token.literal});
  }

  NodePtr name_or_call(const Token& token) {
    if (token.form != Token::Form::Identifier) {
      syntax(token, fmt::format("mismatched input '{}' expecting IDENTIFIER", token.text));
      return nullptr;
    }
    if (std::ranges::find(kReservedWords, token.text) != kReservedWords.end()) {
      issues_->push_back(
          {.at = token.at, .what = fmt::format("reserved identifier: {}", token.text)});
      failed_ = true;
      return nullptr;
    }
    if (!current().is("(")) {
      return made({.form = Node::Form::Name, .at = token.at, .name = token.text});
    }
    const Token open = take();
    std::vector<NodePtr> args = arguments(")");
    if (failed_) {
      return nullptr;
    }
    if (auto macro =
            expand({.at = open.at, .target = {}, .name = token.text, .args = args}, *issues_)) {
      failed_ = failed_ || *macro == nullptr;
      return *macro;
    }
    return call(open, token.text, std::move(args));
  }

  NodePtr list(const Token& open) {
    Node node{.form = Node::Form::List, .at = open.at};
    bool optional = open.text == "[?";
    if (!optional && accept("]")) {
      return made(std::move(node));
    }
    do {
      if (current().is("]") && !node.args.empty()) {
        break; // a comma at the end
      }
      optional = accept("?") || optional;
      node.args.push_back(expression());
      node.optionals.push_back(std::exchange(optional, false));
    } while (!failed_ && accept(","));
    expect("]");
    return made(std::move(node));
  }

  NodePtr map(const Token& open) {
    Node node{.form = Node::Form::Map, .at = open.at};
    if (accept("}")) {
      return made(std::move(node));
    }
    do {
      if (current().is("}") && !node.args.empty()) {
        break;
      }
      node.optionals.push_back(accept("?"));
      node.args.push_back(expression());
      expect(":");
      node.args.push_back(failed_ ? nullptr : expression());
    } while (!failed_ && accept(","));
    expect("}");
    return made(std::move(node));
  }

  NodePtr call(const Token& at, std::string name, std::vector<NodePtr> args) {
    return made(
        {.form = Node::Form::Call, .at = at.at, .name = std::move(name), .args = std::move(args)});
  }

  std::vector<Token> tokens_;
  std::vector<Issue>* issues_;
  std::size_t next_ = 0;
  int depth_ = 0;
  bool failed_ = false;
};

} // namespace

NodePtr parse(std::string_view expression, std::vector<Issue>& issues) {
  std::vector<Token> tokens = tokens_of(expression, issues);
  NodePtr out = Parser(std::move(tokens), issues).whole();
  return issues.empty() ? out : nullptr;
}

} // namespace berth::cel
