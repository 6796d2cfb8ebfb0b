package trace_test

import (
	"os"
	"os/exec"
	"testing"
)

// TestFetch runs ci/oracle/fetch_test.py. This tests the script that downloads and unpacks
// PyTorch's library, from which ci/oracle builds the oracle.
func TestFetch(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("not run: no python3 on the PATH; on Debian: apt-get install python3")
	}
	cmd := exec.Command(python, "../../../ci/oracle/fetch_test.py")
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
