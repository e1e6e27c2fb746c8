// The enums that ops, devices and sessions are described with. Every one has `Name`, `Parse` and
// `IsValid` (enum_table.h). Their numbers are those of the wire (proto/acceld/v1/values.proto),
// where 0 means "not set" and is never valid.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "backends/core/enum_table.h"

namespace acceld {

// The type of a buffer's elements.
enum class DataType : std::uint8_t { kF32 = 1, kF64 = 2 };

// Bytes of one element.
constexpr std::size_t SizeOf(DataType type) { return type == DataType::kF64 ? 8 : 4; }

// Whether a matrix is used as stored, transposed, or conjugate-transposed (the same for real
// types).
enum class Transpose : std::uint8_t { kNone = 1, kTranspose = 2, kConjugateTranspose = 3 };

enum class ReduceOp : std::uint8_t { kSum = 1, kMax = 2, kMin = 3, kMean = 4 };

enum class UnaryOp : std::uint8_t {
  kRelu = 1,
  kSigmoid = 2,
  kTanh = 3,
  kExp = 4,
  kLog = 5,
  kSqrt = 6,
  kAbs = 7,
  kNeg = 8,
};

enum class BinaryOp : std::uint8_t { kAdd = 1, kSub = 2, kMul = 3, kDiv = 4, kMax = 5, kMin = 6 };

// The format that the factors of a mixed-precision product are rounded to.
enum class MixedPrecision : std::uint8_t { kF16 = 1, kBf16 = 2 };

// Where a device's memory is.
enum class MemoryKind : std::uint8_t { kDevice = 1, kHostPinned = 2, kUnified = 3, kHost = 4 };

// Families of ops, by which the registry routes and the accounting groups.
enum class OpClass : std::uint8_t {
  kMatmul = 1,
  kConvolution = 2,
  kAttention = 3,
  kReduction = 4,
  kElementwise = 5,
  kMemory = 6,
};

enum class BackendKind : std::uint8_t {
  kCuda = 1,
  kRocm = 2,
  kMetal = 3,
  kLevelZero = 4,
  kVulkan = 5,
  kWebGpu = 6,
  kCpu = 7,
};

// Every kind but the CPU is a GPU.
constexpr bool IsGpu(BackendKind kind) { return kind != BackendKind::kCpu; }

// Which kind the registry prefers where several would do: higher first, CPU always last.
constexpr int DefaultPriority(BackendKind kind) {
  switch (kind) {
    case BackendKind::kCuda:
      return 100;
    case BackendKind::kRocm:
      return 90;
    case BackendKind::kMetal:
      return 85;
    case BackendKind::kLevelZero:
      return 80;
    case BackendKind::kVulkan:
      return 60;
    case BackendKind::kWebGpu:
      return 50;
    case BackendKind::kCpu:
      return 1;
  }
  return 0;
}

template <>
struct EnumTable<DataType> {
  static constexpr std::array<EnumEntry<DataType>, 2> kEntries{{
      {DataType::kF32, "f32"},
      {DataType::kF64, "f64"},
  }};
};

template <>
struct EnumTable<Transpose> {
  static constexpr std::array<EnumEntry<Transpose>, 3> kEntries{{
      {Transpose::kNone, "N"},
      {Transpose::kTranspose, "T"},
      {Transpose::kConjugateTranspose, "C"},
  }};
};

template <>
struct EnumTable<ReduceOp> {
  static constexpr std::array<EnumEntry<ReduceOp>, 4> kEntries{{
      {ReduceOp::kSum, "sum"},
      {ReduceOp::kMax, "max"},
      {ReduceOp::kMin, "min"},
      {ReduceOp::kMean, "mean"},
  }};
};

template <>
struct EnumTable<UnaryOp> {
  static constexpr std::array<EnumEntry<UnaryOp>, 8> kEntries{{
      {UnaryOp::kRelu, "relu"},
      {UnaryOp::kSigmoid, "sigmoid"},
      {UnaryOp::kTanh, "tanh"},
      {UnaryOp::kExp, "exp"},
      {UnaryOp::kLog, "log"},
      {UnaryOp::kSqrt, "sqrt"},
      {UnaryOp::kAbs, "abs"},
      {UnaryOp::kNeg, "neg"},
  }};
};

template <>
struct EnumTable<BinaryOp> {
  static constexpr std::array<EnumEntry<BinaryOp>, 6> kEntries{{
      {BinaryOp::kAdd, "add"},
      {BinaryOp::kSub, "sub"},
      {BinaryOp::kMul, "mul"},
      {BinaryOp::kDiv, "div"},
      {BinaryOp::kMax, "max"},
      {BinaryOp::kMin, "min"},
  }};
};

template <>
struct EnumTable<MixedPrecision> {
  static constexpr std::array<EnumEntry<MixedPrecision>, 2> kEntries{{
      {MixedPrecision::kF16, "f16"},
      {MixedPrecision::kBf16, "bf16"},
  }};
};

template <>
struct EnumTable<MemoryKind> {
  static constexpr std::array<EnumEntry<MemoryKind>, 4> kEntries{{
      {MemoryKind::kDevice, "device"},
      {MemoryKind::kHostPinned, "host-pinned"},
      {MemoryKind::kUnified, "unified"},
      {MemoryKind::kHost, "host"},
  }};
};

template <>
struct EnumTable<OpClass> {
  static constexpr std::array<EnumEntry<OpClass>, 6> kEntries{{
      {OpClass::kMatmul, "matmul"},
      {OpClass::kConvolution, "convolution"},
      {OpClass::kAttention, "attention"},
      {OpClass::kReduction, "reduction"},
      {OpClass::kElementwise, "elementwise"},
      {OpClass::kMemory, "memory"},
  }};
};

template <>
struct EnumTable<BackendKind> {
  static constexpr std::array<EnumEntry<BackendKind>, 7> kEntries{{
      {BackendKind::kCuda, "cuda", {"nvidia"}},
      {BackendKind::kRocm, "rocm", {"hip", "amd"}},
      {BackendKind::kMetal, "metal", {"mtl", "apple"}},
      {BackendKind::kLevelZero, "level_zero", {"levelzero", "l0", "intel"}},
      {BackendKind::kVulkan, "vulkan", {"vk"}},
      {BackendKind::kWebGpu, "webgpu", {"wgpu"}},
      {BackendKind::kCpu, "cpu", {"host", "reference"}},
  }};
};

}  // namespace acceld
