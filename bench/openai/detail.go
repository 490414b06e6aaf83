package openai

import (
	"strings"
	"unicode/utf8"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/credential"
	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/plaintext"
)

const maxDetail = 256 // bytes of a Failure's Detail

// cleanDetail makes text fit for a log line and a landing page: one line of valid UTF-8,
// at most maxDetail bytes, and none of it where that repeats a secret.
func cleanDetail(text string, secrets []string) string {
	text = plaintext.Line(strings.TrimSpace(text[:min(len(text), maxRaw)]))
	if len(text) > maxDetail {
		cut := maxDetail
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut]
	}
	if credential.In(text, secrets) {
		return credential.Hidden
	}
	return text
}
