package dashboards

import (
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// link is a link of the form that every Grafana since 9.3 knows; the SDK's builder would put it into a menu that only the newest have.
type link dashboard.DashboardLink

func (l link) Build() (dashboard.DashboardLink, error) { return dashboard.DashboardLink(l), nil }

// linksTo leads from a dashboard to each of the others, with time range, data source and job. The scope is what else goes
// along: parameters of the address that say which hosts and cards. Where it is "all", as "All" or as "$__all", the
// other page takes it for any: the pages of one card and one host then choose the first.
func (p page) linksTo(pages []page) []cog.Builder[dashboard.DashboardLink] {
	var links []cog.Builder[dashboard.DashboardLink]
	for _, to := range pages {
		if to.uid == p.uid {
			continue
		}
		name := strings.TrimPrefix(to.title, "Accelerators: ")
		url := "/d/" + to.uid + "?" + "${datasource:queryparam}&${job:queryparam}&" + p.scope
		links = append(links, link{
			Title: strings.ToUpper(name[:1]) + name[1:], Type: dashboard.DashboardLinkTypeLink, Icon: "dashboard", Url: &url, Tags: []string{}, KeepTime: true,
		})
	}
	return links
}

// linkTo leads from a value to another dashboard: the address has what is chosen there, and takes data source, job and time range along.
func linkTo(title, address string) link {
	return link{Title: title, Type: dashboard.DashboardLinkTypeLink, Url: &address, Tags: []string{}}
}

// links makes a column lead elsewhere.
func links(all ...link) []property { return []property{{Id: "links", Value: all}} }

// toCardOfSeries makes the series of a panel lead to their cards.
func toCardOfSeries() []cog.Builder[dashboard.DashboardLink] {
	return []cog.Builder[dashboard.DashboardLink]{linkTo("Open the card",
		"/d/accelerator-card?${datasource:queryparam}&${job:queryparam}&var-host=${__field.labels.instance}&var-maker=${__field.labels.vendor}&var-card=${__field.labels.device}&${__url_time_range}")}
}

// Columns that lead to other dashboards. The rows need the labels instance, vendor and device, or target.

func hostColumn() column {
	return label("instance", "Host", links(
		linkTo("Open load and latency", "/d/accelerator-load-latency?${datasource:queryparam}&${job:queryparam}&var-instance=${__data.fields.instance}&${__url_time_range}"),
		linkTo("Open NUMA", "/d/accelerator-numa?${datasource:queryparam}&${job:queryparam}&var-host=${__data.fields.instance}&${__url_time_range}"),
	)...)
}

func vendorColumn() column { return label("vendor", "Vendor", width(110)) }

func cardColumn() column {
	return label("device", "Card", append(links(linkTo("Open the card",
		"/d/accelerator-card?${datasource:queryparam}&${job:queryparam}&var-host=${__data.fields.instance}&var-maker=${__data.fields.vendor}&var-card=${__data.fields.device}&${__url_time_range}")), width(60))...)
}

func targetColumn() column {
	return label("target", "Target", links(linkTo("Open load and latency",
		"/d/accelerator-load-latency?${datasource:queryparam}&${job:queryparam}&var-instance=${__data.fields.instance}&var-target=${__data.fields.target}&${__url_time_range}"))...)
}
