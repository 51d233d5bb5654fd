package main

import "runtime/debug"

// version is set by the build: -ldflags "-X main.version=v0.1.0".
var version = "devel"

// buildVersion is the version that the build was given, or the commit it was built from.
func buildVersion() string {
	if version != "devel" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				return version + " " + s.Value[:12]
			}
		}
	}
	return version
}
