package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"vramsoak/harness/bucket"
	"vramsoak/harness/merge"
	"vramsoak/harness/runfolder"
	"vramsoak/harness/shard"
	"vramsoak/parser/record"
)

// copies are the local folders that stand for places in buckets. Messages and reports name the
// place and not the folder.
var copies struct {
	sync.Mutex
	shown map[string]string // address by folder
	made  []string          // folders to remove when the program ends
}

// showAs makes [displayName] show what lies in a folder as what lies at an address.
func showAs(folder, address string) {
	copies.Lock()
	defer copies.Unlock()
	if copies.shown == nil {
		copies.shown = map[string]string{}
	}
	copies.shown[folder] = address
}

// shownAs returns the address of what lies in a copy of a bucket. ok is false for any other path.
func shownAs(path string) (address string, ok bool) {
	copies.Lock()
	defer copies.Unlock()
	for folder, address := range copies.shown {
		if below, is := strings.CutPrefix(path, folder); is &&
			(below == "" || below[0] == filepath.Separator) {
			place, _, _ := strings.Cut(address, "?")
			return bucket.Join(place, filepath.ToSlash(below)), true
		}
	}
	return "", false
}

// shownIn returns a message that names addresses in place of copies that are removed when the
// program ends.
func shownIn(message string) string {
	copies.Lock()
	defer copies.Unlock()
	for folder, address := range copies.shown {
		if slices.Contains(copies.made, filepath.Dir(folder)) {
			place, _, _ := strings.Cut(address, "?")
			message = strings.ReplaceAll(message, folder, place)
		}
	}
	return message
}

// removeOnSignal removes the copies when a signal ends the program, such as SIGPIPE when the reader
// of its output has ended.
func removeOnSignal() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	go func() {
		got := <-signals
		removeCopies()
		signal.Reset()
		if s, ok := got.(syscall.Signal); ok {
			_ = syscall.Kill(os.Getpid(), s) // a process may always signal itself
		}
	}()
}

// removeCopies removes the local copies of what the program read from buckets.
func removeCopies() {
	copies.Lock()
	defer copies.Unlock()
	for _, folder := range copies.made {
		_ = os.RemoveAll(folder) // the folder for temporary files is cleaned by others, too
	}
	copies.made = nil
}

// openRun opens the run or the shard at an address. The name is that of the shard, or "" if the
// address is of a whole run.
func openRun(ctx context.Context, address string) (store *bucket.Store, name string, err error) {
	run := address
	if _, is := shard.Of(bucket.Base(address)); is {
		name = bucket.Base(address)
		run = bucket.Join(address, "..")
	}
	if store, err = bucket.Open(ctx, run); err == nil {
		store.Logger = newLogger(newDisplay(stderr), slog.LevelWarn)
	}
	return store, name, err
}

// shardsAt returns the shards at an address.
func shardsAt(ctx context.Context, address string) (*bucket.Store, []bucket.Shard, error) {
	store, name, err := openRun(ctx, address)
	if err != nil {
		return nil, nil, err
	}
	var found []bucket.Shard
	if name == "" {
		found, err = store.Shards(ctx)
	} else {
		var one bucket.Shard
		one, err = store.Shard(ctx, name)
		if one.Lease > 0 || len(one.Logs) > 0 {
			found = append(found, one)
		}
	}
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%v: expected a run with shards, as vramsoak soak --shard stores it, found "+
			"none; is %q the name of the run?", store, bucket.Base(address))
	}
	return store, found, err
}

// findShards returns the shards of runs in folders and in buckets. It returns none if no path is of
// a shard.
func findShards(ctx context.Context, paths []string) ([]merge.Shard, error) {
	var all []merge.Shard
	var local []string
	for _, path := range paths {
		if !bucket.IsAddress(path) {
			local = append(local, path)
			continue
		}
		store, found, err := shardsAt(ctx, path)
		if err != nil {
			return nil, err
		}
		for _, s := range found {
			all = append(all, bucketShards(ctx, store, s))
		}
	}
	if len(local) == 0 {
		return all, nil
	}
	found, err := merge.Find(local)
	if err == nil && len(found) == 0 && len(all) > 0 {
		err = fmt.Errorf("%s: expected the folder of a run with shards, as the other paths are; judge "+
			"it by itself", local[0])
	}
	return append(all, found...), err
}

// bucketShards returns a shard in a bucket for the judge, who reads its logs when their turn comes.
func bucketShards(ctx context.Context, store *bucket.Store, s bucket.Shard) merge.Shard {
	number, _ := shard.Of(s.Name) // every shard in a bucket has such a name
	of := merge.Shard{Name: bucket.Join(store.String(), s.Name), Number: number}
	for _, log := range s.Logs {
		name := bucket.Join(store.String(), log.Key)
		of.Logs = append(of.Logs, merge.Log{
			Name: name, Open: func() (io.ReadCloser, error) { return store.Open(ctx, log), nil },
		})
		for _, older := range log.Older {
			of.Older = append(of.Older, merge.OlderLog{
				Log: merge.Log{
					Name: fmt.Sprintf("%s/%06d", name, older.Lease),
					Open: func() (io.ReadCloser, error) { return store.Open(ctx, older), nil },
				},
				Lease: older.Lease, Size: older.Size,
				From: func(offset int64) (io.ReadCloser, error) {
					return store.OpenAt(ctx, older, offset), nil
				},
			})
		}
	}
	return of
}

// copyMax is how many bytes of logs are copied from a bucket for a command that reads logs several
// times. check reads a run of any size from there, without a copy.
const copyMax = 4 << 30

// bucketReaders are the commands that read runs and shards in buckets from local copies.
var bucketReaders = []string{
	"calibrate", "compare", "export", "parse", "plot", "profile", "report",
}

// readBuckets makes the commands of bucketReaders take the addresses of runs and shards. Each gets
// a local copy, which is removed when the program ends.
func readBuckets(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		if !slices.Contains(bucketReaders, cmd.Name()) {
			continue
		}
		next := cmd.RunE
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			follow := cmd.Flags().Lookup("follow")
			if follow != nil && follow.Changed && slices.ContainsFunc(args, bucket.IsAddress) {
				return errors.New("--follow: expected a file, found the address of a bucket, from which " +
					"a copy is read")
			}
			local, err := localCopies(cmd.Context(), args)
			if err != nil {
				return err
			}
			return next(cmd, local)
		}
	}
}

// takesBuckets reports whether a command reads runs in buckets.
func takesBuckets(cmd *cobra.Command) bool {
	return cmd.Name() == "check" || slices.Contains(bucketReaders, cmd.Name())
}

// localCopies copies each run or shard in a bucket to a local folder. It returns the paths, with
// the folder in place of the address.
func localCopies(ctx context.Context, paths []string) ([]string, error) {
	var all []string
	for _, path := range paths {
		if bucket.IsAddress(path) {
			dir, err := copyFrom(ctx, path)
			if err != nil {
				return nil, err
			}
			path = dir
		}
		all = append(all, path)
	}
	return all, nil
}

// copyFrom copies the run or the shard at an address into a new folder, and returns the folder.
func copyFrom(ctx context.Context, address string) (dir string, err error) {
	store, shards, err := shardsAt(ctx, address)
	if err != nil {
		return "", err
	}
	size := int64(0)
	for _, s := range shards {
		for _, log := range s.Logs {
			size += log.Size
		}
	}
	if size > copyMax {
		return "", fmt.Errorf("%v: expected logs of at most %s, found %s in %s; name one of them, such "+
			"as %s", store, record.FormatBytes(copyMax), record.FormatBytes(size),
			plural(len(shards), "shard"), bucket.Join(store.String(), shards[0].Name))
	}
	made, err := os.MkdirTemp("", "vramsoak-copy-")
	if err != nil {
		return "", err
	}
	copies.Lock()
	if copies.made == nil {
		removeOnSignal()
	}
	copies.made = append(copies.made, made)
	copies.Unlock()
	run := filepath.Join(made, bucket.Base(store.String()))
	showAs(run, store.String())
	files := []string{runfolder.InfoName, runfolder.BatchName, runfolder.VerdictName}
	for _, s := range shards {
		if _, err := store.Fetch(ctx, s, filepath.Join(run, s.Name), files...); err != nil {
			return "", err
		}
	}
	err = store.FetchFile(ctx, runfolder.InfoName, filepath.Join(run, runfolder.InfoName))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if _, is := shard.Of(bucket.Base(address)); is {
		return filepath.Join(run, shards[0].Name), nil
	}
	return run, nil
}
