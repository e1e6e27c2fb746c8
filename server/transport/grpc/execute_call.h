// One Execute call: a list of commands, answered when all of them have finished.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "acceld/v1/compute.pb.h"
#include "grpcpp/support/server_callback.h"
#include "server/transport/grpc/caller.h"
#include "server/transport/grpc/held_bytes.h"

namespace acceld {

class ExecuteCall final : public grpc::ServerUnaryReactor {
 public:
  // The reactor of a new call; it deletes itself.
  static ExecuteCall* Start(const ServiceContext& service, const grpc::CallbackServerContext& call,
                            const v1::ExecuteRequest& request, v1::ExecuteResponse& response);

 private:
  explicit ExecuteCall(v1::ExecuteResponse& response) : response_(response) {}

  void OnDone() override { delete this; }

  // Finds the session, and counts in it what the call holds.
  absl::Status Attach(const ServiceContext& service, const grpc::CallbackServerContext& call,
                      const v1::ExecuteRequest& request);
  void Run(const v1::ExecuteRequest& request);
  // One command has finished; the last one answers the call.
  void FinishOne();

  v1::ExecuteResponse& response_;
  std::shared_ptr<Session> session_;
  // Held until the answer has left.
  HeldBytes held_;
  std::vector<CommandResult> results_;
  std::atomic<int> unfinished_ = 0;
};

}  // namespace acceld
