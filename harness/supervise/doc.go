// Package supervise starts the processes of a run, waits for them, and kills them.
//
// Where to look:
//
//   - supervise.go starts a process; process.go reads what it prints and waits for its end.
//   - kill.go sends every signal: SIGTERM, SIGKILL after the grace; it also kills orphans.
//   - family.go finds the descendants of a process and its orphans.
//   - orphan.go finds the processes that a dead harness left running.
//   - proc.go reads /proc.
//
// What always holds:
//
//   - Each process that the harness starts is the leader of its own process group. The kernel kills
//     the process when the harness dies, even by SIGKILL.
//   - The end of a process is complete only when all its orphan processes have ended too, or are
//     listed as still running.
//   - The harness identifies a process by its PID and its start time, and so never signals a later
//     process that got the same PID.
//   - The harness never signals processes of other runs, other users or other PID namespaces.
//   - Every wait has a limit. A process that is stuck in a device driver does not end even after
//     SIGKILL; the harness stops waiting, reports the process and goes on.
package supervise
