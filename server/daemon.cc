#include "server/daemon.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "backends/core/status.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "proto/frames/frame.h"
#include "server/config/default_socket.h"
#include "server/config/exit_status.h"
#include "server/config/policy.h"
#include "server/logging/logging.h"
#include "server/self_check.h"
#include "server/service/file_limit.h"
#include "server/service/sd_notify.h"
#include "server/session/session_table.h"
#include "server/stop_requests.h"
#include "server/transport/acceptor.h"
#include "server/transport/data/data_server.h"
#include "server/transport/grpc/grpc_server.h"
#include "server/version.h"

namespace acceld {
namespace {

using Clock = std::chrono::steady_clock;

// How often draining looks whether all work is done.
constexpr std::chrono::milliseconds kDrainPoll{5};

// How long answers may take to leave once all work is done.
constexpr std::chrono::milliseconds kFlushGrace{2000};

// How long clients whose work was not finished have to hear of it.
constexpr std::chrono::milliseconds kEndGrace{200};

// A ring holds at least a few commands.
constexpr std::uint32_t kMinRingBytes = 4096;

SessionLimits ToSessionLimits(const Config& config) {
  const Limits& limits = config.limits;
  SessionLimits session;
  session.direct_opening = config.allow_direct_opening;
  session.message_bytes = limits.max_message_bytes;
  session.message_commands = limits.max_commands_per_message;
  session.streams = limits.max_streams;
  session.events = limits.max_events;
  session.allocations = limits.max_allocations;
  session.programs = limits.max_programs;
  session.program_items = limits.max_program_items;
  session.program_bytes = limits.max_program_bytes;
  session.sessions = limits.max_sessions;
  session.commands_in_flight = limits.max_in_flight_commands;
  session.bytes_in_flight = limits.max_in_flight_bytes;
  session.host_bytes = limits.max_host_memory_bytes;
  if (limits.ring_bytes > 0) {
    session.ring_bytes = std::bit_ceil(std::max(limits.ring_bytes, kMinRingBytes));
  } else {
    session.ring_bytes = 0;
  }
  session.staging_bytes = limits.staging_bytes;
  session.frame_timeout_ms = static_cast<std::uint32_t>(limits.frame_timeout.count());
  session.lease_ms = static_cast<std::uint32_t>(limits.session_idle_timeout.count());
  return session;
}

// The sockets systemd passed, or else the Unix socket; and what --listen names.
absl::StatusOr<std::vector<Listener>> OpenListeners(const Config& config) {
  ACCELD_ASSIGN_OR_RETURN(std::vector<Listener> listeners, TakeInheritedListeners());
  if (listeners.empty() || !config.socket.empty()) {
    std::string path = config.socket;
    if (path.empty()) {
      ACCELD_ASSIGN_OR_RETURN(path, DefaultSocketPath());
    }
    // As clients have to name it.
    path = std::filesystem::absolute(path).string();
    ACCELD_ASSIGN_OR_RETURN(Listener listener, ListenUnix(path, config.socket_mode));
    listeners.push_back(std::move(listener));
  }
  for (const std::string& host_port : config.listen) {
    ACCELD_ASSIGN_OR_RETURN(std::vector<Listener> tcp, ListenTcp(host_port));
    for (Listener& listener : tcp) listeners.push_back(std::move(listener));
  }
  return listeners;
}

void NotifyOrLog(std::string_view state) {
  if (absl::Status notified = NotifyServiceManager(state); !notified.ok()) {
    Log(LogLevel::kWarning, "the service manager was not told",
        {{"error", std::string(notified.message())}});
  }
}

bool IsOn(const Session& session, const DeviceLoss& loss) {
  const DeviceInfo& device = session.info().device;
  return device.kind == loss.kind && device.ordinal == loss.ordinal;
}

// Why a session ends, as all do.
absl::Status EndOf(const Session& session, const std::optional<DeviceLoss>& loss) {
  if (loss.has_value() && IsOn(session, *loss)) return loss->error;
  return WithReason(absl::UnavailableError("The daemon has drained and stops."), reason::kDraining);
}

// Takes no more sessions and commands; where a device was lost, its sessions are told so.
void Refuse(const std::optional<DeviceLoss>& loss, SessionTable& sessions) {
  if (loss.has_value()) {
    for (const auto& session : sessions.List()) {
      if (IsOn(*session, *loss)) session->Refuse(loss->error);
    }
  }
  sessions.Drain();
}

// Finishes what was accepted, until `config.drain_timeout` or another signal. Returns whether all
// was finished. The work of a lost device finishes with an error, by the device's own doing.
bool Drain(const Config& config, const StopRequests& requests, SessionTable& sessions,
           GrpcServer& grpc, const DataServer& data) {
  const std::optional<DeviceLoss> loss = requests.loss();
  Log(LogLevel::kInfo, "draining", {{"sessions", sessions.List().size()}});
  NotifyOrLog(loss.has_value()
                  ? fmt::format("STOPPING=1\nSTATUS=Draining, since {} device {} was lost.",
                                Name(loss->kind), loss->ordinal)
                  : "STOPPING=1\nSTATUS=Draining.");
  Refuse(loss, sessions);
  // Who hears that it does not serve finds it so.
  grpc.SetServing(false);
  const auto deadline = Clock::now() + config.drain_timeout;
  bool interrupted = false;
  while (!sessions.Idle() && Clock::now() < deadline && !interrupted) {
    interrupted = requests.Wait(kDrainPoll, /*signals_only=*/true);
  }
  const bool finished = sessions.Idle();
  if (!finished) {
    Log(LogLevel::kWarning, "stopping with work unfinished", {{"second_signal", interrupted}});
  }
  for (const auto& session : sessions.List()) sessions.End(*session, EndOf(*session, loss));
  if (finished) {
    data.AwaitClosed(kFlushGrace);
    grpc.Shutdown(kFlushGrace);
  } else if (!interrupted) {
    requests.Wait(kEndGrace, /*signals_only=*/true);
  }
  return finished;
}

}  // namespace

void BlockDaemonSignals() { BlockStopSignals(); }

absl::Status RunDaemon(const Config& config, Registry registry) {
  const auto started = Clock::now();
  signal(SIGPIPE, SIG_IGN);
  RaiseFileLimit();
  StopRequests requests;
  if (!requests.ok()) return DeviceError("The system gave no descriptor for signals.");

  ACCELD_ASSIGN_OR_RETURN(std::vector<Listener> listeners, OpenListeners(config));
  std::vector<std::string> endpoints;
  for (const Listener& listener : listeners) endpoints.push_back(listener.endpoint());

  DevicePool devices(std::move(registry),
                     {.preferred = config.backend,
                      .check = CheckDevice,
                      .on_lost = [&](const DeviceLoss& loss) { requests.ReportLoss(loss); }});
  ACCELD_ASSIGN_OR_RETURN(const DevicePool::Choice choice, devices.Choose({}));
  Log(LogLevel::kInfo, "chose a device", {{"choice", choice.explanation}});

  const SessionLimits limits = ToSessionLimits(config);
  ConnectionTable connections;
  SessionTable sessions(devices, limits);
  ACCELD_ASSIGN_OR_RETURN(
      const std::unique_ptr<GrpcServer> grpc,
      GrpcServer::Start(
          {.sessions = sessions, .devices = devices, .connections = connections, .limits = limits},
          [&config](const Peer& peer) { return IsAdmin(config, peer); },
          [&requests] { requests.RequestDrain(); }));
  ACCELD_ASSIGN_OR_RETURN(const std::unique_ptr<DataServer> data,
                          DataServer::Start(sessions, limits, config.limits.handshake_timeout));
  const Protocol http2{.prefix = kHttp2Preface, .handler = [&grpc](UniqueFd fd, const Peer&) {
                         grpc->Serve(std::move(fd));
                       }};
  const Protocol data_channel{
      .prefix = frames::kMagic,
      .handler = [&data](UniqueFd fd, const Peer& peer) { data->Serve(std::move(fd), peer); }};
  AcceptorOptions options{.handshake_timeout = config.limits.handshake_timeout,
                          .max_pending = config.limits.max_pending_connections,
                          .max_connections = config.limits.max_connections};
  options.on_closed = [&sessions](const Peer& peer) { sessions.EndConnection(peer.connection_id); };
  ACCELD_ASSIGN_OR_RETURN(
      const std::unique_ptr<Acceptor> acceptor,
      Acceptor::Start(std::move(listeners), {http2, data_channel}, &connections, options));

  // Scripts read the addresses off stdout; everything else goes to the log.
  for (const std::string& endpoint : endpoints) fmt::print("listening on {}\n", endpoint);
  std::fflush(stdout);
  Log(LogLevel::kInfo, "serving",
      {{"version", kVersion},
       {"endpoints", fmt::format("{}", fmt::join(endpoints, ","))},
       {"device", std::string(Name(choice.device->info().kind))},
       {"ordinal", choice.device->info().ordinal},
       {"start_ms", (Clock::now() - started) / std::chrono::milliseconds(1)}});
  NotifyOrLog(fmt::format("READY=1\nSTATUS=Serving {} on {}.", Name(choice.device->info().kind),
                          fmt::join(endpoints, ", ")));

  requests.Wait(std::chrono::milliseconds(-1), /*signals_only=*/false);
  // Newcomers are still let in while it drains, so that they are told why they get no session.
  const bool finished = Drain(config, requests, sessions, *grpc, *data);
  acceptor->Close();
  Log(LogLevel::kInfo, "stopped");
  // An op that runs, or a lost device's driver, would hold up the orderly end for as long as it
  // takes; nobody waits for it.
  if (requests.loss().has_value()) _exit(kExitDeviceLost);
  if (!finished) _exit(EXIT_SUCCESS);
  return absl::OkStatus();
}

}  // namespace acceld
