package main

import "runtime/debug"

// version is what the Go toolchain recorded when it built the program: the module's version, made from the commit in a
// checkout.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
