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

	"github.com/alecthomas/kingpin/v2"
)

// seconds is a duration as 120s, or in plain seconds as evalscope and vLLM write
// it.
type seconds time.Duration

func (s *seconds) String() string { return time.Duration(*s).String() }

func (s *seconds) Set(text string) error {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		if !(n >= 0) || n > math.MaxInt64/float64(time.Second) {
			return fmt.Errorf("%q is no duration", text)
		}
		*s = seconds(n * float64(time.Second))
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("%q is no duration such as 90s, 2m or 120 (seconds)", text)
	}
	*s = seconds(d)
	return nil
}

// levels is a list of positive numbers: comma-separated, or the flag repeated.
type levels []int

func (l *levels) String() string { return fmt.Sprint(*l) }

// IsCumulative lets the flag be repeated.
func (l *levels) IsCumulative() bool { return true }

func (l *levels) Set(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 {
			return fmt.Errorf("%q is no number of users above 0, nor a list of such", text)
		}
		*l = append(*l, n)
	}
	return nil
}

// rates is a list of requests a second, inf among them.
type rates []float64

func (r *rates) String() string { return fmt.Sprint(*r) }

// IsCumulative lets the flag be repeated.
func (r *rates) IsCumulative() bool { return true }

func (r *rates) Set(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		x, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || !(x > 0) {
			return fmt.Errorf("%q is no rate above 0 (or inf), nor a list of such", text)
		}
		*r = append(*r, x)
	}
	return nil
}

// percentiles is a comma-separated list, as vLLM's --metric-percentiles.
type percentiles []float64

func (p *percentiles) String() string { return fmt.Sprint(*p) }

func (p *percentiles) Set(text string) error {
	*p = nil
	for part := range strings.SplitSeq(text, ",") {
		x, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || !(x > 0 && x < 100) {
			return fmt.Errorf("%q is no list of percentiles between 0 and 100", text)
		}
		*p = append(*p, x)
	}
	return nil
}

// words is a comma-separated list out of a fixed set.
type words struct {
	all  []string
	list []string
}

func (w *words) String() string { return strings.Join(w.list, ",") }

// Values are what completion offers, for each part of the list.
func (w *words) Values() []string { return w.all }

// IsList tells completion that several may be given, with commas between.
func (w *words) IsList() bool { return true }

func (w *words) Set(text string) error {
	w.list = nil
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if !slices.Contains(w.all, part) {
			return fmt.Errorf("unknown value %q: use %s", part, oneOf(w.all))
		}
		w.list = append(w.list, part)
	}
	return nil
}

// pairs are KEY=VALUE, repeated.
type pairs map[string]string

func (p *pairs) String() string { return "" } // headers may hold secrets

// IsCumulative lets the flag be repeated.
func (p *pairs) IsCumulative() bool { return true }

func (p *pairs) Set(text string) error {
	key, value, ok := strings.Cut(text, "=")
	if !ok || key == "" {
		return errors.New("want KEY=VALUE")
	}
	if *p == nil {
		*p = pairs{}
	}
	(*p)[key] = value
	return nil
}

// value puts a [kingpin.Value] behind a flag.
func value(f *kingpin.FlagClause, v kingpin.Value) {
	f.SetValue(named{Value: v, flag: f.Model().Name})
}

// named says which flag was wrong.
type named struct {
	kingpin.Value
	flag string
}

func (n named) Set(text string) error {
	if err := n.Value.Set(text); err != nil {
		return fmt.Errorf("--%s: %w", n.flag, err)
	}
	return nil
}

// IsCumulative lets the flag be repeated where its value does.
func (n named) IsCumulative() bool {
	c, ok := n.Value.(interface{ IsCumulative() bool })
	return ok && c.IsCumulative()
}

// choice is one word out of a fixed set.
type choice struct {
	into *string
	all  []string
	what string // a choice is of, "value" if empty
}

func (c choice) String() string { return *c.into }

func (c choice) Set(text string) error {
	if !slices.Contains(c.all, text) {
		return fmt.Errorf("unknown %s %q: use %s", cmp.Or(c.what, "value"), text, oneOf(c.all))
	}
	*c.into = text
	return nil
}

// oneOf lists words, as "a, b or c".
func oneOf(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Values are what completion offers.
func (c choice) Values() []string { return c.all }

// known is a word that need not be one of those that completion offers.
type known struct {
	into *string
	some []string
}

func (k known) String() string { return *k.into }

func (k known) Set(text string) error {
	*k.into = text
	return nil
}

// Values are what completion offers.
func (k known) Values() []string { return k.some }

// path is the name of a file or folder, which completion looks up.
type path string

func (p *path) String() string { return string(*p) }

func (p *path) Set(text string) error {
	*p = path(text)
	return nil
}

// IsPath tells completion what the value is.
func (p *path) IsPath() bool { return true }

// paths are the names of files or folders, the argument repeated for each.
type paths []string

func (p *paths) String() string { return strings.Join(*p, " ") }

// IsCumulative lets the argument be repeated.
func (p *paths) IsCumulative() bool { return true }

func (p *paths) Set(text string) error {
	*p = append(*p, text)
	return nil
}

// IsPath tells completion what the value is.
func (p *paths) IsPath() bool { return true }

// names are words, the flag repeated for each.
type names []string

func (n *names) String() string { return strings.Join(*n, " ") }

// IsCumulative lets the flag be repeated.
func (n *names) IsCumulative() bool { return true }

func (n *names) Set(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("a name is empty")
	}
	*n = append(*n, text)
	return nil
}

// ratio is a share of a length, or vLLM's JSON object with one for input and
// output each.
type ratio float64

func (r *ratio) String() string { return fmt.Sprint(float64(*r)) }

func (r *ratio) Set(text string) error {
	share, err := strconv.ParseFloat(text, 64)
	if err != nil {
		var both struct{ Input, Output *float64 }
		if json.Unmarshal([]byte(text), &both) != nil || both.Input == nil || both.Output == nil {
			return fmt.Errorf("%q is no share from 0 to below 1", text)
		}
		if *both.Input != *both.Output {
			return errors.New("one share for input and output is all that there is: give a number")
		}
		share = *both.Input
	}
	if !(share >= 0 && share <= 1) {
		return fmt.Errorf("%q is no share from 0 to below 1", text)
	}
	*r = ratio(share)
	return nil
}
