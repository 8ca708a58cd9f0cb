// Package examples holds scripts to read and to run, for the program to carry along. It must never hold anything else.
package examples

import _ "embed" // the scripts

// Demo is what `syncsql demo` runs. DIR and RATE are variables: the folder of the target, and changes per second.
//
//go:embed demo.sql
var Demo string
