//go:build !toolglot_flags

package toolglot

// #cgo pkg-config: toolglot
import "C"
