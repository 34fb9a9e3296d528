// SPDX-License-Identifier: Apache-2.0

//go:build profile

package mirror

import (
	"os"
	"runtime/pprof"
)

// profile writes a processor profile to the file that PROFILE names. A program that can be
// profiled keeps tables for it, so that the ones that are measured cannot.
func profile() (end func() error, err error) {
	file, err := os.Create(os.Getenv("PROFILE"))
	if err != nil {
		return nil, err
	}
	end = func() error {
		pprof.StopCPUProfile()
		return file.Close()
	}
	return end, pprof.StartCPUProfile(file)
}
