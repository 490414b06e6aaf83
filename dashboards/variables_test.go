package dashboards_test

import (
	"net/url"
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
				if v.IncludeAll != v.Multi || v.AllValue != all {
					t.Errorf("%s: all %t is %q, several %t", v.Name, v.IncludeAll, v.AllValue, v.Multi)
				}
			case "custom", "interval":
				// Grafana 9 does not make the options from the query.
				var options []string
				var written []string
				for _, o := range v.Options {
					options = append(options, o.Value)
					if o.Text != o.Value {
						o.Value = o.Text + " : " + o.Value
					}
					written = append(written, o.Value)
				}
				if strings.Join(written, ",") != queryOf(v) {
					t.Errorf("%s: options %q, query %q", v.Name, written, queryOf(v))
				}
				if current, ok := v.Current.Value.(string); !ok || !slices.Contains(options, current) {
					t.Errorf("%s: %v is none of %q", v.Name, v.Current.Value, options)
				}
			default:
				t.Errorf("%s is of type %q", v.Name, v.Type)
			}
			before = append(before, v.Name)
		}
	})
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

// TestDataLinks follows the links from values: the dashboard is there, has the variables that are set, and the values can be had.
func TestDataLinks(t *testing.T) {
	targets := map[string]board{}
	for _, b := range boards(t) {
		targets[b.UID] = b
	}
	followed := 0
	eachPanel(t, func(t *testing.T, b board, p panel) {
		for _, l := range linksOf(t, p) {
			followed++
			path, query, _ := strings.Cut(l.URL, "?")
			uid, ok := strings.CutPrefix(path, "/d/")
			to, known := targets[uid]
			if !ok || !known || l.Title == "" {
				t.Fatalf("link %q to %q", l.Title, l.URL)
			}
			var sets []string
			for part := range strings.SplitSeq(query, "&") {
				sets = append(sets, checkLinkPart(t, b, p, part))
			}
			for _, name := range sets {
				if name != "" && !slices.Contains(defined(to), name) {
					t.Errorf("link %q sets %s, which %s does not have", l.Title, name, uid)
				}
			}
			if !slices.Contains(sets, "datasource") || !strings.Contains(query, "${__url_time_range}") {
				t.Errorf("link %q loses data source or time range: %s", l.Title, query)
			}
		}
	})
	if followed == 0 {
		t.Error("no links")
	}
}

// checkLinkPart returns the variable that a part of a link's query sets.
func checkLinkPart(t *testing.T, b board, p panel, part string) string {
	t.Helper()
	if m := reference.FindStringSubmatch(part); m != nil && m[3] == "queryparam" && m[0] == part {
		if !slices.Contains(defined(b), m[2]) {
			t.Errorf("%s is no variable here", part)
		}
		return m[2]
	}
	if part == "${__url_time_range}" {
		return ""
	}
	name, value, ok := strings.Cut(part, "=")
	set, isVar := strings.CutPrefix(name, "var-")
	if _, err := url.ParseQuery(name + "=x"); !ok || !isVar || err != nil {
		t.Errorf("part %q", part)
	}
	from, isReference := strings.CutSuffix(strings.TrimPrefix(value, "${"), "}")
	label, ofSeries := strings.CutPrefix(from, "__field.labels.")
	column, ofRow := strings.CutPrefix(from, "__data.fields.")
	switch {
	case isReference && ofSeries && p.Type != "table":
		// What a legend names is in the query's result: the test of all queries sees to that.
		for _, q := range p.Targets {
			// "at" is made of the instance.
			told := strings.Replace(q.LegendFormat, "{{at}}", "{{instance}}", 1)
			if !unlinked(p, q) && !strings.Contains(told, "{{"+label+"}}") {
				t.Errorf("%s: the legend %q does not tell %s, which the link takes", q.RefID, q.LegendFormat, label)
			}
		}
	case isReference && ofRow && p.Type == "table":
		if !slices.ContainsFunc(p.Transformations, func(tr transformation) bool { return slices.Contains(tr.Options.Include.Names, column) }) {
			t.Errorf("the rows have no %s", column)
		}
	default:
		t.Errorf("value %q in a %s", value, p.Type)
	}
	return set
}

// unlinked reports whether an override takes the panel's links off the series of a query.
func unlinked(p panel, q target) bool {
	for _, o := range p.FieldConfig.Overrides {
		if o.Matcher.ID != "byFrameRefID" || o.Matcher.Options != q.RefID {
			continue
		}
		for _, property := range o.Properties {
			if list, ok := property.Value.([]any); ok && property.ID == "links" && len(list) == 0 {
				return true
			}
		}
	}
	return false
}

// linksOf returns the links of all values of a panel and of single series and columns.
func linksOf(t *testing.T, p panel) []link {
	t.Helper()
	all := slices.Clone(p.FieldConfig.Defaults.Links)
	for _, o := range p.FieldConfig.Overrides {
		for _, property := range o.Properties {
			if property.ID != "links" {
				continue
			}
			list, ok := property.Value.([]any)
			if !ok {
				t.Fatalf("links %v", property.Value)
			}
			for _, l := range list {
				fields, _ := l.(map[string]any)
				title, _ := fields["title"].(string)
				address, _ := fields["url"].(string)
				all = append(all, link{Title: title, URL: address})
			}
		}
	}
	return all
}
