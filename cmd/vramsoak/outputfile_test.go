package main

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWritableLink: whether a file can be written depends on the folder that a link leads to, not
// on the folder of the link. /dev/stdout is such a link in a folder of the administrator.
func TestWritableLink(t *testing.T) {
	dir := t.TempDir()
	closed, open := filepath.Join(dir, "closed"), filepath.Join(dir, "open")
	for _, folder := range []string{closed, open} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "page.html"), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"closed/to-open.html":  "../open/page.html",
		"open/to-closed.html":  "../closed/page.html",
		"open/to-nothing.html": "nothing.html",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	// Nobody may write in closed, everybody in open.
	for folder, mode := range map[string]os.FileMode{
		filepath.Dir(dir): 0o755, dir: 0o755, closed: 0o555, open: 0o777,
	} {
		if err := os.Chmod(folder, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(closed, 0o755) }) // so that it can be removed
	got := map[string]bool{}
	want := map[string]bool{
		"open/page.html": true, "open/new.html": true, "open/to-nothing.html": true,
		"closed/page.html": false, "closed/new.html": false,
		"closed/to-open.html": true, "open/to-closed.html": false,
	}
	asNobody(t, func() {
		for path := range want {
			got[path] = writable(filepath.Join(dir, path)) == nil
		}
	})
	for path, want := range want {
		if got[path] != want {
			t.Errorf("%s: writable: %t, want %t", path, got[path], want)
		}
	}
}

// asNobody calls do as a user without special rights.
func asNobody(t *testing.T, do func()) {
	t.Helper()
	if os.Getuid() != 0 {
		do()
		return
	}
	done := make(chan syscall.Errno)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		const nobody = 65534
		_, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody)
		if errno == 0 {
			do()
		}
		done <- errno
	}()
	if errno := <-done; errno != 0 {
		t.Skipf("cannot become another user: %v", errno)
	}
}
