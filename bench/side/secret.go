package side

import (
	"strings"
)

// redacted stands in place of a secret in a command line.
const redacted = "<redacted>"

// secretAt reports whether argument i holds a secret, and from where on: all of it
// after --api-key, what follows the sign in --api-key=….
func secretAt(argv []string, i int) (from int, ok bool) {
	if name, value, found := strings.Cut(argv[i], "="); found && isSecretName(name) {
		return len(argv[i]) - len(value), true
	}
	if i == 0 || strings.HasPrefix(argv[i], "-") {
		return 0, false
	}
	// vLLM takes several keys after one --api-key.
	for i--; i > 0; i-- {
		if strings.HasPrefix(argv[i], "-") {
			return 0, isSecretName(argv[i]) && !strings.Contains(argv[i], "=")
		}
	}
	return 0, false
}

// isSecretName reports whether a name is one of options and variables such as --api-key,
// HF_TOKEN and --ssl-keyfile-password. Tokens that are counted are no secret.
func isSecretName(name string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '-' || r == '_' })
	for i, word := range words {
		switch word {
		case "password", "passwd", "secret", "apikey", "token", "key":
			if i == len(words)-1 {
				return true
			}
		}
	}
	return false
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
