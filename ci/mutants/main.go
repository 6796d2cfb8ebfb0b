// Command mutants tests the tests of one package. It breaks the package in small ways, one at a
// time, and runs the package's own tests (-short) on each broken version, a mutant. If no test
// fails, the mutant survives: a test is missing, or the broken code makes no difference.
//
//	go run ./ci/mutants [-n 50] [-seed 1] [-for 10m] ./harness/shape
//
// It draws n mutants at random, by the seed. It changes no file in the tree: go test reads the
// broken file with -overlay. If the tests take too long, the mutant counts as caught. Known mutants
// that make no difference are listed in ci/mutants/equivalent.txt and are not drawn.
//
// Do not edit the package while the command runs. The mutants are made from the code at the start,
// so after an edit they would not compile, or would fail for another reason.
//
// Exit codes: 0 if all mutants were caught, 1 if one survived, 2 if nothing could be judged.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	n := flag.Int("n", 50, "how many mutants are drawn; 0 for all")
	seed := flag.Uint64("seed", 1, "the seed of the draw")
	limit := flag.Duration("for", time.Hour, "start no mutant after this time")
	only := flag.String("file", "", "only mutants of this file, such as gls.go")
	list := flag.Bool("list", false, "print the drawn mutants and run nothing")
	known := flag.String("equivalent", "ci/mutants/equivalent.txt", "the mutants that are not drawn")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: go run ./ci/mutants [flags] ./PACKAGE")
		os.Exit(2)
	}
	all, skipped, err := mutantsOf(filepath.Clean(flag.Arg(0)), *only, *known)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	swap := func(i, j int) { all[i], all[j] = all[j], all[i] }
	rand.New(rand.NewPCG(*seed, 0)).Shuffle(len(all), swap)
	drawn := all
	if *n > 0 {
		drawn = all[:min(*n, len(all))]
	}
	fmt.Printf("%d mutants, %d of them drawn; %d more are known to be equivalent\n",
		len(all), len(drawn), skipped)
	if *list {
		for _, m := range drawn {
			fmt.Println(m)
		}
		return
	}
	survived, err := judge(filepath.Clean(flag.Arg(0)), drawn, *limit)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	if survived > 0 {
		os.Exit(1)
	}
}

// mutantsOf returns the mutants of a folder's files, without those in the list of equivalent
// mutants. skipped is the number of mutants that were left out because of the list. An entry for
// this folder that matches no mutant is an error, because the code has changed since it was
// written. If only is not empty, mutantsOf returns only the mutants of the file with this base
// name.
func mutantsOf(folder, only, known string) (all []mutant, skipped int, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, 0, err
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		of, err := mutate(file)
		if err != nil {
			return nil, 0, err
		}
		all = append(all, of...)
	}
	if len(all) == 0 {
		return nil, 0, fmt.Errorf("no mutants: %s has no code", folder)
	}
	equivalent, err := readEquivalent(known, folder)
	if err != nil {
		return nil, 0, err
	}
	kept := all[:0]
	for _, m := range all {
		if _, ok := equivalent[m.key()]; ok {
			equivalent[m.key()] = true
			skipped++
		} else if only == "" || filepath.Base(m.file) == only {
			kept = append(kept, m)
		}
	}
	for key, found := range equivalent {
		if !found {
			err = errors.Join(err,
				fmt.Errorf("%s: no such mutant any more; delete the line or adapt it: %s", known, key))
		}
	}
	return kept, skipped, err
}

// readEquivalent reads the keys of a folder's equivalent mutants. A line of the list is FILE |
// MUTATION | the line of code | why no test can notice the mutation.
func readEquivalent(path, folder string) (map[string]bool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	keys := map[string]bool{}
	for number, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		last := strings.LastIndex(line, " | ")
		if strings.Count(line, " | ") < 3 {
			return nil, fmt.Errorf("%s:%d: want FILE | MUTATION | CODE | WHY", path, number+1)
		}
		if file, _, _ := strings.Cut(line, " | "); filepath.Dir(file) == folder {
			keys[line[:last]] = false
		}
	}
	return keys, nil
}

// judge runs the tests on each mutant, until the limit has passed. It prints the mutants that
// survive and returns their number.
func judge(folder string, drawn []mutant, limit time.Duration) (survived int, err error) {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if built, out := build(dir, folder, nil); !built {
		return 0, fmt.Errorf("%s does not build: %s", folder, out)
	}
	began := time.Now()
	if passed, late := test(dir, folder, time.Hour); !passed || late {
		return 0, fmt.Errorf("the tests of %s fail without a mutant", folder)
	}
	// A run may take longer than the run without a mutant, because the machine may have other work.
	patience := 5*time.Second + 3*time.Since(began)
	began = time.Now()
	var tried, caught, slow, invalid int
	for _, m := range drawn {
		if time.Since(began) > limit {
			break
		}
		tried++
		if built, _ := build(dir, folder, &m); !built {
			invalid++
			continue
		}
		switch passed, late := test(dir, folder, patience); {
		case late:
			slow++
			caught++
		case passed:
			survived++
			fmt.Println("SURVIVED |", m)
		default:
			caught++
		}
	}
	fmt.Printf("%d tried in %v: %d caught (%d of them by taking too long), %d survived,"+
		" %d did not compile\n",
		tried, time.Since(began).Round(time.Second), caught, slow, survived, invalid)
	return survived, nil
}

// build builds the tests of a folder, with the mutant m if that is not nil.
func build(dir, folder string, m *mutant) (ok bool, output string) {
	args := []string{"test", "-c", "-vet=off", "-o", filepath.Join(dir, "tests")}
	if m != nil {
		broken, overlay := filepath.Join(dir, "broken.go"), filepath.Join(dir, "overlay.json")
		path, err := filepath.Abs(m.file)
		if err == nil {
			err = os.WriteFile(broken, m.broken(), 0o600)
		}
		var text []byte
		if err == nil {
			text, err = json.Marshal(map[string]map[string]string{"Replace": {path: broken}})
		}
		if err == nil {
			err = os.WriteFile(overlay, text, 0o600)
		}
		if err != nil {
			return false, err.Error()
		}
		args = append(args, "-overlay", overlay)
	}
	out, err := exec.Command("go", append(args, "./"+folder)...).CombinedOutput()
	return err == nil, string(out)
}

// test runs the built tests. late is set if they took longer than `patience`. Their memory is
// limited, because an endless loop may fill it.
func test(dir, folder string, patience time.Duration) (passed, late bool) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", `ulimit -v 8000000; exec "$0" "$@"`,
		filepath.Join(dir, "tests"), "-test.short", "-test.failfast")
	cmd.Dir = folder
	err := cmd.Run()
	return err == nil, ctx.Err() != nil
}
