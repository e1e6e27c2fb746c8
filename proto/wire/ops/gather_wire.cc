#include "proto/wire/ops/ops_wire.h"

namespace acceld {

void ToWire(const ops::Gather& op, v1::Gather& wire) {
  wire.set_rows(op.rows);
  wire.set_columns(op.columns);
  wire.mutable_indices()->Assign(op.indices.begin(), op.indices.end());
  wire.set_table(op.table);
  wire.set_output(op.output);
}

ops::Gather FromWire(const v1::Gather& wire) {
  return {.rows = wire.rows(),
          .columns = wire.columns(),
          .indices = {wire.indices().begin(), wire.indices().end()},
          .table = wire.table(),
          .output = wire.output()};
}

}  // namespace acceld
