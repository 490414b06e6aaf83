package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// scalar is a value that read makes of its text.
func scalar[T any](into *T, read func(string) (T, error)) flagValue {
	return flagValue{Read: func(text string) error {
		x, err := read(text)
		if err == nil {
			*into = x
		}
		return err
	}}
}

// repeated is a value that adds what read makes of its text, the flag repeated for each.
func repeated[T any](into *[]T, read func(string) (T, error)) flagValue {
	return flagValue{Repeatable: true, Read: func(text string) error {
		x, err := read(text)
		if err == nil {
			*into = append(*into, x)
		}
		return err
	}}
}

// list is a value of parts with commas between, or the flag repeated for each.
func list[T any](into *[]T, read func(string) (T, error)) flagValue {
	part := repeated(into, read)
	return flagValue{Repeatable: true, Read: func(text string) error {
		for word := range strings.SplitSeq(text, ",") {
			if err := part.Read(strings.TrimSpace(word)); err != nil {
				return err
			}
		}
		return nil
	}}
}

// duration is a time as 120s, or in plain seconds as evalscope and vLLM write it.
func duration(into *time.Duration) flagValue { return scalar(into, parseDuration) }

func parseDuration(text string) (time.Duration, error) {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		if !(n >= 0) || n > math.MaxInt64/float64(time.Second) {
			return 0, fmt.Errorf("%q is no duration", text)
		}
		return time.Duration(n * float64(time.Second)), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is no duration such as 90s, 2m or 120 (seconds)", text)
	}
	return d, nil
}

// instant is a time as 2026-03-04T05:06:07Z.
func instant(into *time.Time) flagValue {
	return scalar(into, func(text string) (time.Time, error) {
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return t, fmt.Errorf("%q is no time such as 2026-03-04T05:06:07Z", text)
		}
		return t, nil
	})
}

// number reads what fits; what says what it should have been.
func number(fits func(float64) bool, what string) func(string) (float64, error) {
	return func(text string) (float64, error) {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || !fits(x) {
			return 0, fmt.Errorf("%q is no %s", text, what)
		}
		return x, nil
	}
}

func positive(x float64) bool { return x > 0 }

// users are numbers of them.
func users(into *[]int) flagValue {
	return list(into, func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return 0, fmt.Errorf("%q is no number of users above 0, nor a list of such", text)
		}
		return n, nil
	})
}

// rates are requests a second, inf among them.
func rates(into *[]float64) flagValue {
	return list(into, number(positive, "rate above 0 (or inf), nor a list of such"))
}

// percentiles are a list, once.
func percentiles(into *[]float64) flagValue {
	v := list(into, number(func(x float64) bool { return x > 0 && x < 100 }, "percentile between 0 and 100, nor a list of such"))
	v.Repeatable = false
	return v
}

// parseRatio reads a share of a length, or vLLM's JSON object with one for input and
// output each.
func parseRatio(text string) (float64, error) {
	share, err := strconv.ParseFloat(text, 64)
	if err != nil {
		var both struct{ Input, Output *float64 }
		if json.Unmarshal([]byte(text), &both) != nil || both.Input == nil || both.Output == nil {
			return 0, fmt.Errorf("%q is no share from 0 to below 1", text)
		}
		if *both.Input != *both.Output {
			return 0, errors.New("one share for input and output is all that there is: give a number")
		}
		share = *both.Input
	}
	if !(share >= 0 && share <= 1) {
		return 0, fmt.Errorf("%q is no share from 0 to below 1", text)
	}
	return share, nil
}

// parseName refuses a name that is empty.
func parseName(text string) (string, error) {
	if strings.TrimSpace(text) == "" {
		return "", errors.New("a name is empty")
	}
	return text, nil
}

// anyText takes every text.
func anyText(text string) (string, error) { return text, nil }

// known is a word that need not be one of those that completion offers.
func known(into *string, words ...string) flagValue {
	v := scalar(into, anyText)
	v.Words = words
	return v
}

// choice is one of words. What it is of is told in errors, "value" if empty.
func choice(into *string, what string, words ...string) flagValue {
	v := scalar(into, oneOf(what, words))
	v.Words = words
	return v
}

// oneOf refuses what is none of words.
func oneOf(what string, words []string) func(string) (string, error) {
	return func(text string) (string, error) {
		if !slices.Contains(words, text) {
			last := len(words) - 1
			return "", fmt.Errorf("unknown %s %q: use %s or %s", cmp.Or(what, "value"), text, strings.Join(words[:last], ", "), words[last])
		}
		return text, nil
	}
}

// choices is a list of words, in place of the one that into holds before.
func choices(into *[]string, words ...string) flagValue {
	return flagValue{Words: words, List: true, Read: func(text string) error {
		*into = nil
		return list(into, oneOf("", words)).Read(text)
	}}
}

// filename is that of a file or folder.
func filename(into *string) flagValue {
	v := scalar(into, anyText)
	v.File = true
	return v
}

// filenames are those of files or folders.
func filenames(into *[]string) flagValue {
	v := repeated(into, anyText)
	v.File = true
	return v
}

// secret is a value that no log and no report repeats.
func secret(v flagValue) flagValue {
	v.Secret = true
	return v
}

// pairs are KEY=VALUE, the flag repeated for each.
func pairs(into *map[string]string) flagValue {
	return flagValue{Repeatable: true, Read: func(text string) error {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return errors.New("want KEY=VALUE")
		}
		if *into == nil {
			*into = map[string]string{}
		}
		(*into)[key] = value
		return nil
	}}
}
