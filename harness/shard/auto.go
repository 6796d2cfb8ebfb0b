package shard

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// These are the variables from which [Auto] reads a share. Slurm, Kubernetes and GitLab set them.
// Kubernetes does not say how many completions an Indexed Job has; the manifest must pass
// EnvCompletions.
const (
	envArrayID     = "SLURM_ARRAY_TASK_ID"
	envArrayMin    = "SLURM_ARRAY_TASK_MIN"
	envArrayMax    = "SLURM_ARRAY_TASK_MAX"
	envArrayStep   = "SLURM_ARRAY_TASK_STEP"
	envArrayCount  = "SLURM_ARRAY_TASK_COUNT"
	envProcess     = "SLURM_PROCID"
	envProcesses   = "SLURM_NTASKS"
	envStepTasks   = "SLURM_STEP_NUM_TASKS"
	envIndex       = "JOB_COMPLETION_INDEX"
	EnvCompletions = "JOB_COMPLETIONS"
	envNode        = "CI_NODE_INDEX"
	envNodes       = "CI_NODE_TOTAL"
)

// errNoShare is wrapped in the error of [Auto] if the environment names no share.
var errNoShare = errors.New("expected the variables of a Slurm array, of a Slurm step with " +
	"several tasks, of an Indexed Job of Kubernetes, or of a parallel job of GitLab; found none: " +
	"start it there, or give the share, such as --shard 3/8")

// Auto returns the share that the environment names. The first of these counts: a task of a Slurm
// array, one of several tasks of a Slurm step, a pod of an Indexed Job of Kubernetes, a parallel
// job of GitLab.
func Auto(lookup func(name string) (value string, set bool)) (Share, error) {
	e := environment{lookup: lookup}
	switch {
	case e.has(envArrayID):
		return e.slurmArray()
	case e.has(envProcess) && e.several():
		s := Share{Shard: e.whole(envProcess, 0) + 1, Shards: e.whole(e.tasks(), 1)}
		return e.share(s, envProcess, "is not below "+envProcesses)
	case e.has(envIndex):
		s := Share{Shard: e.whole(envIndex, 0) + 1, Shards: e.whole(EnvCompletions, 1)}
		return e.share(s, envIndex, "is not below "+EnvCompletions)
	case e.has(envNode):
		s := Share{Shard: e.whole(envNode, 1), Shards: e.whole(envNodes, 1)}
		return e.share(s, envNode, "is above "+envNodes)
	}
	return Share{}, errNoShare
}

// An environment reads numbers from variables. It collects what is wrong with them.
type environment struct {
	lookup func(string) (string, bool)
	read   []string // the variables that were read, as NAME=value
	errs   []error
}

func (e *environment) has(name string) bool {
	value, set := e.lookup(name)
	return set && value != ""
}

// whole returns the value of a variable, a whole number from least on.
func (e *environment) whole(name string, least int) int {
	value, _ := e.lookup(name)
	n, err := strconv.Atoi(value)
	if err != nil || n < least {
		found := fmt.Sprintf("%q", value)
		if value == "" {
			found = "nothing"
		}
		e.errs = append(e.errs, fmt.Errorf("%s: expected a whole number from %d, found %s", name,
			least, found))
		return 0
	}
	if said := name + "=" + value; !slices.Contains(e.read, said) {
		e.read = append(e.read, said)
	}
	return n
}

// tasks returns the variable that says how many tasks the current Slurm step has. A step may have
// fewer tasks than its job; older versions of Slurm tell only the job's.
func (e *environment) tasks() string {
	if e.has(envStepTasks) {
		return envStepTasks
	}
	return envProcesses
}

// several reports whether the current Slurm step has several tasks, or a wrong number of them.
func (e *environment) several() bool {
	value, _ := e.lookup(e.tasks())
	n, err := strconv.Atoi(value)
	return value != "" && (err != nil || n > 1)
}

// slurmArray returns the share of a task of a Slurm array. The ids of an array may begin anywhere
// and have a step: --array=10-24:2 has the ids 10, 12 ... 24. A list such as --array=1,5,9 has no
// single step, so its ids do not tell which task is the second.
func (e *environment) slurmArray() (Share, error) {
	id, first := e.whole(envArrayID, 0), e.whole(envArrayMin, 0)
	step, count := 1, e.whole(envArrayCount, 1)
	if e.has(envArrayStep) {
		step = e.whole(envArrayStep, 1)
	}
	last := first + (count-1)*step
	if e.has(envArrayMax) {
		last = e.whole(envArrayMax, 0)
	}
	if len(e.errs) > 0 {
		return Share{}, errors.Join(e.errs...)
	}
	return e.share(Share{Shard: (id-first)/step + 1, Shards: count}, envArrayID,
		fmt.Sprintf("is not one of %d ids from %d in steps of %d; give the array as a range, such "+
			"as --array=1-%d", count, first, step, count),
		(id-first)%step == 0, id >= first, last == first+(count-1)*step)
}

// share returns the share s, unless a variable was wrong, s is impossible, or one of the further
// conditions does not hold. The error then says of the variable name what is wrong with it.
func (e *environment) share(s Share, name, wrong string, conditions ...bool) (Share, error) {
	if len(e.errs) > 0 {
		return Share{}, errors.Join(e.errs...)
	}
	ok := s.Shard >= 1 && s.Shard <= s.Shards
	for _, c := range conditions {
		ok = ok && c
	}
	value, _ := e.lookup(name)
	switch {
	case !ok:
		return Share{}, fmt.Errorf("%s=%s %s", name, value, wrong)
	case s.Shards > Max:
		return Share{}, fmt.Errorf("expected at most %d shards, found %d", Max, s.Shards)
	}
	s.From = strings.Join(e.read, ", ")
	return s, nil
}
