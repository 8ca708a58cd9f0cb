// Package examples holds scripts to read and to run. It must hold nothing else.
package examples

import _ "embed" // the scripts

// Demo is what `syncsql demo` runs. DIR and RATE are variables: the folder of the target, and changes per second.
//
//go:embed demo.sql
var Demo string
