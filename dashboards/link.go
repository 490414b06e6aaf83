package dashboards

import (
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// link is a link of the form that every Grafana since 9.3 knows; the SDK's builder would put it into a menu that only the newest have.
type link dashboard.DashboardLink

func (l link) Build() (dashboard.DashboardLink, error) { return dashboard.DashboardLink(l), nil }

// siblings shows all dashboards of this set in the head, and takes time range and variables along.
func siblings() link {
	return link{
		Title: "Accelerator dashboards", Type: dashboard.DashboardLinkTypeDashboards,
		Icon: "external link", Tags: []string{tag}, KeepTime: true, IncludeVars: true,
	}
}

// where says where in the data a link finds its values.
type where string

const (
	ofSeries where = "${__field.labels." // labels of a time series, stat or gauge
	ofRow    where = "${__data.fields."  // cells of a table's row
)

// linkTo leads from a value to another dashboard. The values of names are taken from the data; job and data source go along.
func linkTo(title, uid string, from where, names ...string) link {
	url := []string{"/d/" + uid + "?${datasource:queryparam}", "${job:queryparam}"}
	for _, name := range names {
		url = append(url, "var-"+name+"="+string(from)+name+"}")
	}
	address := strings.Join(append(url, "${__url_time_range}"), "&")
	return link{Title: title, Type: dashboard.DashboardLinkTypeLink, Url: &address, Tags: []string{}}
}

// cardLegend names a card: its labels are those that cardLink takes.
const cardLegend = `{{instance}} {{vendor}} {{device}}`

// cardLink leads to the card that a series or a row is about. The panel's data has the labels instance, vendor and device.
func cardLink(from where) []cog.Builder[dashboard.DashboardLink] {
	return []cog.Builder[dashboard.DashboardLink]{linkTo("Open the card", uidCard, from, "instance", "vendor", "device")}
}
