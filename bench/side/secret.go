package side

import (
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/credential"
)

// redacted stands in place of a secret in a command line.
const redacted = "<redacted>"

// secretAt reports whether argument i holds a secret, and from where on: all of it
// after --api-key, what follows the sign in --api-key=….
func secretAt(argv []string, i int) (from int, ok bool) {
	if name, value, found := strings.Cut(argv[i], "="); found && credential.IsName(name) {
		return len(argv[i]) - len(value), true
	}
	if i == 0 || strings.HasPrefix(argv[i], "-") {
		return 0, false
	}
	// vLLM takes several keys after one --api-key.
	for i--; i > 0; i-- {
		if strings.HasPrefix(argv[i], "-") {
			return 0, credential.IsName(argv[i]) && !strings.Contains(argv[i], "=")
		}
	}
	return 0, false
}

// secretsOf are the secrets of a command line, or of an environment.
func secretsOf(argv []string) []string {
	var secrets []string
	for i, arg := range argv {
		if from, ok := secretAt(argv, i); ok {
			secrets = append(secrets, arg[from:])
		}
	}
	return secrets
}
