package shard

import (
	"fmt"
	"strconv"
	"strings"
)

// Max is the largest number of shards. The names of their folders have room for it.
const Max = 100_000

// A Share says which of several shards a task works on.
type Share struct {
	Shard  int // from 1
	Shards int
	// From lists the variables that gave Shard and Shards, for a person to read:
	// "JOB_COMPLETION_INDEX=2, JOB_COMPLETIONS=8". It is "" for a share that the user gave.
	From string
}

// String returns the share as --shard takes it: "3/8".
func (s Share) String() string { return strconv.Itoa(s.Shard) + "/" + strconv.Itoa(s.Shards) }

// Folder returns the name of a shard's folder in the folder of its run: "shard-0003".
func Folder(shard int) string { return fmt.Sprintf("%s%04d", folderPrefix, shard) }

const folderPrefix = "shard-"

// Of returns the number of the shard whose folder has this name. ok is false if it is not the name
// that [Folder] gives to a shard.
func Of(folder string) (shard int, ok bool) {
	digits, ok := strings.CutPrefix(folder, folderPrefix)
	shard, err := strconv.Atoi(digits)
	return shard, ok && err == nil && shard >= 1 && shard <= Max && Folder(shard) == folder
}

// Parse reads a share such as "3/8".
func Parse(text string) (Share, error) {
	first, second, ok := strings.Cut(text, "/")
	shard, err := strconv.Atoi(first)
	shards, err2 := strconv.Atoi(second)
	if !ok || err != nil || err2 != nil || shard < 1 || shard > shards || shards > Max {
		return Share{}, fmt.Errorf("expected a shard and the number of shards, such as 3/8, with "+
			"the shard from 1 to 8, at most %d, or auto; found %q", Max, text)
	}
	return Share{Shard: shard, Shards: shards}, nil
}
