package command

// Available reports whether a program of that name or path can be run now.
func Available(name string) bool {
	_, err := lookUp(name)
	return err == nil
}
