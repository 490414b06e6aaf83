package model_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
)

// byNumber takes the number off "GPU3".
func byNumber(name string, _ []model.Device) string { return strings.TrimPrefix(name, "GPU") }

func device(id, bus string) model.Device { return model.Device{ID: id, BusID: bus} }

func node(n int) *int { return &n }

func ok() *model.Health { return &model.Health{OK: true, State: "Available"} }

func broken(why string) *model.Health { return &model.Health{State: "Not Available", Reason: why} }

func TestMerge(t *testing.T) {
	two := []model.Device{device("0", "0000:0a:00.0"), device("1", "0000:0b:00.0")}
	for _, c := range []struct {
		name  string
		table model.Report
		sides []model.Report
		want  model.Snapshot
	}{
		{
			name:  "the table alone",
			table: model.Report{Tool: &model.Tool{Name: "mx-smi"}, Devices: two},
			want:  model.Snapshot{Tool: &model.Tool{Name: "mx-smi"}, Devices: two, Seen: 2, Announced: 2},
		},
		{
			name:  "the largest announcement counts",
			table: model.Report{Devices: two, Announced: 4},
			sides: []model.Report{{Announced: 8}, {Announced: 3}},
			want:  model.Snapshot{Devices: two, Seen: 2, Announced: 8},
		},
		{
			name:  "an announcement below what is seen is not believed",
			table: model.Report{Devices: two, Announced: 1},
			want:  model.Snapshot{Devices: two, Seen: 2, Announced: 2},
		},
		{
			name:  "the inventory gives UUIDs by bus id, whatever the case",
			table: model.Report{Devices: two},
			sides: []model.Report{{Listed: []model.Device{
				{ID: "0", BusID: "0000:0B:00.0", UUID: "b", Health: ok()},
				{ID: "1", BusID: "0000:0A:00.0", UUID: "a", Health: ok()},
			}}},
			want: model.Snapshot{Seen: 2, Announced: 2, Devices: []model.Device{
				{ID: "0", BusID: "0000:0a:00.0", UUID: "a", Health: ok()},
				{ID: "1", BusID: "0000:0b:00.0", UUID: "b", Health: ok()},
			}},
		},
		{
			name:  "where the table has no bus id the number counts",
			table: model.Report{Devices: []model.Device{device("3", "")}},
			sides: []model.Report{{Listed: []model.Device{{ID: "3", BusID: "0000:0c:00.0", UUID: "c"}}}},
			want:  model.Snapshot{Seen: 1, Announced: 1, Devices: []model.Device{{ID: "3", BusID: "0000:0c:00.0", UUID: "c"}}},
		},
		{
			name:  "the table's state is newer than the inventory's",
			table: model.Report{Devices: []model.Device{{ID: "0", BusID: "0000:0a:00.0", Health: broken("")}}},
			sides: []model.Report{{Listed: []model.Device{{ID: "0", BusID: "0000:0a:00.0", UUID: "a", Health: ok()}}}},
			want:  model.Snapshot{Seen: 1, Announced: 1, Devices: []model.Device{{ID: "0", BusID: "0000:0a:00.0", UUID: "a", Health: broken("")}}},
		},
		{
			name:  "of two reports that tell a metric the table holds, then the first one",
			table: model.Report{Devices: []model.Device{{ID: "0", Readings: model.Readings{{Metric: "power_watts", Value: 71}}}}},
			sides: []model.Report{
				{Listed: []model.Device{{ID: "0", Readings: model.Readings{
					{Metric: "power_watts", Value: 99}, {Metric: "clock_hertz", Labels: []string{"core"}, Value: 1e9},
				}}}},
				{Listed: []model.Device{{ID: "0", Readings: model.Readings{
					{Metric: "clock_hertz", Labels: []string{"core"}, Value: 2e9}, {Metric: "clock_hertz", Labels: []string{"memory"}, Value: 3e9},
				}}}},
			},
			want: model.Snapshot{Seen: 1, Announced: 1, Devices: []model.Device{{ID: "0", Readings: model.Readings{
				{Metric: "power_watts", Value: 71},
				{Metric: "clock_hertz", Labels: []string{"core"}, Value: 1e9},
				{Metric: "clock_hertz", Labels: []string{"memory"}, Value: 3e9},
			}}}},
		},
		{
			name:  "a broken card is only in the inventory; a good one that the table lacks is missing",
			table: model.Report{Devices: two},
			sides: []model.Report{{Announced: 4, Listed: []model.Device{
				{ID: "2", BusID: "0000:0c:00.0", Health: broken("Layout Node Not Found")},
				{ID: "3", BusID: "0000:0d:00.0", Health: ok()},
				{ID: "4", BusID: "0000:0e:00.0"},
			}}},
			want: model.Snapshot{Seen: 2, Announced: 4, Devices: []model.Device{
				two[0], two[1], {ID: "2", BusID: "0000:0c:00.0", Health: broken("Layout Node Not Found")},
			}, Missing: []model.Device{{ID: "3", BusID: "0000:0d:00.0", Health: ok()}, {ID: "4", BusID: "0000:0e:00.0"}}},
		},
		{
			name:  "no number twice: not from two lines of an inventory, nor from one of the table's",
			table: model.Report{Devices: two},
			sides: []model.Report{{Listed: []model.Device{
				{ID: "1", BusID: "0000:0c:00.0", Health: broken("x")},
				{ID: "2", BusID: "0000:0d:00.0", Health: broken("y")},
				{ID: "2", BusID: "0000:0e:00.0", Health: broken("z")},
				{ID: "9", BusID: "0000:0d:00.0", Health: broken("y")},
			}}},
			want: model.Snapshot{
				Seen: 2, Announced: 2,
				Devices: []model.Device{two[0], two[1], {ID: "2", BusID: "0000:0d:00.0", Health: broken("y")}},
				Warnings: modeltest.Warnings(
					"the listed card 1 (0000:0c:00.0) has the number of another card",
					"the listed card 2 (0000:0e:00.0) has the number of another card",
				),
			},
		},
		{
			name: "processes: one a card and PID, on cards of the table",
			table: model.Report{Devices: two, Processes: []model.Process{
				{Device: "0", PID: "7", Name: "a", UsedBytes: 1},
				{Device: "1", PID: "7", Name: "a", UsedBytes: 2},
				{Device: "0", PID: "7", Name: "b", UsedBytes: 3},
				{Device: "5", PID: "7", Name: "c", UsedBytes: 4},
			}},
			want: model.Snapshot{
				Devices: two, Seen: 2, Announced: 2,
				Processes: []model.Process{{Device: "0", PID: "7", Name: "a", UsedBytes: 1}, {Device: "1", PID: "7", Name: "a", UsedBytes: 2}},
				Warnings:  modeltest.Warnings("process 7 is printed twice on card 0", "process 7 is on card 5, which the table lacks"),
			},
		},
		{
			name:  "slices are on cards of the table",
			table: model.Report{Devices: two, Slices: []model.Slice{{Device: "1", ID: "3"}, {Device: "4", ID: "3"}}},
			want: model.Snapshot{
				Devices: two, Seen: 2, Announced: 2, Slices: []model.Slice{{Device: "1", ID: "3"}},
				Warnings: modeltest.Warnings("slice 3 is on card 4, which the table lacks"),
			},
		},
		{
			name:  "the topology's names become devices, NICs stay, a card that is not there stays a peer",
			table: model.Report{Devices: two},
			sides: []model.Report{{
				Affinities: []model.Affinity{{Name: "GPU0", NUMANode: node(0), CPUs: "0-3"}, {Name: "GPU1", CPUs: "4-7"}, {Name: "GPU7"}},
				Links: []model.Link{
					{Device: "GPU0", Peer: "GPU1", Type: "MX"},
					{Device: "GPU0", Peer: "mlx5_0", Type: "PIX"},
					{Device: "GPU0", Peer: "GPU7", Type: "SYS"},
					{Device: "GPU1", Peer: "GPU0", Type: "MX"},
					{Device: "GPU7", Peer: "GPU0", Type: "SYS"},
				},
			}},
			want: model.Snapshot{
				Seen: 2, Announced: 2,
				Devices: []model.Device{
					{ID: "0", BusID: "0000:0a:00.0", NUMANode: node(0), CPUAffinity: "0-3"}, {ID: "1", BusID: "0000:0b:00.0", CPUAffinity: "4-7"},
				},
				Links: []model.Link{
					{Device: "0", Peer: "1", Type: "MX"},
					{Device: "0", Peer: "mlx5_0", Type: "PIX"},
					{Device: "0", Peer: "7", Type: "SYS"},
					{Device: "1", Peer: "0", Type: "MX"},
				},
				Warnings: modeltest.Warnings("the topology has a row GPU7 that is no card of the table"),
			},
		},
		{
			name:  "no link twice and none to itself",
			table: model.Report{Devices: two},
			sides: []model.Report{{Links: []model.Link{
				{Device: "GPU0", Peer: "eth0", Type: "PIX"}, {Device: "GPU0", Peer: "eth0", Type: "SYS"}, {Device: "GPU0", Peer: "GPU0", Type: "MX"},
			}}},
			want: model.Snapshot{
				Devices: two, Seen: 2, Announced: 2, Links: []model.Link{{Device: "0", Peer: "eth0", Type: "PIX"}},
				Warnings: modeltest.Warnings("the topology links GPU0 to eth0 twice or to itself", "the topology links GPU0 to GPU0 twice or to itself"),
			},
		},
		{
			name:  "a topology names a broken card that another side command lists later",
			table: model.Report{Devices: two},
			sides: []model.Report{
				{Affinities: []model.Affinity{{Name: "GPU2", NUMANode: node(1)}}},
				{Listed: []model.Device{{ID: "2", BusID: "0000:0c:00.0", Health: broken("x")}}},
			},
			want: model.Snapshot{Seen: 2, Announced: 2, Devices: []model.Device{
				two[0], two[1], {ID: "2", BusID: "0000:0c:00.0", Health: broken("x"), NUMANode: node(1)},
			}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, model.Merge(c.table, c.sides, byNumber)); diff != "" {
				t.Errorf("want (-) and got (+) differ:\n%s", diff)
			}
		})
	}
}

// The poller keeps reports and merges them again at every poll.
func TestMergeDoesNotChangeItsArguments(t *testing.T) {
	table := func() model.Report {
		d := device("0", "0000:0a:00.0")
		d.Readings = append(make(model.Readings, 0, 8), model.Reading{Metric: "power_watts", Value: 71})
		return model.Report{Devices: []model.Device{d}, Processes: []model.Process{{Device: "0", PID: "1"}, {Device: "0", PID: "1"}}}
	}
	sides := func() []model.Report {
		return []model.Report{
			{Listed: []model.Device{{ID: "0", BusID: "0000:0a:00.0", UUID: "a", Health: ok(), Readings: model.Readings{{Metric: "clock_hertz", Value: 1}}}, {ID: "1", BusID: "0000:0b:00.0", Health: broken("x")}}},
			{Affinities: []model.Affinity{{Name: "GPU0", NUMANode: node(0)}, {Name: "GPU1", CPUs: "0"}}, Links: []model.Link{{Device: "GPU0", Peer: "GPU1", Type: "MX"}}},
		}
	}
	givenTable, givenSides := table(), sides()
	first := model.Merge(givenTable, givenSides, byNumber)
	second := model.Merge(givenTable, givenSides, byNumber)
	if spare := givenTable.Devices[0].Readings[:2]; spare[1].Metric != "" {
		t.Errorf("the table's readings were written behind: %v", spare)
	}
	if diff := cmp.Diff(table(), givenTable); diff != "" {
		t.Errorf("the table was changed:\n%s", diff)
	}
	if diff := cmp.Diff(sides(), givenSides); diff != "" {
		t.Errorf("a side report was changed:\n%s", diff)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("merging again gives another result:\n%s", diff)
	}
}
