// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

import "time"

var started = time.Now()

// threadTime is wall time where there is no clock of a thread.
func threadTime() time.Duration { return time.Since(started) }

// processTime is wall time too.
func processTime() time.Duration { return threadTime() }
