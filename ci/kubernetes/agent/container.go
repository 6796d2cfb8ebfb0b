package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	v1 "k8s.io/api/core/v1"
	podresource "k8s.io/kubernetes/pkg/api/v1/resource"
	"k8s.io/kubernetes/pkg/fieldpath"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
)

// enterName is the first argument of the agent if it is started to become a container.
const enterName = "container"

// A container is what the agent passes to the process that becomes the container.
type container struct {
	Mounts []mount
	Dir    string
	Argv   []string
}

// A mount is a folder of the machine that a container sees in another place.
type mount struct {
	Source, Target string
	ReadOnly       bool
}

// command returns the process of a container, ready to start. Its output goes to the log of the
// container.
func (a *agent) command(pod *v1.Pod, c *v1.Container) (*exec.Cmd, error) {
	vars, err := a.environment(pod, c)
	if err != nil {
		return nil, err
	}
	if len(c.Command) == 0 {
		return nil, errors.New("expected a command, because the agent has no images; found none")
	}
	spec := container{Argv: append(append([]string{}, c.Command...), c.Args...)}
	for i := range spec.Argv {
		spec.Argv[i] = expansion.Expand(spec.Argv[i], expansion.MappingFuncFor(vars))
	}
	if spec.Mounts, err = a.mounts(pod, c); err != nil {
		return nil, err
	}
	folder := a.podFolder(pod)
	root := filepath.Join(folder, c.Name+".root")
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, err
	}
	spec.Dir = cmp.Or(c.WorkingDir, folder)
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{enterName, root, string(text)}
	for k, v := range vars {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID}
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: gid, Size: 1}}
	}
	out, err := os.Create(filepath.Join(folder, c.Name+".log"))
	cmd.Stdout, cmd.Stderr = out, out
	return cmd, err
}

// environment returns the variables of a container.
func (a *agent) environment(pod *v1.Pod, c *v1.Container) (map[string]string, error) {
	vars := map[string]string{
		"PATH": os.Getenv("PATH"), "HOSTNAME": pod.Name, "HOME": "/root",
		"KUBERNETES_SERVICE_HOST": a.server.Hostname(),
		"KUBERNETES_SERVICE_PORT": a.server.Port(),
	}
	for _, from := range c.EnvFrom {
		more, err := a.variables(pod.Namespace, from)
		if err != nil {
			return nil, err
		}
		for k, v := range more {
			vars[from.Prefix+k] = v
		}
	}
	for _, e := range c.Env {
		value, err := fieldValue(pod, c, e.ValueFrom)
		if err != nil {
			return nil, fmt.Errorf("env %s: %w", e.Name, err)
		}
		vars[e.Name] = value + expansion.Expand(e.Value, expansion.MappingFuncFor(vars))
	}
	return vars, nil
}

func fieldValue(pod *v1.Pod, c *v1.Container, from *v1.EnvVarSource) (string, error) {
	switch {
	case from == nil:
		return "", nil
	case from.ResourceFieldRef != nil:
		return podresource.ExtractResourceValueByContainerName(from.ResourceFieldRef, pod, c.Name)
	case from.FieldRef == nil:
		return "", fmt.Errorf("the agent knows only fieldRef and resourceFieldRef")
	case from.FieldRef.FieldPath == "spec.nodeName":
		return pod.Spec.NodeName, nil
	case from.FieldRef.FieldPath == "status.podIP" || from.FieldRef.FieldPath == "status.hostIP":
		return "127.0.0.1", nil
	}
	return fieldpath.ExtractFieldPathAsString(pod, from.FieldRef.FieldPath)
}

// enter turns this process, which is the first of new namespaces, into a container. The container's
// root is an empty file system in which each folder of the machine's root is mounted, but for /run
// and /proc. So volumes can be mounted at paths such as /runs that this machine does not have.
func enter(root, text string) error {
	var spec container
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		return err
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making the mounts private: %w", err)
	}
	if err := syscall.Mount("tmpfs", root, "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("mounting the root: %w", err)
	}
	entries, err := os.ReadDir("/")
	if err != nil {
		return err
	}
	for _, e := range entries {
		path, inside := "/"+e.Name(), filepath.Join(root, e.Name())
		switch target, err := os.Readlink(path); {
		case err == nil:
			if err := os.Symlink(target, inside); err != nil {
				return err
			}
		case e.IsDir():
			if err := os.Mkdir(inside, 0o755); err != nil {
				return err
			}
			if e.Name() == "run" || e.Name() == "proc" {
				continue
			}
			if err := bind(mount{Source: path, Target: inside}); err != nil {
				return err
			}
		}
	}
	if err := syscall.Mount("proc", filepath.Join(root, "proc"), "proc", 0, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	if err := syscall.Chroot(root); err != nil {
		return err
	}
	// The sources have the same paths in the new root. Links such as /var/run lead to the new root.
	for _, m := range spec.Mounts {
		if err := os.MkdirAll(m.Target, 0o755); err != nil {
			return err
		}
		if err := bind(m); err != nil {
			return err
		}
	}
	if err := os.Chdir(spec.Dir); err != nil {
		return err
	}
	program, err := exec.LookPath(spec.Argv[0])
	if err != nil {
		return err
	}
	return syscall.Exec(program, spec.Argv, os.Environ())
}

func bind(m mount) error {
	err := syscall.Mount(m.Source, m.Target, "", syscall.MS_BIND|syscall.MS_REC, "")
	if err == nil && m.ReadOnly {
		err = syscall.Mount("", m.Target, "",
			syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
	}
	if err != nil {
		return fmt.Errorf("mounting %s at %s: %w", m.Source, m.Target, err)
	}
	return nil
}
