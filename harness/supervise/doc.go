// Package supervise starts the processes of a run, waits for them, and kills them.
//
// Where to look:
//
//   - supervise.go starts a process; process.go reads what it prints and waits for its end.
//   - kill.go sends every signal: SIGTERM and, if the process does not end within the grace (a time
//     that the run sets), SIGKILL. It also kills orphans: descendants that outlive the process that
//     the harness started.
//   - family.go finds the descendants of a process and its orphans.
//   - orphan.go finds the processes that a dead harness left running.
//   - proc.go reads /proc.
//
// What always holds:
//
//   - Each process that the harness starts is the leader of its own process group. The kernel kills
//     the process when the harness dies, even by SIGKILL.
//   - The end of a process is complete only when all its orphans have ended too, or are listed as
//     still running.
//   - The harness identifies a process by its PID and its start time, and so never signals a later
//     process that got the same PID.
//   - The harness never signals processes of other runs, other users or other PID namespaces.
//   - Every wait has a limit. A process that is stuck in a device driver does not end even after
//     SIGKILL; the harness stops waiting, reports the process and goes on.
package supervise
