// Opens a session over gRPC, and the channel that its commands take.

#include <cerrno>  // program_invocation_short_name
#include <memory>

#include "acceld/v1/compute.grpc.pb.h"
#include "backends/core/status.h"
#include "client/connect_log.h"
#include "client/data_channel.h"
#include "client/grpc_channel.h"
#include "client/grpc_connection.h"
#include "client/session_handle.h"
#include "grpcpp/client_context.h"
#include "proto/wire/device_wire.h"
#include "proto/wire/grpc_status.h"

namespace acceld {
namespace {

// The versions of acceld.v1 that this library speaks.
constexpr std::uint32_t kLowestProtocolVersion = 1;
constexpr std::uint32_t kHighestProtocolVersion = 1;

// How long a question about a device may take.
constexpr absl::Duration kInfoTimeout = absl::Seconds(5);

class OpenedSession final : public SessionHandle {
 public:
  OpenedSession(GrpcConnection connection, std::unique_ptr<v1::Compute::Stub> stub,
                const v1::Session& session)
      : connection_(std::move(connection)), stub_(std::move(stub)) {
    description_.id = session.id();
    description_.device = FromWire(session.device());
    description_.supported_ops = OpSetFromWire(session.device().supported_ops());
    description_.choice = session.choice();
    description_.transport = session.transport();
    description_.identity = session.identity();
    const v1::Limits& limits = session.limits();
    description_.streams = limits.streams();
    description_.events = limits.events();
    description_.command_bytes = limits.message_bytes() - kMessageOverheadBytes;
    description_.programs = {.programs = limits.programs(),
                             .items = limits.program_items(),
                             .bytes = limits.program_bytes()};
  }

  // Opens the channel that the endpoint asks for, or the best that can be had, and says in the
  // session's description why it is not a better one.
  absl::Status OpenChannel(const v1::Session& session, absl::Duration timeout,
                           CommandChannel::OnError on_error) {
    const Transport wanted = connection_.endpoint.transport;
    if (wanted != Transport::kGrpc) {
      const bool shared_memory = wanted != Transport::kFrames;
      absl::StatusOr<DataLink> link =
          OpenDataLink(connection_.endpoint, session.secret(), shared_memory, timeout);
      if (link.ok() && wanted == Transport::kSharedMemory && link->ring == nullptr) {
        return UnsupportedError(fmt::format("There is no shared memory to {}: {}",
                                            connection_.endpoint.text, link->note));
      }
      if (link.ok()) {
        description_.transport = link->transport;
        description_.transport_note = link->note;
        channel_ = std::make_unique<DataChannel>(*std::move(link), std::move(on_error));
        return absl::OkStatus();
      }
      if (wanted != Transport::kBest) return link.status();
      const auto message = link.status().message();
      description_.transport_note = std::string(message.data(), message.size());
    }
    channel_ = std::make_unique<GrpcChannel>(connection_.channel, session.secret(),
                                             session.limits(), std::move(on_error));
    return absl::OkStatus();
  }

  const Endpoint& endpoint() const { return connection_.endpoint; }
  const SessionDescription& description() const override { return description_; }
  CommandChannel& channel() override { return *channel_; }

  DeviceInfo CurrentDevice() override {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + kInfoTimeout));
    v1::ServerInfo info;
    if (stub_->GetServerInfo(&context, {}, &info).ok()) {
      for (const v1::Device& wire : info.devices()) {
        DeviceInfo device = FromWire(wire);
        const DeviceInfo& used = description_.device;
        if (device.kind == used.kind && device.ordinal == used.ordinal) return device;
      }
    }
    return description_.device;
  }

 private:
  const GrpcConnection connection_;
  const std::unique_ptr<v1::Compute::Stub> stub_;
  SessionDescription description_;
  // Goes first: it needs what is above.
  std::unique_ptr<CommandChannel> channel_;
};

v1::OpenSessionRequest MakeRequest(const ConnectOptions& options) {
  v1::OpenSessionRequest request;
  request.mutable_protocol_versions()->set_lowest(kLowestProtocolVersion);
  request.mutable_protocol_versions()->set_highest(kHighestProtocolVersion);
  request.set_client_name(options.client_name.empty() ? program_invocation_short_name
                                                      : options.client_name);
  v1::DeviceRequest& device = *request.mutable_device();
  if (options.kind.has_value()) device.set_kind(std::string(Name(*options.kind)));
  if (options.ordinal.has_value()) device.set_ordinal(static_cast<std::uint32_t>(*options.ordinal));
  if (options.uuid.has_value()) device.set_uuid(*options.uuid);
  return request;
}

// What the client counts on; an answer without it is no session.
absl::Status CheckAnswer(const v1::Session& session) {
  if (session.protocol_version() < kLowestProtocolVersion ||
      session.protocol_version() > kHighestProtocolVersion) {
    return UnsupportedError("The daemon chose a protocol version that this client does not speak.",
                            reason::kVersionUnsupported);
  }
  if (session.limits().message_bytes() <= kMessageOverheadBytes ||
      session.limits().message_commands() == 0 || session.limits().read_bytes() == 0) {
    return UnsupportedError("The daemon's limits leave no room for any command.",
                            reason::kLimitExceeded);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<SessionHandle>> OpenSession(std::string_view endpoint,
                                                           const ConnectOptions& options,
                                                           CommandChannel::OnError on_error) {
  ACCELD_ASSIGN_OR_RETURN(GrpcConnection connection, ConnectGrpc(endpoint, options.timeout));
  auto stub = v1::Compute::NewStub(connection.channel);
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + options.timeout));
  v1::Session session;
  ACCELD_RETURN_IF_ERROR(
      FromGrpcStatus(stub->OpenSession(&context, MakeRequest(options), &session)));
  ACCELD_RETURN_IF_ERROR(CheckAnswer(session));
  auto opened = std::make_unique<OpenedSession>(std::move(connection), std::move(stub), session);
  ACCELD_RETURN_IF_ERROR(opened->OpenChannel(session, options.timeout, std::move(on_error)));
  LogConnected(options, opened->endpoint().text, opened->description());
  return opened;
}

}  // namespace acceld
