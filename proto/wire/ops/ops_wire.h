// Each op between its struct and its message. The definitions are in <op>_wire.cc.
//
// ToWire sets every field. FromWire takes numbers as they are; where the struct cannot hold what
// was sent, it returns an invalid argument.
#pragma once

#include "absl/status/statusor.h"
#include "acceld/v1/op.pb.h"
#include "backends/ops/op.h"

namespace acceld {

void ToWire(const ops::Attention& op, v1::Attention& wire);
ops::Attention FromWire(const v1::Attention& wire);

void ToWire(const ops::BatchedGemm& op, v1::BatchedGemm& wire);
ops::BatchedGemm FromWire(const v1::BatchedGemm& wire);

void ToWire(const ops::Binary& op, v1::Binary& wire);
ops::Binary FromWire(const v1::Binary& wire);

void ToWire(const ops::Conv2dBackwardData& op, v1::Conv2dBackwardData& wire);
absl::StatusOr<ops::Conv2dBackwardData> FromWire(const v1::Conv2dBackwardData& wire);

void ToWire(const ops::Conv2dBackwardFilter& op, v1::Conv2dBackwardFilter& wire);
absl::StatusOr<ops::Conv2dBackwardFilter> FromWire(const v1::Conv2dBackwardFilter& wire);

void ToWire(const ops::Conv2dForward& op, v1::Conv2dForward& wire);
absl::StatusOr<ops::Conv2dForward> FromWire(const v1::Conv2dForward& wire);

void ToWire(const ops::CopyDtoD& op, v1::CopyDtoD& wire);
ops::CopyDtoD FromWire(const v1::CopyDtoD& wire);

void ToWire(const ops::Gather& op, v1::Gather& wire);
ops::Gather FromWire(const v1::Gather& wire);

void ToWire(const ops::Gemm& op, v1::Gemm& wire);
ops::Gemm FromWire(const v1::Gemm& wire);

void ToWire(const ops::GemmMixedPrecision& op, v1::GemmMixedPrecision& wire);
ops::GemmMixedPrecision FromWire(const v1::GemmMixedPrecision& wire);

void ToWire(const ops::Memset& op, v1::Memset& wire);
absl::StatusOr<ops::Memset> FromWire(const v1::Memset& wire);

void ToWire(const ops::Reduce& op, v1::Reduce& wire);
ops::Reduce FromWire(const v1::Reduce& wire);

void ToWire(const ops::Scatter& op, v1::Scatter& wire);
ops::Scatter FromWire(const v1::Scatter& wire);

void ToWire(const ops::Softmax& op, v1::Softmax& wire);
ops::Softmax FromWire(const v1::Softmax& wire);

void ToWire(const ops::Unary& op, v1::Unary& wire);
ops::Unary FromWire(const v1::Unary& wire);

}  // namespace acceld
