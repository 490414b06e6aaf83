package dashboards

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

const (
	// oldestGrafana is written as every panel's version: newer Grafanas convert from it, and it needs no converting itself.
	oldestGrafana = "9.3.0"
	// oldestSchema is the dashboard schema of oldestGrafana. A later one would make newer Grafanas skip the conversions it needs.
	oldestSchema = 37

	columns = 24
	tag     = "accelerator"
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
	annotations             []annotation
	rows                    []row
}

// row is a titled band of panels; they flow left to right and wrap at the grid's width. Without a title they stand above
// all rows. A folded one shows its title until it is opened, and asks Prometheus nothing until then.
type row struct {
	title  string
	panels []panel
	folded bool
}

func shown(title string, panels ...panel) row { return row{title: title, panels: panels} }
func folded(title string, panels ...panel) row {
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
	built, err := dashboard.NewDashboardBuilder(p.title).
		Uid(p.uid).
		Description(p.description).
		Tags([]string{tag}).
		Time(p.from, "now").
		Refresh(p.refresh).
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		Links(links).
		Variables(p.variables).
		Build()
	if err != nil {
		return nil, err
	}
	built.SchemaVersion = oldestSchema
	for i := range built.Templating.List {
		if v := &built.Templating.List[i]; v.Type != dashboard.VariableTypeInterval {
			v.Auto, v.AutoMin, v.AutoCount = nil, nil, nil
		}
	}
	if built.Panels, err = arrange(p.rows); err != nil {
		return nil, err
	}
	return readable(built, p.annotations)
}

// readable writes JSON with sorted keys, and with PromQL's < and > as they are: the SDK's own encoding would escape them.
// Annotations are written here, as the SDK's lack what Prometheus' have in Grafana 9.3.
func readable(built dashboard.Dashboard, annotations []annotation) ([]byte, error) {
	escaped, err := json.Marshal(built)
	if err != nil {
		return nil, err
	}
	var decoded map[string]any
	if err := json.Unmarshal(escaped, &decoded); err != nil {
		return nil, err
	}
	decoded["annotations"] = map[string]any{"list": append([]annotation{}, annotations...)}
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err = encoder.Encode(decoded)
	return []byte(out.String()), err
}

// arrange numbers the panels and puts each row's from left to right.
func arrange(rows []row) ([]dashboard.PanelOrRowPanel, error) {
	var out []dashboard.PanelOrRowPanel
	var id, y uint32
	for _, r := range rows {
		header := &dashboard.RowPanel{
			Type: "row", Title: &r.title, Collapsed: r.folded, Panels: []dashboard.Panel{},
			GridPos: &dashboard.GridPos{H: 1, W: columns, Y: y},
		}
		if r.title != "" {
			id++
			header.Id = id
			out = append(out, dashboard.PanelOrRowPanel{RowPanel: header})
			y++
		}
		panels, height, err := place(r.panels, id, y)
		if err != nil {
			return nil, fmt.Errorf("row %q: %w", r.title, err)
		}
		id += uint32(len(panels))
		if r.folded {
			header.Panels = panels
			continue // takes no place until it is opened
		}
		for i := range panels {
			out = append(out, dashboard.PanelOrRowPanel{Panel: &panels[i]})
		}
		y += height
	}
	return out, nil
}

// place gives panels their ids, after the last one, and places from y downwards. It returns the height they take.
func place(panels []panel, id, y uint32) ([]dashboard.Panel, uint32, error) {
	var out []dashboard.Panel
	var x, top, height uint32
	for _, b := range panels {
		built, err := b.Build()
		if err != nil {
			return nil, 0, err
		}
		at := built.GridPos
		if x+at.W > columns {
			x, top, height = 0, top+height, 0
		}
		at.X, at.Y = x, y+top
		x, height = x+at.W, max(height, at.H)
		id++
		built.Id, built.PluginVersion, built.RepeatDirection = cog.ToPtr(id), cog.ToPtr(oldestGrafana), nil
		out = append(out, built)
	}
	return out, top + height, nil
}
