// A unary call that is answered at once.
#pragma once

#include "absl/status/status.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "proto/wire/grpc_status.h"

namespace acceld {

inline grpc::ServerUnaryReactor* Finished(grpc::CallbackServerContext& call,
                                          const absl::Status& status) {
  grpc::ServerUnaryReactor* reactor = call.DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

}  // namespace acceld
