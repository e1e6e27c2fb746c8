// The fields of each op and command, in the order in which frames carry them. One that is missing
// here does not compile; a change here raises kVersion (frame.h).
#pragma once

#include <tuple>

#include "proto/command/command.h"
#include "proto/frames/frame.h"

namespace acceld::frames {

// ---- Ops ----

inline auto Fields(Conv2dShape& shape) {
  return std::tie(shape.input, shape.filter, shape.output, shape.stride, shape.padding);
}
inline auto Fields(ops::Gemm& op) {
  return std::tie(op.type, op.transpose_a, op.transpose_b, op.m, op.n, op.k, op.alpha, op.a, op.lda,
                  op.b, op.ldb, op.beta, op.c, op.ldc);
}
inline auto Fields(ops::GemmMixedPrecision& op) {
  return std::tie(op.precision, op.transpose_a, op.transpose_b, op.m, op.n, op.k, op.alpha, op.a,
                  op.lda, op.b, op.ldb, op.beta, op.c, op.ldc);
}
inline auto Fields(ops::BatchedGemm& op) {
  return std::tie(op.type, op.transpose_a, op.transpose_b, op.m, op.n, op.k, op.alpha, op.a, op.lda,
                  op.stride_a, op.b, op.ldb, op.stride_b, op.beta, op.c, op.ldc, op.stride_c,
                  op.batch);
}
inline auto Fields(ops::Conv2dForward& op) {
  return std::tie(op.shape, op.input, op.filter, op.output);
}
inline auto Fields(ops::Conv2dBackwardData& op) {
  return std::tie(op.shape, op.filter, op.output_gradient, op.input_gradient);
}
inline auto Fields(ops::Conv2dBackwardFilter& op) {
  return std::tie(op.shape, op.input, op.output_gradient, op.filter_gradient);
}
inline auto Fields(ops::Attention& op) {
  return std::tie(op.batch, op.heads, op.seq_q, op.seq_kv, op.head_dim, op.scale, op.causal, op.q,
                  op.k, op.v, op.output);
}
inline auto Fields(ops::Reduce& op) {
  return std::tie(op.op, op.shape, op.axis, op.input, op.output);
}
inline auto Fields(ops::Softmax& op) { return std::tie(op.shape, op.axis, op.input, op.output); }
inline auto Fields(ops::Unary& op) { return std::tie(op.op, op.n, op.input, op.output); }
inline auto Fields(ops::Binary& op) { return std::tie(op.op, op.n, op.a, op.b, op.output); }
inline auto Fields(ops::Gather& op) {
  return std::tie(op.rows, op.columns, op.indices, op.table, op.output);
}
inline auto Fields(ops::Scatter& op) {
  return std::tie(op.rows, op.columns, op.indices, op.source, op.table);
}
inline auto Fields(ops::Memset& op) { return std::tie(op.target, op.value, op.bytes); }
inline auto Fields(ops::CopyDtoD& op) { return std::tie(op.target, op.source, op.bytes); }

// ---- Commands ----

// The bytes of a write follow the frame's fields.
inline auto Fields(command::Write& write) { return std::tie(write.target); }
inline auto Fields(command::Read& read) {
  return std::tie(read.source, read.size_bytes, read.keep_error);
}
inline auto Fields(command::Alloc& alloc) {
  return std::tie(alloc.address, alloc.size_bytes, alloc.mappable, alloc.openable);
}
inline auto Fields(command::Free& free) { return std::tie(free.address); }
inline auto Fields(command::CreateStream& create) {
  return std::tie(create.stream, create.priority);
}
inline auto Fields(command::DestroyStream&) { return std::tie(); }
inline auto Fields(command::CreateEvent& create) { return std::tie(create.event); }
inline auto Fields(command::DestroyEvent& destroy) { return std::tie(destroy.event); }
inline auto Fields(command::RecordEvent& record) { return std::tie(record.event); }
inline auto Fields(command::WaitEvent& wait) { return std::tie(wait.event); }
inline auto Fields(command::QueryEvent& query) { return std::tie(query.event); }
inline auto Fields(command::SynchronizeEvent& synchronize) { return std::tie(synchronize.event); }
inline auto Fields(command::ElapsedTime& elapsed) { return std::tie(elapsed.start, elapsed.stop); }
inline auto Fields(command::SynchronizeStream&) { return std::tie(); }
inline auto Fields(command::Synchronize&) { return std::tie(); }
inline auto Fields(Rebinding& rebinding) {
  return std::tie(rebinding.recorded, rebinding.replacement);
}
inline auto Fields(command::DefineProgram& define) {
  return std::tie(define.program, define.items);
}
inline auto Fields(command::Replay& replay) { return std::tie(replay.program, replay.rebindings); }
inline auto Fields(command::DestroyProgram& destroy) { return std::tie(destroy.program); }
inline auto Fields(command::NoOp&) { return std::tie(); }

inline auto Fields(SharedCopy& copy) {
  return std::tie(copy.address, copy.size_bytes, copy.host, copy.host_offset, copy.keep_error);
}

}  // namespace acceld::frames
