package credential

import (
	"html"
	"strconv"
	"strings"
	"unicode/utf16"
)

// unescape takes one round of the escapes of strings (of JSON, Go, Python, a shell), of
// URLs and of HTML off text. What is none stays as it is.
func unescape(text string) string {
	if !strings.ContainsAny(text, `\%&`) {
		return text
	}
	b := make([]byte, 0, len(text))
	for len(text) > 0 {
		n := 0
		switch text[0] {
		case '\\':
			b, n = appendString(b, text)
		case '%':
			if b, n = appendCode(b, text, 1, 2); n == 0 && strings.HasPrefix(text, "%u") {
				b, n = appendUnit(b, text)
			}
		case '&':
			b, n = appendEntity(b, text)
		}
		if n == 0 {
			b, n = append(b, text[0]), 1
		}
		text = text[n:]
	}
	return string(b)
}

// appendString appends what the escape of a string at the beginning of text stands for,
// and says how long the escape is, 0 where it is none.
func appendString(b []byte, text string) ([]byte, int) {
	if len(text) < 2 {
		return b, 0
	}
	switch c := text[1]; {
	case c == 'u' && strings.HasPrefix(text[2:], "{"):
		return appendRune(b, text, 3, strings.IndexByte(text, '}')-3, 1)
	case c == 'u':
		return appendUnit(b, text)
	case c == 'U':
		return appendRune(b, text, 2, 8, 0)
	case c == 'x':
		return appendCode(b, text, 2, 2)
	case c >= '0' && c <= '7':
		return appendOctal(b, text)
	case strings.IndexByte("abfnrtv", c) >= 0:
		return append(b, ' '), 2
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return b, 0
	default:
		return append(b, c), 2
	}
}

// appendCode appends the byte whose hexadecimal digits stand at a place of text.
func appendCode(b []byte, text string, at, digits int) ([]byte, int) {
	code, ok := hexAt(text, at, digits)
	if !ok {
		return b, 0
	}
	return append(b, byte(code)), at + digits
}

// appendRune appends the character whose hexadecimal digits stand at a place of text,
// with so many more bytes behind them.
func appendRune(b []byte, text string, at, digits, more int) ([]byte, int) {
	const longest = 8
	if digits < 1 || digits > longest {
		return b, 0
	}
	code, ok := hexAt(text, at, digits)
	if !ok {
		return b, 0
	}
	return append(b, string(rune(code))...), at + digits + more
}

// appendOctal appends the byte of \0 to \377.
func appendOctal(b []byte, text string) ([]byte, int) {
	n, code := 1, 0
	for ; n < len(text) && n <= 3 && text[n] >= '0' && text[n] <= '7'; n++ {
		code = code<<3 | int(text[n]-'0')
	}
	return append(b, byte(code)), n
}

// unquotePrintable takes quoted-printable's =3D off text, aside: an equals sign is
// common.
func unquotePrintable(text string) string {
	if !strings.Contains(text, "=") {
		return text
	}
	var b []byte
	for len(text) > 0 {
		n := 0
		if text[0] == '=' {
			b, n = appendCode(b, text, 1, 2)
		}
		if n == 0 {
			b, n = append(b, text[0]), 1
		}
		text = text[n:]
	}
	return string(b)
}

// halfWidth puts ASCII for the signs of full width that Chinese and Japanese texts have.
func halfWidth(text string) string {
	const first, last, apart = '！', '～', '！' - '!'
	return strings.Map(func(r rune) rune {
		if r >= first && r <= last {
			return r - apart
		}
		return r
	}, text)
}

// appendUnit appends the character of a \u and four digits, or of two of them that are one.
func appendUnit(b []byte, text string) ([]byte, int) {
	const size = len(`\u003d`)
	unit, ok := hexAt(text, 2, 4)
	if !ok {
		return b, 0
	}
	r, n := rune(unit), size
	if utf16.IsSurrogate(r) && strings.HasPrefix(text[size:], `\u`) {
		if low, ok := hexAt(text, size+2, 4); ok {
			r, n = utf16.DecodeRune(r, rune(low)), 2*size
		}
	}
	return append(b, string(r)...), n
}

// appendEntity appends the character of &#61;, &#x3d; or &equals;.
func appendEntity(b []byte, text string) ([]byte, int) {
	const longest = 34
	end := strings.IndexByte(text[:min(len(text), longest)], ';')
	if end < 0 {
		return b, 0
	}
	entity := text[:end+1]
	plain := html.UnescapeString(entity)
	if strings.HasSuffix(plain, ";") && plain != ";" {
		return b, 0
	}
	return append(b, plain...), len(entity)
}

func hexAt(text string, at, digits int) (uint64, bool) {
	if len(text) < at+digits {
		return 0, false
	}
	code, err := strconv.ParseUint(text[at:at+digits], 16, 32)
	return code, err == nil
}
