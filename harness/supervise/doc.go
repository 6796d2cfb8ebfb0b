// Package supervise starts the processes of a run, waits for them, and kills them.
//
// Where to look:
//
//   - supervise.go starts a process; process.go reads what it prints and waits for its end.
//   - kill.go sends every signal: SIGTERM, SIGKILL after the grace; it also kills orphans.
//   - family.go finds what a process started, directly or not, and what outlives it.
//   - orphan.go finds the processes that a dead harness left running.
//   - proc.go reads /proc.
//
// What always holds:
//
//   - A process is the leader of its own process group, and the kernel kills it when the harness
//     dies, even by SIGKILL.
//   - A process has ended only when everything that it left behind has ended too, or is named as
//     still running.
//   - A process is identified by its number and its start time. A later process that got the same
//     number never receives a signal.
//   - Processes of other runs, of other users and of other PID namespaces never receive a signal.
//   - Every wait has a limit. A process that is stuck in a device driver does not end even after
//     SIGKILL; it is given up and reported, and the harness goes on.
package supervise
