// Package dashboards holds the Grafana dashboards: each is written in Go, and generated into the JSON under grafana/ that users import.
package dashboards

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/table"
)

const (
	// oldestGrafana is written as every panel's version: newer Grafanas convert from it, and it needs no converting itself.
	oldestGrafana = "9.3.0"
	// oldestSchema is the dashboard schema of oldestGrafana. A later one would make newer Grafanas skip the conversions it needs.
	oldestSchema = 37

	tag = "accelerator"
)

type (
	panel    = cog.Builder[dashboard.Panel]
	variable = cog.Builder[dashboard.VariableModel]
)

// page is one dashboard before it is laid out.
type page struct {
	uid, title, description string // the uid is part of links that users keep: it never changes
	refresh, from           string // from is the start of the time range that it opens with, such as now-1h
	variables               []variable
	scope                   string // what goes along to the other dashboards, as linksTo says
	rows                    []row
}

// row is a titled band of panels; they flow left to right and wrap at the grid's width. Without a title they stand above
// all rows. A folded one shows its title until it is opened, and asks Prometheus nothing until then.
type row struct {
	title  string
	panels []panel
	folded bool
}

func openRow(title string, panels ...panel) row { return row{title: title, panels: panels} }
func foldedRow(title string, panels ...panel) row {
	return row{title: title, panels: panels, folded: true}
}

// Dashboard is a finished dashboard.
type Dashboard struct {
	File string // name under grafana/
	JSON []byte
}

// All returns every dashboard, the one to open first first.
func All() ([]Dashboard, error) {
	pages := []page{loadLatency(), fleet(), card(), numa(), benchmark()}
	var all []Dashboard
	for _, p := range pages {
		data, err := p.json(p.linksTo(pages))
		if err != nil {
			return nil, fmt.Errorf("building %s: %w", p.uid, err)
		}
		all = append(all, Dashboard{File: strings.TrimPrefix(p.uid, tag+"-") + ".json", JSON: data})
	}
	return all, nil
}

func (p page) json(links []cog.Builder[dashboard.DashboardLink]) ([]byte, error) {
	builder := dashboard.NewDashboardBuilder(p.title).
		Uid(p.uid).
		Description(p.description).
		Tags([]string{tag}).
		Time(p.from, "now").
		Refresh(p.refresh).
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		Links(links).
		Variables(p.variables)
	for _, r := range p.rows {
		r.addTo(builder)
	}
	built, err := builder.Build()
	if err != nil {
		return nil, err
	}
	built.SchemaVersion = oldestSchema
	number(built.Panels)
	dropIntervals(built.Templating.List)
	return encodeJSON(built)
}

// dropIntervals takes the steps of an interval, which the SDK writes for each variable, off those that are none.
func dropIntervals(variables []dashboard.VariableModel) {
	for i := range variables {
		if v := &variables[i]; v.Type != dashboard.VariableTypeInterval {
			v.Auto, v.AutoMin, v.AutoCount = nil, nil, nil
		}
	}
}

// encodeJSON writes JSON with sorted keys, and with PromQL's < and > as they are: the SDK's own encoding would escape them.
func encodeJSON(built dashboard.Dashboard) ([]byte, error) {
	escaped, err := json.Marshal(built)
	if err != nil {
		return nil, err
	}
	var decoded map[string]any
	if err := json.Unmarshal(escaped, &decoded); err != nil {
		return nil, err
	}
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err = encoder.Encode(decoded)
	return []byte(out.String()), err
}

// addTo adds the row's panels, which the builder puts from left to right.
func (r row) addTo(builder *dashboard.DashboardBuilder) {
	header := dashboard.NewRowBuilder(r.title)
	if r.folded {
		for _, p := range r.panels {
			header.WithPanel(p)
		}
		builder.WithRow(header.Collapsed(true))
		return
	}
	if r.title != "" {
		builder.WithRow(header)
	}
	for _, p := range r.panels {
		builder.WithPanel(p)
	}
}

// number gives panels what the builder leaves open: the id, and the version of their options. A table's footer is in newer
// Grafanas a setting of its fields.
func number(all []dashboard.PanelOrRowPanel) {
	var id uint32
	finish := func(p *dashboard.Panel) {
		id++
		p.Id, p.PluginVersion, p.RepeatDirection = cog.ToPtr(id), cog.ToPtr(oldestGrafana), nil
		if t, ok := p.Options.(*table.Options); ok {
			t.Footer = nil
		}
	}
	for _, p := range all {
		if p.Panel != nil {
			finish(p.Panel)
			continue
		}
		id++
		p.RowPanel.Id = id
		for i := range p.RowPanel.Panels {
			finish(&p.RowPanel.Panels[i])
		}
	}
}
