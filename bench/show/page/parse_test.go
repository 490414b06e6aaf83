package page_test

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// parsed is what a reader finds on a page.
type parsed struct {
	title  string
	texts  []string // of dt, dd, p, code, th and td
	items  []string // of li
	tables map[string][][]string
}

// parser reads a page as XML, which it is written to be, and fails the test on
// whatever could run, load, lead elsewhere, or not be read aloud.
type parser struct {
	t       *testing.T
	page    parsed
	text    strings.Builder
	caption string
	ids     []string
	links   []string
}

func parse(t *testing.T, source string) *parsed {
	t.Helper()
	p := &parser{t: t, page: parsed{tables: map[string][][]string{}}}
	d := xml.NewDecoder(strings.NewReader(source))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("page is not well formed: %v", err)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			p.start(tok)
		case xml.EndElement:
			p.end(tok.Name.Local)
		case xml.CharData:
			p.text.Write(tok)
		}
	}
	for _, l := range p.links {
		if !slices.Contains(p.ids, l) {
			t.Errorf("link to #%s leads nowhere", l)
		}
	}
	if !strings.Contains(source, `content="default-src 'none'; style-src 'unsafe-inline'; img-src data:;`) {
		t.Error("no content security policy")
	}
	return &p.page
}

func (p *parser) start(e xml.StartElement) {
	name := e.Name.Local
	allowed := strings.Fields(`html head meta title style body header main section footer h1 h2 h3 p a dl dt dd ul li
		pre code div details summary table caption thead tbody tr th td svg g path text`)
	if !slices.Contains(allowed, name) {
		p.t.Fatalf("element %s on the page", name)
	}
	attr := map[string]string{}
	for _, a := range e.Attr {
		attr[a.Name.Local] = a.Value
		if a.Name.Local == "src" || strings.HasPrefix(a.Name.Local, "on") || strings.Contains(a.Value, "url(") {
			p.t.Errorf("attribute %s=%q of %s", a.Name.Local, a.Value, name)
		}
	}
	if id := attr["id"]; id != "" {
		if slices.Contains(p.ids, id) {
			p.t.Errorf("two elements are #%s", id)
		}
		p.ids = append(p.ids, id)
	}
	switch name {
	case "a":
		target, ok := strings.CutPrefix(attr["href"], "#")
		if !ok {
			p.t.Errorf("link to %q", attr["href"])
		}
		p.links = append(p.links, target)
	case "html":
		p.must(attr["lang"] == "en", "html without lang")
	case "th":
		p.must(attr["scope"] == "col" || attr["scope"] == "row", "th without scope")
	case "svg":
		p.must(attr["role"] == "img" && attr["aria-label"] != "", "drawing without a text")
	case "tr":
		p.page.tables[p.caption] = append(p.page.tables[p.caption], nil)
	case "table":
		p.caption = ""
	}
	if name != "a" {
		p.text.Reset()
	}
}

func (p *parser) must(ok bool, what string) {
	if !ok {
		p.t.Error(what)
	}
}

func (p *parser) end(name string) {
	text := strings.TrimSpace(p.text.String())
	switch name {
	case "title":
		p.page.title = text
	case "caption":
		p.caption = text
		delete(p.page.tables, text) // of the step before
	case "th", "td":
		rows := p.page.tables[p.caption]
		rows[len(rows)-1] = append(rows[len(rows)-1], text)
		p.page.texts = append(p.page.texts, text)
	case "dt", "dd", "p", "code":
		p.page.texts = append(p.page.texts, text)
	case "li":
		p.page.items = append(p.page.items, text)
	case "style":
		for _, bad := range []string{"@import", "url(", "http"} {
			p.must(!strings.Contains(text, bad), "style holds "+bad)
		}
	}
}
