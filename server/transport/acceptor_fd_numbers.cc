#include "server/transport/acceptor_fd_numbers.h"

#include <fcntl.h>

namespace acceld {

UniqueFd FdNumbers::Duplicate(int fd) {
  // The rest of the round, then the range from its start, then whatever is free.
  for (const int from : {next_, first_, 0}) {
    UniqueFd duplicate(fcntl(fd, F_DUPFD_CLOEXEC, from));
    if (!duplicate.valid()) continue;
    const int number = duplicate.get();
    if (number >= limit_ && from > first_) continue;
    next_ = number >= first_ && number + 1 < limit_ ? number + 1 : first_;
    return duplicate;
  }
  return UniqueFd();
}

}  // namespace acceld
