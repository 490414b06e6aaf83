package credential

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// What stands between an endpoint and this program spells a key in its own way, cuts it
// or stars it out; a reader can take that back.
func TestIn(t *testing.T) {
	const key = `sk-a1b=c2d/e3f+g4h&i5j`
	asJSON, _ := json.Marshal(key)
	twice, _ := json.Marshal(map[string]string{"error": `{"key":` + string(asJSON) + `}`})
	tests := map[string]struct {
		text string
		want bool
	}{
		"nothing":                      {"model not found", false},
		"as it is":                     {"bad key " + key + "!", true},
		"JSON":                         {string(asJSON), true},
		"JSON, every sign":             {`sk-a1b\u003dc2d\u002fe3f\u002Bg4h\u0026i5j`, true},
		"JSON in JSON":                 {string(twice), true},
		"string of a program":          {`sk-a1b\x3dc2d\x2fe3f`, true},
		"URL":                          {url.QueryEscape(key), true},
		"URL, small letters":           {`sk-a1b%3dc2d%2fe3f`, true},
		"URL in a URL":                 {url.QueryEscape(url.QueryEscape(key)), true},
		"HTML, decimal":                {`sk-a1b&#61;c2d&#47;e3f`, true},
		"HTML, hexadecimal":            {`sk-a1b&#x3D;c2d&#x2f;e3f`, true},
		"HTML, by name":                {`sk-a1b&equals;c2d&sol;e3f&plus;g4h`, true},
		"HTML in JSON in a URL":        {url.QueryEscape(`"sk-a1b\u0026#61;c2d`), true},
		"without its ends":             {"b=c2d/e3", true},
		"seven bytes of it":            {"b=c2d/e and 3f+g4h&", false},
		"stars in the middle":          {"sk-a1b=c***i5j", true},
		"stars in all but four":        {"Incorrect API key provided: sk-a***h&i5j", false},
		"capitals":                     {strings.ToUpper(key), true},
		"in groups":                    {"sk a1b c2d e3f", true},
		"base64":                       {base64.StdEncoding.EncodeToString([]byte(key)), true},
		"base64, in the midst of more": {base64.URLEncoding.EncodeToString([]byte(`{"k":"` + key + `"}`)), true},
		"base64, one byte later":       {base64.URLEncoding.EncodeToString([]byte(`{"ke":"` + key + `"}`)), true},
		"base64, two bytes later":      {base64.URLEncoding.EncodeToString([]byte(`{"key":"` + key + `"}`)), true},
		"octal":                        {`sk-a1b\075c2d\57e3f`, true},
		"long escapes":                 {`sk-a1b\U0000003dc2d\u{2f}e3f`, true},
		"URL, in old JavaScript":       {`sk-a1b%u003dc2d%u002fe3f`, true},
		"quoted-printable":             {`sk-a1b=3Dc2d=2Fe3f`, true},
		"full width":                   {`ｓｋ－ａ１ｂ＝ｃ２ｄ`, true},
		"hexadecimal digits":           {fmt.Sprintf("%X", key), true},
		"short, all of it":             {"key q\u0026w=1", true},
		"short, in JSON":               {`key q\u0026w=1`, true},
		"short, but for its end":       {"key q&w", false},
		"short, other letters":         {"no answer is Empty", false},
		"too short to hide":            {"the abc of it", false},
		"escaped without end":          {"%" + strings.Repeat("25", 40) + "41", true},
	}
	for name, tt := range tests {
		if got := In(tt.text, []string{key + "\n", "q&w=1", "EMPTY", "abc", ""}); got != tt.want {
			t.Errorf("%s: In(%q) = %t", name, tt.text, got)
		}
	}
	if In("%"+strings.Repeat("25", 40)+"41", nil) {
		t.Error("where no credential is, a text is hidden")
	}
}

// encoding is a way to spell a text, and its reader: of one round, of what is left of a
// text too, and written without anything of this package.
type encoding struct {
	name          string
	write, decode func(string) string
}

func encodings() []encoding {
	replaced := func(pattern string, with func(string) string) func(string) string {
		return func(s string) string { return regexp.MustCompile(pattern).ReplaceAllStringFunc(s, with) }
	}
	number := func(digits string) string {
		n, _ := strconv.ParseUint(digits, 16, 32)
		return string(rune(n))
	}
	unquoted := replaced(`(?s)\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)`, func(m string) string {
		if len(m) > 2 {
			return number(m[2:])
		}
		return m[1:]
	})
	percent := replaced(`%[0-9a-fA-F]{2}`, func(m string) string { return number(m[1:]) })
	asJSON := func(s string) string {
		text, _ := json.Marshal(s)
		return string(text[1 : len(text)-1])
	}
	return []encoding{
		{"JSON", asJSON, unquoted},
		{"JSON with slashes", func(s string) string { return strings.ReplaceAll(asJSON(s), "/", `\/`) }, unquoted},
		{"JSON object", func(s string) string { return `{"error":"bad ` + asJSON(s) + `"}` }, unquoted},
		{"all in \\u", replacedBytes(`\u%04x`), unquoted},
		{"all in \\x", replacedBytes(`\x%02X`), unquoted},
		{"Go", func(s string) string { return strconv.Quote(s) }, unquoted},
		{"HTML", html.EscapeString, html.UnescapeString},
		{"HTML, decimal", replacedBytes("&#%d;"), html.UnescapeString},
		{"HTML, hexadecimal", replacedBytes("&#x%X;"), html.UnescapeString},
		{"query", url.QueryEscape, func(s string) string { return percent(strings.ReplaceAll(s, "+", " ")) }},
		{"path", url.PathEscape, percent},
		{"path, small", func(s string) string {
			return regexp.MustCompile(`%..`).ReplaceAllStringFunc(url.PathEscape(s), strings.ToLower)
		}, percent},
	}
}

// replacedBytes writes every sign of ASCII in one form.
func replacedBytes(form string) func(string) string {
	return func(s string) string {
		return regexp.MustCompile(`[!-/:-@\[-`+"`"+`{-~]`).ReplaceAllStringFunc(s, func(c string) string { return fmt.Sprintf(form, c[0]) })
	}
}

// repeated is a secret as it may come back, and how a reader takes that back.
type repeated struct {
	secret, text string
	stack        []encoding
}

// anyRepeated spells a random secret in random ways, and cuts or stars out a part.
func anyRepeated(r *rand.Rand) repeated {
	alphabets := []string{
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
		"abcdefghijklmnopqrstuvwxyz0123456789-_./+=",
		"abcXYZ019!\"#$&'()*+,-./:;<=>?@[]^_`{|}~",
	}
	alphabet := alphabets[r.IntN(len(alphabets))]
	secret := make([]byte, 8+r.IntN(40))
	for i := range secret {
		secret[i] = alphabet[r.IntN(len(alphabet))]
	}
	e := repeated{secret: string(secret)}
	text, all := "key "+e.secret+" is wrong", encodings()
	for range r.IntN(5) {
		e.stack = append(e.stack, all[r.IntN(len(all))])
		text = e.stack[len(e.stack)-1].write(text)
	}
	switch from, to := r.IntN(len(text)), r.IntN(len(text)); {
	case r.IntN(3) == 0:
	case from < to:
		text = text[from:to]
	default:
		text = text[:to] + "***" + text[from:]
	}
	e.text = text[:min(len(text), 256)]
	return e
}

// read is the longest piece of the secret that a reader gets out of the text, by taking
// off the spellings that were put on, one or all of them.
func (e repeated) read() string {
	longest, text := "", e.text
	for i := len(e.stack); ; i-- {
		for from := range e.secret {
			for to := len(e.secret); to-from > len(longest); to-- {
				if strings.Contains(text, e.secret[from:to]) {
					longest = e.secret[from:to]
				}
			}
		}
		if i == 0 {
			return longest
		}
		text = e.stack[i-1].decode(text)
	}
}

// TestNoSpellingTells: of no text that is shown a reader gets eight bytes in a row of a
// secret, whatever was around it.
func TestNoSpellingTells(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	hidden := 0
	for range 3000 {
		e := anyRepeated(r)
		if In(e.text, []string{"other-secret", e.secret}) {
			hidden++
			continue
		}
		if got := e.read(); len(got) >= piece {
			names := ""
			for _, s := range e.stack {
				names += " " + s.name
			}
			t.Fatalf("%q of the secret %q can be read from %q (%s)", got, e.secret, e.text, names)
		}
	}
	if hidden < 1500 || hidden > 2999 {
		t.Errorf("%d of 3000 texts are hidden: the test tells little", hidden)
	}
}

// FuzzIn: a secret that stands in a text is found, in bounded time, and what repeats
// nothing is not hidden.
func FuzzIn(f *testing.F) {
	f.Add("invalid key ", "sk-12345678", " for this")
	f.Add("aaaa", "aaaa", "")
	f.Add(`\u00`, `3d%25\`, `&#x3`)
	f.Add("\xff\xfe", "\xff\xfe\x00\x01", "&amp")
	f.Fuzz(func(t *testing.T, before, secret, after string) {
		trimmed := strings.TrimSpace(secret)
		if found := In(before+secret+after, []string{secret}); !found && len(trimmed) >= minSecret {
			t.Errorf("%q is not found in %q", secret, before+secret+after)
		}
		if In(before, []string{"", "abc"}) {
			t.Errorf("%q is hidden without a secret", before)
		}
	})
}

// A text of the largest size that is looked at takes milliseconds, however it is nested.
func BenchmarkIn(b *testing.B) {
	token := strings.Repeat("eyJhbGciOiJSUzI1NiJ9-", 100)
	for name, text := range map[string]string{
		"plain":  strings.Repeat("the model does not exist. ", 10),
		"nested": strings.Repeat("%2525253d", 28),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				In(text, []string{"sk-0123456789abcdefghijklmnopqrstuvwxyz", token})
			}
		})
	}
}
