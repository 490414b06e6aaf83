package dashboards_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// No digit first: $1 is label_replace's.
	reference = regexp.MustCompile(`\$([a-z_]\w*)|\$\{([\w.]+)(?::(\w+))?\}`)
	// A matcher on a label whose values differ from installation to installation.
	local = regexp.MustCompile(`\b(job|instance|target|model|model_name|device|step|bus_id|uuid)\s*(=~|!~|!=|=)\s*"([^"]*)"`)
	// An address anywhere in a query.
	address = regexp.MustCompile(`localhost|\d+\.\d+\.\d+\.\d+`)
)

// Macros that are used. More would make the tests against a real Prometheus, which replace them, less plain.
var macros = []string{"__rate_interval", "__range", "__interval"}

// references returns the names of the variables and macros in s.
func references(s string) []string {
	var names []string
	for _, m := range reference.FindAllStringSubmatch(s, -1) {
		names = append(names, m[1]+m[2])
	}
	return names
}

func queryOf(v variable) string {
	switch q := v.Query.(type) {
	case string:
		return q
	case map[string]any:
		s, _ := q["query"].(string)
		return s
	}
	return ""
}

func defined(b board) []string {
	var names []string
	for _, v := range b.Templating.List {
		names = append(names, v.Name)
	}
	return names
}

func TestVariables(t *testing.T) {
	eachBoard(t, func(t *testing.T, b board) {
		var before []string
		for _, v := range b.Templating.List {
			if slices.Contains(before, v.Name) {
				t.Errorf("%s is defined twice", v.Name)
			}
			if v.Label == "" {
				t.Errorf("%s has no label", v.Name)
			}
			switch v.Type {
			case "datasource":
				if v.Name != "datasource" || v.Query != "prometheus" || len(before) > 0 {
					t.Errorf("data source variable %+v after %q", v, before)
				}
			case "query":
				query := queryOf(v)
				if !strings.HasPrefix(query, "label_values(") && (!strings.HasPrefix(query, "query_result(") || v.Regex == "") {
					t.Errorf("%s: query %q", v.Name, query)
				}
				for _, name := range references(query) {
					if !slices.Contains(before, name) && !slices.Contains(macros, name) {
						t.Errorf("%s depends on %s, which does not stand before it", v.Name, name)
					}
				}
				if v.Datasource != usedSource || v.Refresh == 0 {
					t.Errorf("%s: data source %+v, refresh %d", v.Name, v.Datasource, v.Refresh)
				}
				// What a query_result chose from is no pattern: all of it is a list.
				all := map[bool]string{true: ".*"}[v.IncludeAll && v.Regex == ""]
				// A target alone begins with one, and may be several.
				if v.IncludeAll != (v.Multi && v.Name != "target") || v.AllValue != all {
					t.Errorf("%s: all %t is %q, several %t", v.Name, v.IncludeAll, v.AllValue, v.Multi)
				}
			case "interval": // Grafana 9 does not make the options from the query
				var options []string
				for _, o := range v.Options {
					options = append(options, o.Value)
				}
				if current, _ := v.Current.Value.(string); strings.Join(options, ",") != queryOf(v) || !slices.Contains(options, current) {
					t.Errorf("%s: %q, options %q, query %q", v.Name, current, options, queryOf(v))
				}
			default:
				t.Errorf("%s is of type %q", v.Name, v.Type)
			}
			before = append(before, v.Name)
		}
	})
}

// TestHead: what the first dashboard asks of whoever opens it are host, target and window.
func TestHead(t *testing.T) {
	for _, b := range boards(t) {
		var shown []string
		for _, v := range b.Templating.List {
			if v.Hide == 0 {
				shown = append(shown, v.Name)
			}
		}
		if b.file == "load-latency.json" && !slices.Equal(shown, []string{"instance", "target", "window"}) || len(shown) > 5 {
			t.Errorf("%s has %q in its head", b.file, shown)
		}
	}
}

func TestVariablesAreUsed(t *testing.T) {
	eachBoard(t, func(t *testing.T, b board) {
		used := map[string]bool{"datasource": true} // as every panel's, see TestPanel
		for _, p := range b.all() {
			for _, q := range p.Targets {
				for _, name := range references(q.Expr) {
					used[name] = true
					if !slices.Contains(defined(b), name) && !slices.Contains(macros, name) {
						t.Errorf("%s %s: $%s is not defined", p.Title, q.RefID, name)
					}
				}
			}
		}
		for _, v := range b.Templating.List {
			for _, name := range references(queryOf(v)) {
				used[name] = used[name] || v.Name != name && hidden(b, name)
			}
		}
		for _, name := range defined(b) {
			if !used[name] {
				t.Errorf("$%s is in no query", name)
			}
		}
	})
}

// hidden reports whether a variable only says what another is chosen among.
func hidden(b board, name string) bool {
	return slices.ContainsFunc(b.Templating.List, func(v variable) bool { return v.Name == name && v.Hide == 2 })
}

func TestNothingIsHardCoded(t *testing.T) {
	check := func(t *testing.T, where, query string) {
		t.Helper()
		for _, m := range local.FindAllStringSubmatch(query, -1) {
			if m[3] != "" && !strings.HasPrefix(m[3], "$") {
				t.Errorf("%s: matcher %s", where, m[0])
			}
			if strings.HasPrefix(m[3], "$") && !strings.HasSuffix(m[2], "~") {
				t.Errorf("%s: matcher %s fails with several values", where, m[0])
			}
		}
		// Of a pattern for the exporter's own machine.
		query = strings.ReplaceAll(query, `127\\.0\\.0\\.1|localhost|`, "")
		if m := address.FindString(query); m != "" {
			t.Errorf("%s: %s", where, m)
		}
	}
	eachBoard(t, func(t *testing.T, b board) {
		for _, v := range b.Templating.List {
			check(t, "$"+v.Name, queryOf(v))
		}
		for _, p := range b.all() {
			for _, q := range p.Targets {
				check(t, p.Title+" "+q.RefID, q.Expr)
			}
		}
	})
}

// TestLinks: each dashboard leads to all others and each link to one that there is. What it sets is a variable there, what it
// takes along one here, and what it takes from a row a column of the data.
func TestLinks(t *testing.T) {
	to := map[string]board{}
	for _, b := range boards(t) {
		to[b.UID] = b
	}
	set, taken := regexp.MustCompile(`var-(\w+)=`), regexp.MustCompile(`\$\{(\w+):(?:queryparam|percentencode)\}`)
	check := func(t *testing.T, b board, url string) {
		t.Helper()
		uid, query, _ := strings.Cut(strings.TrimPrefix(url, "/d/"), "?")
		if to[uid].UID == "" || !strings.HasPrefix(query, "${datasource:queryparam}&") {
			t.Errorf("%s leads nowhere or loses the data source", url)
		}
		for _, m := range set.FindAllStringSubmatch(query, -1) {
			if !slices.Contains(defined(to[uid]), m[1]) {
				t.Errorf("%s sets %s, which is no variable there", url, m[1])
			}
		}
		for _, m := range taken.FindAllStringSubmatch(query, -1) {
			if !slices.Contains(defined(b), m[1]) {
				t.Errorf("%s takes %s, which is no variable here", url, m[1])
			}
		}
	}
	eachBoard(t, func(t *testing.T, b board) {
		if len(b.Links) != len(uids)-1 {
			t.Errorf("%d links in its head, want one to every other dashboard", len(b.Links))
		}
		for _, l := range b.Links {
			if l.Type != "link" || l.Title == "" || !l.KeepTime || l.IncludeVars || l.Placement != nil {
				t.Errorf("link %+v", l)
			}
			check(t, b, l.URL)
		}
	})
	address, field := regexp.MustCompile(`/d/accelerator-[^ \]]*`), regexp.MustCompile(`__data\.fields\.(\w+)`)
	eachPanel(t, func(t *testing.T, b board, p panel) {
		for _, url := range address.FindAllString(fmt.Sprint(p.FieldConfig), -1) {
			check(t, b, url)
			for _, m := range field.FindAllStringSubmatch(url, -1) {
				if !slices.ContainsFunc(p.Transformations, func(tr transformation) bool { return slices.Contains(tr.Options.Include.Names, m[1]) }) {
					t.Errorf("the rows have no %s, which %s takes", m[1], url)
				}
			}
		}
	})
}
