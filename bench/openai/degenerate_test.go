package openai

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Answers that a broken engine gives, and good ones that look like them.
func TestDegenerate(t *testing.T) {
	const word = "一封信从一个镇到另一个镇，"
	for text, want := range map[string]string{
		strings.Repeat("!", 64):                          `'!' makes 64 of 64 characters`,
		strings.Repeat("! ", 15) + "ok!":                 "",
		strings.Repeat("!", 18) + "ok":                   `'!' makes 18 of 20 characters`,
		strings.Repeat("的\n", 16):                        `'的' makes 16 of 16 characters`,
		strings.Repeat("!", 15):                          "",
		strings.Repeat("the ", 16):                       `"the" makes all 48 characters`,
		strings.Repeat("the ", 15) + "th":                "",
		strings.Repeat("abcdefgh", 6) + "abc":            `"abcdefgh" makes all 51 characters`,
		strings.Repeat("abcdefghi", 6):                   "",
		strings.Repeat("|---", 16) + "|":                 `"|---" makes all 65 characters`,
		"| a | b |\n" + strings.Repeat("|---", 12) + "|": "",
		word + "\uFFFD\uFFFD" + word[:6]:                 `U+FFFD makes 2 of 17 characters`,
		"你好\uFFFD\uFFFD\uFFFD":                           "", // max_tokens cut a character
		"\xff\xfeab":                                     `U+FFFD makes 2 of 4 characters`,
		word:                                             "",
		"":                                               "",
		"哈哈哈哈哈哈，真好笑":                                     "",
	} {
		equal(t, fmt.Sprintf("%q", text), want, Degenerate(text))
	}
}

// Real text in the lengths of answers: ours in Chinese and English, code, tables of dashes, JSON and YAML.
func TestNothingRealIsDegenerate(t *testing.T) {
	answers := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !regexp.MustCompile(`\.(go|md|json|jsonl|yml|yaml|html|sh)$`).MatchString(path) {
			return err
		}
		text, err := os.ReadFile(path)
		all := []rune(string(text))
		for _, length := range []int{100, 250, 1200} {
			for start := 0; start < min(len(all), 100_000); start += 2*length + 1 {
				answers++
				if why := Degenerate(string(all[start:min(start+length, len(all))])); why != "" {
					t.Errorf("%s at %d, %d characters: %s", path, start, length, why)
				}
			}
		}
		return err
	})
	if err != nil || answers < 10_000 {
		t.Errorf("%d answers, %v", answers, err)
	}
}
