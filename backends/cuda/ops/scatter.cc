#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "backends/core/status.h"
#include "backends/cuda/kernels/kernel.h"
#include "backends/cuda/op_table.h"
#include "backends/cuda/ops/pointers.h"
#include "backends/cuda/ops/row_indices.h"

namespace acceld::cuda {
namespace {

// The rows that are copied: from source_rows[i] to target_rows[i].
struct Copies {
  std::vector<std::int64_t> source_rows;
  std::vector<std::int64_t> target_rows;
};

// For each index the last row that names it, so that no two threads write the same.
Copies LastOfEach(const std::vector<std::int64_t>& indices) {
  Copies copies;
  absl::flat_hash_set<std::int64_t> seen;
  seen.reserve(indices.size());
  for (std::size_t i = indices.size(); i-- > 0;) {
    if (!seen.insert(indices[i]).second) continue;
    copies.source_rows.push_back(static_cast<std::int64_t>(i));
    copies.target_rows.push_back(indices[i]);
  }
  return copies;
}

}  // namespace

absl::Status Run(const ops::Scatter& op, CudaContext& context) {
  if (op.columns == 0 || op.indices.empty()) return absl::OkStatus();
  const Copies copies = LastOfEach(op.indices);
  ACCELD_ASSIGN_OR_RETURN(const std::int64_t* const source_rows,
                          UploadRows(copies.source_rows, context));
  ACCELD_ASSIGN_OR_RETURN(const std::int64_t* const target_rows,
                          UploadRows(copies.target_rows, context));
  return context.Launch(CopyRowsKernel(
      std::ssize(copies.source_rows), op.columns, Pointer<const float>(op.source),
      {source_rows, std::ssize(op.indices)}, Pointer<float>(op.table), {target_rows, op.rows}));
}

}  // namespace acceld::cuda
