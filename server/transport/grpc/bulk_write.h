// One write whose bytes lie in pieces of a message.
#pragma once

#include <memory>

#include "proto/wire/bulk_wire.h"
#include "server/session/session.h"

namespace acceld {

// Submits a write of `data`, which `owner` keeps, one command a piece; bytes in very many pieces
// are put together first. Where the target is wrong, nothing is written. `done` is
// Session::Submit's: called once, when all is written or has failed, with the first error.
void SubmitBulkWrite(Session& session, Stream stream, Address target, const Pieces& data,
                     std::shared_ptr<const void> owner, Session::Done done);

}  // namespace acceld
