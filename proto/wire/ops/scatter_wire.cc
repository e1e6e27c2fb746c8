#include "proto/wire/ops/ops_wire.h"

namespace acceld {

void ToWire(const ops::Scatter& op, v1::Scatter& wire) {
  wire.set_rows(op.rows);
  wire.set_columns(op.columns);
  wire.mutable_indices()->Assign(op.indices.begin(), op.indices.end());
  wire.set_source(op.source);
  wire.set_table(op.table);
}

ops::Scatter FromWire(const v1::Scatter& wire) {
  return {.rows = wire.rows(),
          .columns = wire.columns(),
          .indices = {wire.indices().begin(), wire.indices().end()},
          .source = wire.source(),
          .table = wire.table()};
}

}  // namespace acceld
