package main

import (
	"encoding/binary"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A sigaction has room for the kernel's struct sigaction. The zero value is the default action.
type sigaction [64]byte

// ignores reports whether a program with this action ignores the signal: the first word is then
// SIG_IGN, which is 1.
func (a *sigaction) ignores() bool { return binary.NativeEndian.Uint64(a[:]) == 1 }

// setAction sets the action of a signal, unless action is nil, and returns the one before.
// [signal.Reset] does not restore the default action of SIGTSTP: its handler stays and does
// nothing. [signal.Ignored] does not know whether a shell has made the process ignore SIGTSTP.
func setAction(s syscall.Signal, action *sigaction) (before sigaction) {
	const setSize = 8 // of the kernel's sigset_t
	// The call fails only for signals that do not exist.
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(action)),
		uintptr(unsafe.Pointer(&before)), setSize, 0, 0)
	return before
}

// ignoresSuspend reports whether the process ignores Ctrl-Z.
func ignoresSuspend() bool {
	action := setAction(syscall.SIGTSTP, nil)
	return action.ignores()
}

// suspend does what Ctrl-Z does in programs that do not handle it. The kernel stops this process
// until a shell continues it. It does not stop it if no shell could do that, as in
// "ssh -t host vramsoak soak".
func suspend() {
	// A signal to the own thread has its effect before the call returns. A signal to the process may
	// come later, when the handler is back.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	handler := setAction(syscall.SIGTSTP, &sigaction{})
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), syscall.SIGTSTP)
	setAction(syscall.SIGTSTP, &handler)
}
