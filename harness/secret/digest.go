package secret

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"strings"
)

// rounds is how often PBKDF2 hashes. OWASP's Password Storage Cheat Sheet recommends this number
// for PBKDF2 with HMAC-SHA256, because each guess at a password then costs about a tenth of a
// second.
const rounds = 600_000

// Digest returns a digest of a command, by which [Matches] recognizes the command. The command's
// secrets cannot be computed from the digest.
func Digest(argv []string) (string, error) {
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails
	sum, err := derive(argv, salt, rounds)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("pbkdf2-sha256$%d$%x$%x", rounds, salt, sum), nil
}

// Matches reports whether digest is the [Digest] of this command. It returns an error if digest is
// malformed.
func Matches(digest string, argv []string) (bool, error) {
	expected := fmt.Errorf("expected a digest such as pbkdf2-sha256$%d$SALT$SUM, found %.100q", rounds,
		digest)
	field := strings.Split(digest, "$")
	if len(field) != 4 || field[0] != "pbkdf2-sha256" {
		return false, expected
	}
	var n int
	if _, err := fmt.Sscanf(field[1], "%d", &n); err != nil || n < 1 || n > 100*rounds {
		return false, expected
	}
	salt, err := hex.DecodeString(field[2])
	if err != nil {
		return false, expected
	}
	want, err := hex.DecodeString(field[3])
	if err != nil {
		return false, expected
	}
	sum, err := derive(argv, salt, n)
	return err == nil && subtle.ConstantTimeCompare(sum, want) == 1, err
}

// derive returns the PBKDF2 hash of the arguments after n rounds. HMAC ignores NULs at the end of a
// key, so the key is a checksum of the arguments. They are separated by NUL, which no argument
// contains.
func derive(argv []string, salt []byte, n int) ([]byte, error) {
	sum := sha256.Sum256([]byte(strings.Join(argv, "\x00")))
	return pbkdf2.Key(sha256.New, string(sum[:]), salt, n, sha256.Size)
}
