#include "client/accelctl/help.h"

namespace acceld::accelctl {
namespace {

constexpr char kOverview[] = R"(accelctl [FLAGS] COMMAND

Asks a running acceld what it has and what it does, and tells it what to do.

Commands:
  info          the server: its version, protocol, limits, backends and devices
  devices       a table of the devices
  sessions      a table of the sessions: whose they are and what they use
  health        whether the daemon serves
  selftest      runs every operation on a device and compares it with the reference
  drain         lets the daemon finish what it has accepted, and stop
  end SESSION   ends a session and frees what it holds
  help COMMAND  says more about a command

Flags, before or after the command:
  --endpoint=ENDPOINT  the daemon: unix:/path, host:port or [::1]:port. Without it, what
                       ACCELD_ENDPOINT says, else the user's daemon, else the system's
  --timeout=DURATION   how long to wait for an answer, such as 500ms or 1m, at most 1h;
                       10s by default
  --json               prints the answer as one JSON value, with nothing else on stdout
  --help, --version

Examples:
  accelctl info
  accelctl --endpoint=127.0.0.1:7700 sessions --json
  accelctl health && echo ready
  accelctl selftest --kind=cuda --device=0

Exits with 0 if all is well; with 1 if it is not, after a line on stderr that says why;
with 2 if the command line is wrong.
)";

constexpr char kInfo[] = R"(accelctl [FLAGS] info

Shows the server's version, the versions of the protocol that it speaks, its optional
features, what it allows a session, every backend it knows with the reason where one is
unavailable, and every device with what it can do. Opens no session.

With --json: the response of acceld.v1.Compute.GetServerInfo.

Example: the backends that can be used
  accelctl info --json | jq -r '.backends[] | select(.available) | .kind'
)";

constexpr char kDevices[] = R"(accelctl [FLAGS] devices

Shows a table of the devices: kind and number, name, memory in all and what of it is free,
where the memory is, compute capability and UUID. What is free of a card that no session has
used yet is not known. Opens no session.

With --json: the response of acceld.v1.Compute.GetServerInfo, as of info.

Example: the free bytes of each device
  accelctl devices --json | jq -r '.devices[] | .name + " " + (.free_memory_bytes // "-")'
)";

constexpr char kSessions[] = R"(accelctl [FLAGS] sessions

Shows a table of the sessions: number, identity, process (- for a remote one), device
memory, time that devices have worked for it, operations, the name the client chose, the
kind of device, how its commands travel, and how long it is open. An administrator sees
all sessions, anybody else his own; the totals count all of them. Opens no session.

With --json: the response of acceld.v1.Admin.ListSessions.

Example: who holds the most memory
  accelctl sessions --json | jq '.sessions | max_by(.memory_bytes | tonumber)'
)";

constexpr char kHealth[] = R"(accelctl [FLAGS] health

Asks the daemon whether it serves, and exits with 0 only if it does: a draining daemon, or
one whose device failed, does not. Opens no session.

With --json: the response of grpc.health.v1.Health.Check, {"status": "SERVING"}.

Example: a readiness check
  accelctl health --timeout=1s
)";

constexpr char kSelftest[] = R"(accelctl [FLAGS] selftest [--kind=KIND] [--device=DEVICE]

Opens a session, runs every operation with small odd shapes, and compares the results with
a naive reference that is computed here. An error is the largest difference, divided by
the largest result where that is above 1. Operations that the device lacks are shown as
unsupported and do no harm. Exits with 1 if any other result is wrong.

  --kind=KIND      the kind of device: cuda, rocm, metal, level_zero, vulkan, webgpu or cpu
  --device=DEVICE  its number among those of its kind, or its UUID

Without them the daemon chooses the device, as for any session.

With --json, one object:
  ok           whether nothing is wrong
  device       kind, ordinal, uuid and name of the device
  transport    how the commands travelled, such as "shm" or "frames+tcp"
  cases[]      op, case (its parameters), outcome, max_error, tolerance and message
An outcome is "ok", "wrong" (max_error is beyond tolerance), "failed" (message says why) or
"unsupported". max_error is null where nothing was computed, or where the difference is
not finite.

Example: what is wrong
  accelctl selftest --json | jq '.cases[] | select(.outcome == "wrong")'
)";

constexpr char kDrain[] = R"(accelctl [FLAGS] drain

Tells the daemon to stop: it opens no more sessions and accepts no more commands, finishes
and answers those it has accepted, and exits, at the latest after its --drain_timeout.
Returns when draining has begun. Only for administrators.

With --json: the response of acceld.v1.Admin.Drain.
)";

constexpr char kEnd[] = R"(accelctl [FLAGS] end SESSION

Ends a session: drops its work that has not started, and frees its memory. SESSION is its
number, as accelctl sessions shows it. An administrator may end any, anybody else his own.

With --json: the response of acceld.v1.Admin.EndSession, {}.

Example:
  accelctl end 17
)";

constexpr char kSeeAlso[] = "\naccelctl --help shows the flags that all commands share.\n";

}  // namespace

std::string HelpText(std::optional<Command> command) {
  if (!command.has_value()) return kOverview;
  const char* text = "";
  switch (*command) {
    case Command::kInfo:
      text = kInfo;
      break;
    case Command::kDevices:
      text = kDevices;
      break;
    case Command::kSessions:
      text = kSessions;
      break;
    case Command::kHealth:
      text = kHealth;
      break;
    case Command::kSelftest:
      text = kSelftest;
      break;
    case Command::kDrain:
      text = kDrain;
      break;
    case Command::kEnd:
      text = kEnd;
      break;
  }
  return std::string(text) + kSeeAlso;
}

}  // namespace acceld::accelctl
