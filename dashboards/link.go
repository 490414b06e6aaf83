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
		url := "/d/" + to.uid + "?" + strings.Join(append([]string{"${datasource:queryparam}", "${job:queryparam}"}, p.scope...), "&")
		links = append(links, link{
			Title: strings.ToUpper(name[:1]) + name[1:], Type: dashboard.DashboardLinkTypeLink, Icon: "dashboard", Url: &url, Tags: []string{}, KeepTime: true,
		})
	}
	return links
}

// chosenCards are the scope of a dashboard whose variables name hosts and cards, chosenHost of one about a single host.
func chosenCards() []string {
	return []string{"${instance:queryparam}", "${vendor:queryparam}", "${device:queryparam}"}
}

func chosenHost() []string { return []string{"var-instance=${host:percentencode}"} }

// where says where in the data a link finds its values.
type where string

const (
	ofSeries where = "${__field.labels." // labels of a time series, stat or gauge
	ofRow    where = "${__data.fields."  // cells of a table's row
)

// linkTo leads from a value to another dashboard. Each parameter is a variable there and the label that holds its value;
// job and data source go along.
func linkTo(title, uid string, from where, parameters ...[2]string) link {
	url := []string{"/d/" + uid + "?${datasource:queryparam}", "${job:queryparam}"}
	for _, p := range parameters {
		url = append(url, "var-"+p[0]+"="+string(from)+p[1]+"}")
	}
	address := strings.Join(append(url, "${__url_time_range}"), "&")
	return link{Title: title, Type: dashboard.DashboardLinkTypeLink, Url: &address, Tags: []string{}}
}

// cardLink leads to the card that a series or a row is about. The panel's data has the labels instance, vendor and device.
func cardLink(from where) link {
	return linkTo("Open the card", uidCard, from, [2]string{"host", "instance"}, [2]string{"maker", "vendor"}, [2]string{"card", "device"})
}

// toCardOfSeries makes the series of a panel lead to their cards.
func toCardOfSeries() []cog.Builder[dashboard.DashboardLink] {
	return []cog.Builder[dashboard.DashboardLink]{cardLink(ofSeries)}
}

// toCard makes the column of a card's number lead to the card.
func toCard() []property { return linkCell(cardLink(ofRow)) }

// toHost makes the column of a host lead to the pages about hosts.
func toHost() []property {
	return linkCell(
		linkTo("Open load and latency", uidLoadLatency, ofRow, [2]string{"instance", "instance"}),
		linkTo("Open NUMA", uidNUMA, ofRow, [2]string{"host", "instance"}),
	)
}

// toTarget makes the column of a probed endpoint lead to its latencies.
func toTarget() []property {
	return linkCell(linkTo("Open load and latency", uidLoadLatency, ofRow, [2]string{"instance", "instance"}, [2]string{"target", "target"}))
}
