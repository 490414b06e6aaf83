package command

// environment is what a tool gets of our environment, as lookUp tells it: what says
// where programs, libraries and files are, and the variables of the names, as far as
// they are set. The others may hold secrets, or change what a tool loads and connects
// to. The tool's language is English.
func environment(lookUp func(name string) (string, bool), names []string) []string {
	var env []string
	for _, name := range append([]string{"PATH", "LD_LIBRARY_PATH", "HOME", "TMPDIR"}, names...) {
		if value, set := lookUp(name); set {
			env = append(env, name+"="+value)
		}
	}
	return append(env, "LC_ALL=C")
}
