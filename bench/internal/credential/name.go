package credential

import "strings"

// IsName reports whether a name is one of options, variables and parameters whose value
// is a credential, such as --api-key, HF_TOKEN, PGPASSWORD and --ssl-keyfile-password.
// Tokens that are counted are none.
func IsName(name string) bool {
	name = strings.ToLower(name)
	for _, end := range []string{"password", "passwd", "secret", "apikey", "token"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	switch name[strings.LastIndexAny(name, "-_")+1:] {
	case "key", "sig", "signature":
		return true
	}
	return false
}
