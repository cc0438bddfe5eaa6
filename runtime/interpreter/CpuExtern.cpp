//===- CpuExtern.cpp - The functions of libdevice on the CPU --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the functions that a compiled kernel takes from NVIDIA's libdevice, by
// their symbols.
//
// How: each element is passed as one f64 or one 64-bit integer. Functions of
// reals are the C library's, computed in f64 and rounded once for f32, so that
// they are nearer to the exact value than the GPU's. Arithmetic and conversions
// with a rounding mode run under that mode of the FPU and are exact.
//
// Not handled: rcp64h, whose bits only the GPU knows.
//
//===----------------------------------------------------------------------===//

#include "runtime/interpreter/CpuTileBuilder.h"
#include "runtime/interpreter/ExternReals.h"
#include "runtime/interpreter/FloatChunks.h"
#include "runtime/interpreter/SmallFloat.h"

#include <cfenv>
#include <cmath>
#include <functional>
#include <limits>
#include <unordered_map>

namespace tilewright::interpreter {

namespace {

/// One element: a float in `real`, an integer sign- or zero-extended in `bits`.
struct Scalar {
  double real = 0;
  int64_t bits = 0;
};
using ExternFunction = std::function<Scalar(const Scalar *)>;

/// The length of a vector, without overflow inside.
double norm(const Scalar *x, int count) {
  double result = 0;
  for (int i = 0; i < count; ++i)
    result = std::hypot(result, x[i].real);
  return result;
}

double logb(double x) { return std::logb(x); }

double saturate(double x) { return x > 0 ? std::min(x, 1.0) : 0.0; }

//===----------------------------------------------------------------------===//
// Rounding modes
//===----------------------------------------------------------------------===//

class RoundingScope {
public:
  explicit RoundingScope(int mode) : previous(std::fegetround()) { std::fesetround(mode); }
  ~RoundingScope() { std::fesetround(previous); }

private:
  int previous;
};

/// One operation in `T` under the current mode. The volatile variables keep the
/// compiler from computing it elsewhere or under another mode.
template <typename T> double arithmetic(char op, const Scalar *x) {
  volatile T a = static_cast<T>(x[0].real);
  volatile T b = op == 'r' || op == 'q' ? T(1) : static_cast<T>(x[1].real);
  volatile T result = 0;
  switch (op) {
  case '+':
    result = a + b;
    break;
  case '-':
    result = a - b;
    break;
  case '*':
    result = a * b;
    break;
  case '/':
    result = a / b;
    break;
  case 'r':
    result = b / a;
    break;
  case 'q':
    result = std::sqrt(T(a));
    break;
  default:
    result = std::fma(T(a), T(b), static_cast<T>(x[2].real));
  }
  return result;
}

/// A real as an integer of a type, saturated; NaN gives 0, or in 64 bits the
/// lowest bit pattern 2^63, as the GPU does.
template <typename Int> int64_t toInteger(double value) {
  volatile double whole = std::nearbyint(value);
  if (std::isnan(value))
    return sizeof(Int) == 8 ? std::numeric_limits<int64_t>::min() : 0;
  constexpr double highest = static_cast<double>(std::numeric_limits<Int>::max());
  if (whole >= highest && (sizeof(Int) == 8 || whole > highest))
    return static_cast<int64_t>(std::numeric_limits<Int>::max());
  if (whole <= static_cast<double>(std::numeric_limits<Int>::min()))
    return static_cast<int64_t>(std::numeric_limits<Int>::min());
  return static_cast<int64_t>(static_cast<Int>(whole));
}

template <typename To> double fromInteger(const std::string &from, int64_t bits) {
  if (from == "ull") {
    volatile uint64_t value = static_cast<uint64_t>(bits);
    volatile To result = static_cast<To>(value);
    return result;
  }
  volatile int64_t value = bits; // uint is zero-extended
  volatile To result = static_cast<To>(value);
  return result;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

class ExternTable {
public:
  ExternTable() {
    addRealsOfOne();
    addRealsOfMore();
    addRounded();
    addConversions();
    addBits();
    addIntegers();
  }
  const ExternFunction *find(const std::string &symbol) const {
    auto entry = functions.find(symbol);
    return entry == functions.end() ? nullptr : &entry->second;
  }

private:
  using Unary = double (*)(double);
  using Binary = double (*)(double, double);

  void add(const std::string &symbol, ExternFunction function) {
    functions.emplace("__nv_" + symbol, std::move(function));
  }
  /// The f64 symbol and the f32 one, which ends in f.
  void addBoth(const std::string &symbol, const ExternFunction &function) {
    add(symbol, function);
    add(symbol + "f", function);
  }
  void addReal(const std::string &symbol, const std::function<double(const Scalar *)> &function) {
    addBoth(symbol, [function](const Scalar *x) { return Scalar{function(x), 0}; });
  }

  void addInteger(const char *symbol, int64_t (*function)(const Scalar *)) {
    add(symbol, [function](const Scalar *x) { return Scalar{0, function(x)}; });
  }

  void addRealsOfOne();
  void addRealsOfMore();
  void addRounded();
  void addConversions();
  void addBits();
  void addIntegers();

  std::unordered_map<std::string, ExternFunction> functions;
};

/// Functions of one real.
void ExternTable::addRealsOfOne() {
  const std::pair<const char *, Unary> unary[] = {
      {"acos", std::acos},    {"asin", std::asin},
      {"atan", std::atan},    {"acosh", std::acosh},
      {"asinh", std::asinh},  {"atanh", std::atanh},
      {"cbrt", std::cbrt},    {"erfc", std::erfc},
      {"lgamma", lgammaOf},   {"tgamma", std::tgamma},
      {"logb", logb},         {"j0", ::j0},
      {"j1", ::j1},           {"y0", ::y0},
      {"y1", ::y1},           {"exp", std::exp},
      {"exp2", std::exp2},    {"expm1", std::expm1},
      {"log", std::log},      {"log2", std::log2},
      {"log10", std::log10},  {"log1p", std::log1p},
      {"sin", std::sin},      {"cos", std::cos},
      {"tan", std::tan},      {"sinh", std::sinh},
      {"cosh", std::cosh},    {"tanh", std::tanh},
      {"erf", std::erf},      {"sqrt", std::sqrt},
      {"fabs", std::fabs},    {"floor", std::floor},
      {"ceil", std::ceil},    {"trunc", std::trunc},
      {"rint", std::rint},    {"nearbyint", std::nearbyint},
      {"round", std::round},  {"sinpi", sinPi},
      {"cospi", cosPi},       {"erfcx", scaledErfc},
      {"erfinv", inverseErf}, {"erfcinv", inverseErfc},
      {"saturate", saturate},
  };
  for (auto [symbol, function] : unary)
    addReal(symbol, [function = function](const Scalar *x) { return function(x[0].real); });
  add("rcp64h", [](const Scalar *x) { return Scalar{reciprocalOfHalf(x[0].real), 0}; });
  addReal("exp10", [](const Scalar *x) { return std::pow(10.0, x[0].real); });
  addReal("rsqrt", [](const Scalar *x) { return 1 / std::sqrt(x[0].real); });
  addReal("rcbrt", [](const Scalar *x) { return 1 / std::cbrt(x[0].real); });
  addReal("normcdf", [](const Scalar *x) { return std::erfc(-x[0].real * sqrtHalf) / 2; });
  addReal("normcdfinv", [](const Scalar *x) { return -inverseErfc(2 * x[0].real) / sqrtHalf; });
  addReal("cyl_bessel_i0", [](const Scalar *x) { return besselI(0, x[0].real); });
  addReal("cyl_bessel_i1", [](const Scalar *x) { return besselI(1, x[0].real); });
  addBoth("ilogb", [](const Scalar *x) {
    // NaN and zero as the GPU has them: the lowest integer.
    double value = x[0].real;
    bool hasNone = value == 0 || std::isnan(value);
    return Scalar{0, hasNone ? std::numeric_limits<int32_t>::min() : std::ilogb(value)};
  });
}

/// base^exponent as libdevice has it: by squaring, every product rounded; `exponent` holds an int32.
template <typename Real> static Real integerPower(Real base, uint64_t exponent) {
  auto number = static_cast<int32_t>(exponent);
  uint32_t left = number < 0 ? 0u - static_cast<uint32_t>(number) : static_cast<uint32_t>(number);
  Real result = 1;
  for (;; base *= base) {
    if (left & 1)
      result *= base;
    left >>= 1;
    if (left == 0)
      return number < 0 ? 1 / result : result;
  }
}

/// Functions of two reals and more, or of a real and an integer.
void ExternTable::addRealsOfMore() {
  const std::pair<const char *, Binary> binary[] = {
      {"atan2", std::atan2}, {"hypot", std::hypot},       {"fdim", std::fdim},
      {"fmod", std::fmod},   {"pow", std::pow},           {"fmax", std::fmax},
      {"fmin", std::fmin},   {"copysign", std::copysign}, {"remainder", std::remainder}};
  for (auto [symbol, function] : binary)
    addReal(symbol,
            [function = function](const Scalar *x) { return function(x[0].real, x[1].real); });
  addReal("rhypot", [](const Scalar *x) { return 1 / std::hypot(x[0].real, x[1].real); });
  addReal("norm3d", [](const Scalar *x) { return norm(x, 3); });
  addReal("norm4d", [](const Scalar *x) { return norm(x, 4); });
  addReal("rnorm3d", [](const Scalar *x) { return 1 / norm(x, 3); });
  addReal("rnorm4d", [](const Scalar *x) { return 1 / norm(x, 4); });
  // Neighbours depend on the type.
  add("nextafter", [](const Scalar *x) { return Scalar{std::nextafter(x[0].real, x[1].real), 0}; });
  add("nextafterf", [](const Scalar *x) {
    return Scalar{std::nextafterf(static_cast<float>(x[0].real), static_cast<float>(x[1].real)), 0};
  });
  add("powi", [](const Scalar *x) { return Scalar{integerPower(x[0].real, x[1].bits), 0}; });
  add("powif", [](const Scalar *x) {
    return Scalar{integerPower(static_cast<float>(x[0].real), x[1].bits), 0};
  });
  for (const char *symbol : {"ldexp", "scalbn"})
    addReal(symbol,
            [](const Scalar *x) { return std::ldexp(x[0].real, static_cast<int>(x[1].bits)); });
  addReal("jn", [](const Scalar *x) { return ::jn(static_cast<int>(x[0].bits), x[1].real); });
  addReal("yn", [](const Scalar *x) { return ::yn(static_cast<int>(x[0].bits), x[1].real); });
}

constexpr std::pair<const char *, int> roundingModes[] = {
    {"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rd", FE_DOWNWARD}, {"ru", FE_UPWARD}};

void ExternTable::addRounded() {
  const std::pair<const char *, char> operations[] = {{"add", '+'}, {"sub", '-'}, {"mul", '*'},
                                                      {"div", '/'}, {"rcp", 'r'}, {"sqrt", 'q'}};
  for (auto [suffix, mode] : roundingModes) {
    auto rounded = [mode = mode](double (*function)(char, const Scalar *), char op) {
      return [=](const Scalar *x) {
        RoundingScope scope(mode);
        return Scalar{function(op, x), 0};
      };
    };
    for (auto [name, op] : operations) {
      add(fmt::format("f{}_{}", name, suffix), rounded(arithmetic<float>, op));
      add(fmt::format("d{}_{}", name, suffix), rounded(arithmetic<double>, op));
    }
    add(fmt::format("fmaf_{}", suffix), rounded(arithmetic<float>, 'f'));
    add(fmt::format("fma_{}", suffix), rounded(arithmetic<double>, 'f'));
  }
  add("frsqrt_rn", [](const Scalar *x) {
    return Scalar{static_cast<double>(1 / std::sqrt(static_cast<long double>(x[0].real))), 0};
  });
}

void ExternTable::addConversions() {
  const std::pair<const char *, int64_t (*)(double)> integers[] = {{"int", toInteger<int32_t>},
                                                                   {"uint", toInteger<uint32_t>},
                                                                   {"ll", toInteger<int64_t>},
                                                                   {"ull", toInteger<uint64_t>}};
  for (auto [suffix, modeOfSuffix] : roundingModes) {
    int mode = modeOfSuffix;
    for (auto [integer, convert] : integers) {
      auto toInt = [mode, convert = convert](const Scalar *x) {
        RoundingScope scope(mode);
        return Scalar{0, convert(x[0].real)};
      };
      std::string from = integer;
      add(fmt::format("float2{}_{}", integer, suffix), toInt);
      add(fmt::format("double2{}_{}", integer, suffix), toInt);
      add(fmt::format("{}2float_{}", integer, suffix), [mode, from](const Scalar *x) {
        RoundingScope scope(mode);
        return Scalar{fromInteger<float>(from, x[0].bits), 0};
      });
      add(fmt::format("{}2double_{}", integer, suffix), [mode, from](const Scalar *x) {
        RoundingScope scope(mode);
        return Scalar{fromInteger<double>(from, x[0].bits), 0};
      });
    }
    add(fmt::format("double2float_{}", suffix), [mode](const Scalar *x) {
      RoundingScope scope(mode);
      volatile double value = x[0].real;
      volatile float result = static_cast<float>(value);
      return Scalar{result, 0};
    });
  }
}

/// Functions of the bits of integers and of doubles.
void ExternTable::addBits() {
  addInteger("clz", [](const Scalar *x) -> int64_t {
    uint32_t value = static_cast<uint32_t>(x[0].bits);
    return value ? __builtin_clz(value) : 32;
  });
  addInteger("clzll", [](const Scalar *x) -> int64_t {
    return x[0].bits ? __builtin_clzll(static_cast<uint64_t>(x[0].bits)) : 64;
  });
  addInteger("popc", [](const Scalar *x) -> int64_t {
    return __builtin_popcount(static_cast<uint32_t>(x[0].bits));
  });
  addInteger("popcll", [](const Scalar *x) -> int64_t {
    return __builtin_popcountll(static_cast<uint64_t>(x[0].bits));
  });
  addInteger("ffs", [](const Scalar *x) -> int64_t {
    return __builtin_ffs(static_cast<int32_t>(x[0].bits));
  });
  addInteger("ffsll", [](const Scalar *x) -> int64_t { return __builtin_ffsll(x[0].bits); });
  addInteger("brev", [](const Scalar *x) -> int64_t {
    uint32_t value = static_cast<uint32_t>(x[0].bits), result = 0;
    for (int bit = 0; bit < 32; ++bit)
      result |= (value >> bit & 1) << (31 - bit);
    return result;
  });
  addInteger("brevll", [](const Scalar *x) -> int64_t {
    uint64_t value = static_cast<uint64_t>(x[0].bits), result = 0;
    for (int bit = 0; bit < 64; ++bit)
      result |= (value >> bit & 1) << (63 - bit);
    return static_cast<int64_t>(result);
  });
  addInteger("byte_perm", [](const Scalar *x) -> int64_t {
    // Each nibble of the selector picks one of the eight bytes of both words.
    uint64_t bytes = (static_cast<uint64_t>(static_cast<uint32_t>(x[1].bits)) << 32) |
                     static_cast<uint32_t>(x[0].bits);
    uint32_t result = 0;
    for (int i = 0; i < 4; ++i)
      result |= static_cast<uint32_t>(bytes >> (x[2].bits >> 4 * i & 7) * 8 & 0xff) << 8 * i;
    return result;
  });
  addInteger("double2loint", [](const Scalar *x) -> int64_t {
    return static_cast<int32_t>(bitCast<uint64_t>(x[0].real));
  });
  addInteger("double2hiint", [](const Scalar *x) -> int64_t {
    return static_cast<int32_t>(bitCast<uint64_t>(x[0].real) >> 32);
  });
  add("hiloint2double", [](const Scalar *x) {
    uint64_t bits = (static_cast<uint64_t>(x[0].bits) << 32) | static_cast<uint32_t>(x[1].bits);
    return Scalar{bitCast<double>(bits), 0};
  });
}

/// Arithmetic on integers beyond the operators of the language.
void ExternTable::addIntegers() {
  addInteger("mul24", [](const Scalar *x) -> int64_t {
    auto low = [](int64_t bits) {
      return static_cast<int64_t>(static_cast<int32_t>(static_cast<uint32_t>(bits) << 8) >> 8);
    };
    return low(x[0].bits) * low(x[1].bits);
  });
  addInteger("umul24", [](const Scalar *x) -> int64_t {
    return (x[0].bits & 0xffffff) * (x[1].bits & 0xffffff);
  });
  addInteger("mulhi", [](const Scalar *x) -> int64_t { return (x[0].bits * x[1].bits) >> 32; });
  addInteger("umulhi", [](const Scalar *x) -> int64_t {
    return static_cast<int64_t>(
        static_cast<uint64_t>(x[0].bits) * static_cast<uint64_t>(x[1].bits) >> 32);
  });
  addInteger("mul64hi", [](const Scalar *x) -> int64_t {
    return static_cast<int64_t>(static_cast<__int128>(x[0].bits) * x[1].bits >> 64);
  });
  addInteger("umul64hi", [](const Scalar *x) -> int64_t {
    unsigned __int128 wide = static_cast<uint64_t>(x[0].bits);
    return static_cast<int64_t>(wide * static_cast<uint64_t>(x[1].bits) >> 64);
  });
  for (const char *symbol : {"sad", "usad"})
    addInteger(symbol, [](const Scalar *x) -> int64_t {
      int64_t difference = x[0].bits - x[1].bits;
      return (difference < 0 ? -difference : difference) + x[2].bits;
    });
  for (const char *symbol : {"hadd", "uhadd"})
    addInteger(symbol, [](const Scalar *x) -> int64_t { return (x[0].bits + x[1].bits) >> 1; });
  for (const char *symbol : {"rhadd", "urhadd"})
    addInteger(symbol, [](const Scalar *x) -> int64_t { return (x[0].bits + x[1].bits + 1) >> 1; });
}

//===----------------------------------------------------------------------===//
// Elements in and out
//===----------------------------------------------------------------------===//

int64_t readInteger(const Value &value, int64_t i) {
  const Tile &tile = tileOf(value);
  switch (value.type.scalar.kind()) {
  case ScalarKind::Int32:
    return tile.as<int32_t>()[i];
  case ScalarKind::UInt32:
    return tile.as<uint32_t>()[i];
  case ScalarKind::Int16:
    return tile.as<int16_t>()[i];
  case ScalarKind::UInt16:
    return tile.as<uint16_t>()[i];
  case ScalarKind::Int8:
    return tile.as<int8_t>()[i];
  case ScalarKind::Int1:
  case ScalarKind::UInt8:
    return tile.as<uint8_t>()[i];
  default:
    return tile.as<int64_t>()[i];
  }
}

} // namespace

Value CpuTileBuilder::externCall(const std::string &symbol, const std::vector<Value> &operands,
                                 const DType &resultType) {
  static const ExternTable table;
  const ExternFunction *function = table.find(symbol);
  if (!function || operands.size() > 4) {
    std::string message = fmt::format("libdevice's {} cannot run in the interpreter", symbol);
    throw makeError(ErrorCode::E0120, fmt::arg("message", message),
                    fmt::arg("help", "run the kernel on a GPU"));
  }
  valueWasRead(); // a recording knows no external functions
  NewTile result{operands[0].type.withScalar(resultType)};
  Scalar elements[4];
  for (int64_t i = 0; i < result.count; ++i) {
    for (size_t k = 0; k < operands.size(); ++k) {
      const DType &type = operands[k].type.scalar;
      if (type.isFloating())
        elements[k].real = decodeFloat(type.kind(), tileOf(operands[k]).as<void>(), i);
      else
        elements[k].bits = readInteger(operands[k], i);
    }
    Scalar value = (*function)(elements);
    if (value.real != value.real) // the GPU's NaN
      value.real = bitCast<double>(uint64_t(0x7fffffffffffffff));
    if (resultType.isFloating())
      encodeFloat(resultType.kind(), value.real, result.tile().as<void>(), i);
    else
      dispatchWord(elementSize(resultType.kind()), [&](auto word) {
        result.elements<decltype(word)>()[i] = static_cast<decltype(word)>(value.bits);
      });
  }
  marker.afterExtern(symbol, operands, result.value);
  return std::move(result.value);
}

} // namespace tilewright::interpreter
