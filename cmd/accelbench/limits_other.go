//go:build !unix

package main

// checkFiles has nothing to ask here.
func checkFiles(int) error { return nil }
