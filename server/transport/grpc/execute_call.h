// One Execute call: a list of commands, answered when all of them have finished.
#pragma once

#include "acceld/v1/compute.pb.h"
#include "grpcpp/support/server_callback.h"
#include "server/transport/grpc/caller.h"

namespace acceld {

grpc::ServerUnaryReactor* ServeExecute(const ServiceContext& service,
                                       grpc::CallbackServerContext& call,
                                       const v1::ExecuteRequest& request,
                                       v1::ExecuteResponse& response);

}  // namespace acceld
