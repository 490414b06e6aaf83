package model_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

func TestMissing(t *testing.T) {
	a, b, c := device("0", "0000:0a:00.0"), device("1", "0000:0b:00.0"), device("2", "0000:0c:00.0")
	numbered := func(d model.Device, id string) model.Device { d.ID = id; return d }
	for _, test := range []struct {
		name         string
		table, known []model.Device
		limit        int
		want         []model.Device
	}{
		{"all are there", []model.Device{a, b}, []model.Device{a, b}, 0, nil},
		{"one is gone", []model.Device{a, c}, []model.Device{a, b, c}, 1, []model.Device{b}},
		{"the numbers moved up", []model.Device{a, numbered(c, "1")}, []model.Device{a, b, c}, 1, []model.Device{b}},
		{"the tool writes bus ids in another case", []model.Device{device("0", "0000:0A:00.0")}, []model.Device{a}, 1, nil},
		{"each inventory knows a part", nil, []model.Device{{ID: "0", UUID: "x"}, a}, 2, []model.Device{{ID: "0", BusID: a.BusID, UUID: "x"}}},
		{"known twice", []model.Device{a}, []model.Device{b, b}, 2, []model.Device{b}},
		{"no more than are expected, the newest knowledge first", nil, []model.Device{a, b, c}, 2, []model.Device{a, b}},
		{"more cards than expected", []model.Device{a, b}, []model.Device{c}, -1, nil},
		{"without a bus id the number tells", []model.Device{{ID: "0"}}, []model.Device{a, {ID: "1"}}, 2, []model.Device{{ID: "1"}}},
		{"the UUID tells where the bus id changed", []model.Device{{ID: "5", BusID: "0000:ff:00.0", UUID: "x"}}, []model.Device{{ID: "0", BusID: "0000:0a:00.0", UUID: "x"}}, 1, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, model.Missing(test.table, test.known, test.limit)); diff != "" {
				t.Errorf("want (-) and got (+) differ:\n%s", diff)
			}
		})
	}
}
