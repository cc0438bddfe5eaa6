//===- SourceBlock.cpp - A function in the text of its file ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/python/SourceBlock.h"

#include <algorithm>
#include <vector>

namespace tilewright {

namespace {
enum class Kind { String, Comment, Joined, Newline, Open, Close, Space, Word, Other };
struct Token {
  Kind kind;
  size_t begin, end;
};
} // namespace

static bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\f'; }
static bool isWord(char c) {
  // All that is not ASCII can only be part of a name, outside of strings.
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
static bool isQuote(char c) { return c == '"' || c == '\''; }

static size_t skipBlanks(std::string_view text, size_t at) {
  while (at < text.size() && isBlank(text[at]))
    ++at;
  return at;
}

/// The end of a line break at `at`, or `at` where there is none.
static size_t skipBreak(std::string_view text, size_t at) {
  if (text.substr(at, 1) == "\n")
    return at + 1;
  return text.substr(at, 2) == "\r\n" ? at + 2 : at;
}

/// The end of the string whose prefix starts at `at`, or `at` where there is none.
static size_t skipString(std::string_view text, size_t at) {
  size_t quote = at;
  while (quote < text.size() && quote < at + 2 &&
         std::string_view("rRbBuUfF").find(text[quote]) != std::string_view::npos)
    ++quote;
  if (quote >= text.size() || !isQuote(text[quote]))
    return at;
  char mark = text[quote];
  bool isTriple = text.substr(quote, 3) == std::string(3, mark);
  for (size_t i = quote + (isTriple ? 3 : 1); i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == '\n' && !isTriple)
      return at;
    else if (isTriple ? text.substr(i, 3) == std::string(3, mark) : text[i] == mark)
      return i + (isTriple ? 3 : 1);
  }
  return at;
}

static Token tokenAt(std::string_view text, size_t at) {
  if (size_t end = skipString(text, at); end != at)
    return {Kind::String, at, end};
  char c = text[at];
  if (c == '#')
    return {Kind::Comment, at, std::min(text.find('\n', at), text.size())};
  if (c == '\\')
    if (size_t end = skipBreak(text, at + 1); end != at + 1)
      return {Kind::Joined, at, skipBlanks(text, end)};
  if (size_t end = skipBreak(text, at); end != at)
    return {Kind::Newline, at, skipBlanks(text, end)};
  if (c == '(' || c == '[' || c == '{')
    return {Kind::Open, at, at + 1};
  if (c == ')' || c == ']' || c == '}')
    return {Kind::Close, at, at + 1};
  if (isBlank(c))
    return {Kind::Space, at, skipBlanks(text, at)};
  size_t end = at;
  while (end < text.size() && isWord(text[end]))
    ++end;
  return end > at ? Token{Kind::Word, at, end} : Token{Kind::Other, at, at + 1};
}

/// Columns of the blanks in `space`, tabs to the next multiple of eight.
static size_t widthOf(std::string_view space) {
  size_t width = 0;
  for (char c : space)
    if (c == '\t')
      width = (width / 8 + 1) * 8;
    else if (c != '\r' && c != '\n')
      ++width;
  return width;
}

/// Whether a space between two characters separates nothing: it stands beside
/// punctuation. Quotes count as neither, so that `"a" "b"` stays two strings.
static bool isNeedless(char before, char after) {
  auto isPunctuation = [](char c) { return !isWord(c) && !isBlank(c) && c != '\n' && !isQuote(c); };
  return isPunctuation(before) || (!isBlank(before) && before != '\n' && isPunctuation(after));
}

namespace {
/// Collects the pieces of the meaning.
class Meaning {
public:
  bool empty() const { return pieces.empty(); }
  size_t count() const { return pieces.size(); }
  std::string_view operator[](size_t i) const { return pieces[i]; }
  void clear() { pieces.clear(); }
  void add(std::string_view piece) { pieces.push_back(piece); }
  void addSpace() {
    if (!pieces.empty() && pieces.back() != " " && pieces.back() != "\n")
      pieces.push_back(" ");
  }
  void addLine(size_t depth) {
    if (!pieces.empty()) {
      if (pieces.back() == " ")
        pieces.pop_back();
      pieces.push_back("\n");
    }
    static const std::string tabs(100, '\t'); // Python allows a hundred levels
    pieces.push_back(std::string_view(tabs).substr(0, depth));
  }
  std::string join() const {
    std::string text;
    for (size_t i = 0; i < pieces.size(); ++i) {
      bool isSpace = pieces[i] == " ";
      if (isSpace &&
          (text.empty() || i + 1 == pieces.size() || isNeedless(text.back(), pieces[i + 1][0])))
        continue;
      text += pieces[i];
    }
    while (!text.empty() && (isBlank(text.back()) || text.back() == '\n'))
      text.pop_back();
    return text;
  }

private:
  std::vector<std::string_view> pieces;
};
} // namespace

SourceBlock scanSourceBlock(std::string_view text) {
  size_t indent = skipBlanks(text, 0);
  const size_t base = widthOf(text.substr(0, indent));
  std::vector<size_t> indents{base};
  Meaning meaning;
  size_t pending = base; // indentation of the logical line that starts
  size_t depth = 0, startOfDef = 0, last = 0;
  bool atLineStart = true, seenDef = false, isExact = true;
  for (Token token{Kind::Space, 0, indent}; token.end < text.size();) {
    token = tokenAt(text, token.end);
    std::string_view value = text.substr(token.begin, token.end - token.begin);
    if (token.kind == Kind::Comment)
      continue;
    if (token.kind == Kind::Newline) {
      if (depth == 0)
        pending = widthOf(value), atLineStart = true;
      else
        meaning.addSpace();
      continue;
    }
    if (token.kind == Kind::Space || token.kind == Kind::Joined) {
      meaning.addSpace();
      continue;
    }
    if (atLineStart) {
      // A logical line starts: the first one not deeper than `def` ends it all.
      if (seenDef && pending <= base)
        break;
      bool isDef = value == "def" || value == "async";
      // A lambda, say: what follows its line is something else.
      if (!seenDef && meaning.count() > 1 && ((value != "@" && !isDef) || meaning[1] != "@"))
        break;
      while (indents.size() > 1 && pending < indents.back())
        indents.pop_back();
      if (pending > indents.back())
        indents.push_back(pending);
      meaning.addLine(indents.size() - 1);
      if (!seenDef && isDef) {
        seenDef = true;
        startOfDef = token.begin;
        meaning.clear(); // decorators say how it is launched, not what it means
      }
      atLineStart = false;
    }
    if (token.kind == Kind::Open)
      ++depth;
    else if (token.kind == Kind::Close && depth > 0)
      --depth;
    else if (token.kind == Kind::String)
      isExact &=
          value.substr(0, value.find(value.back())).find_first_of("fF") == std::string_view::npos;
    meaning.add(value);
    last = token.end;
  }
  SourceBlock block;
  block.lineCount = static_cast<size_t>(std::count(text.begin(), text.begin() + last, '\n')) + 1;
  block.meaning =
      isExact ? meaning.join() : std::string(text.substr(startOfDef, last - startOfDef));
  return block;
}

} // namespace tilewright
