package smitext_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

var parseTopology = smitext.TopologyParser(`(?:GPU|NPU|Phy-ID)\d+`, `NIC\d+`)

func node(n int) *int { return &n }

func link(device, peer, kind string) model.Link {
	return model.Link{Device: device, Peer: peer, Type: kind}
}

func TestParseTopology(t *testing.T) {
	for _, c := range []struct {
		name, out string
		want      model.Report
	}{
		{
			name: "node and CPU affinity",
			out: `
Attached GPUs                                     : 2
Device link type matrix
        GPU0    GPU1    Node Affinity  CPU Affinity
GPU0    X       MX      0              0-15,32-47
GPU1    MX      X       1              16-31,48-63

Legend:
  X    = Self
  MX   = over the link
`,
			want: model.Report{
				Links:      []model.Link{link("GPU0", "GPU1", "MX"), link("GPU1", "GPU0", "MX")},
				Affinities: []model.Affinity{{Name: "GPU0", NUMANode: node(0), CPUs: "0-15,32-47"}, {Name: "GPU1", NUMANode: node(1), CPUs: "16-31,48-63"}},
			},
		},
		{
			name: "cells are not mirrored",
			out: `
	   NPU0       NPU1       NPU2       CPU Affinity
NPU0       X          HCCS       SYS        144-167
NPU1       PHB        X          NA         0-23
NPU2       PIX        PXB        X          0-23
`,
			want: model.Report{
				Links: []model.Link{
					link("NPU0", "NPU1", "HCCS"), link("NPU0", "NPU2", "SYS"),
					link("NPU1", "NPU0", "PHB"), link("NPU1", "NPU2", "NA"),
					link("NPU2", "NPU0", "PIX"), link("NPU2", "NPU1", "PXB"),
				},
				Affinities: []model.Affinity{{Name: "NPU0", CPUs: "144-167"}, {Name: "NPU1", CPUs: "0-23"}, {Name: "NPU2", CPUs: "0-23"}},
			},
		},
		{
			name: "physical ids, without affinity",
			out: `
           Phy-ID12   Phy-ID13   Phy-ID4
Phy-ID12   X          SIO        HCCS_SW
Phy-ID13   SIO        X          HCCS_SW
Phy-ID4    HCCS_SW    HCCS_SW    X
`,
			want: model.Report{
				Links: []model.Link{
					link("Phy-ID12", "Phy-ID13", "SIO"), link("Phy-ID12", "Phy-ID4", "HCCS_SW"),
					link("Phy-ID13", "Phy-ID12", "SIO"), link("Phy-ID13", "Phy-ID4", "HCCS_SW"),
					link("Phy-ID4", "Phy-ID12", "HCCS_SW"), link("Phy-ID4", "Phy-ID13", "HCCS_SW"),
				},
				Affinities: []model.Affinity{{Name: "Phy-ID12"}, {Name: "Phy-ID13"}, {Name: "Phy-ID4"}},
			},
		},
		{
			name: "NICs are peers with their device's name, and their rows are not read",
			out: `
        GPU0    NIC0    NIC1    NIC12   Node Affinity  CPU Affinity
GPU0    X       PIX     SYS     NODE    0              0-3
NIC0    PIX     X       SYS     SYS
NIC1    SYS     SYS     X       PIX
NIC12   NODE    SYS     PIX     X

Legend:
  PIX  = near

NIC Legend:

  NIC0: mlx5_0
  NIC12: bond-a
`,
			want: model.Report{
				Links:      []model.Link{link("GPU0", "mlx5_0", "PIX"), link("GPU0", "NIC1", "SYS"), link("GPU0", "bond-a", "NODE")},
				Affinities: []model.Affinity{{Name: "GPU0", NUMANode: node(0), CPUs: "0-3"}},
			},
		},
		{
			name: "one card",
			out: `
        GPU3    Node Affinity  CPU Affinity
GPU3    X       0              0-31,64-95
`,
			want: model.Report{Affinities: []model.Affinity{{Name: "GPU3", NUMANode: node(0), CPUs: "0-31,64-95"}}},
		},
		{
			name: "affinities that say nothing",
			out: `
        GPU0    GPU1    GPU2    Node Affinity  CPU Affinity
GPU0    X       MX      MX      NA             N/A
GPU1    MX      X       MX      -1             -
GPU2    MX      MX      X       unknown        4
`,
			want: model.Report{
				Links: []model.Link{
					link("GPU0", "GPU1", "MX"), link("GPU0", "GPU2", "MX"),
					link("GPU1", "GPU0", "MX"), link("GPU1", "GPU2", "MX"),
					link("GPU2", "GPU0", "MX"), link("GPU2", "GPU1", "MX"),
				},
				Affinities: []model.Affinity{{Name: "GPU0"}, {Name: "GPU1"}, {Name: "GPU2", CPUs: "4"}},
			},
		},
		{
			name: "one affinity of two is missing, and which one cannot be known",
			out: `
        GPU0    GPU1    Node Affinity  CPU Affinity
GPU0    X       MX      0
GPU1    MX      X                      0-15
`,
			want: model.Report{
				Links:      []model.Link{link("GPU0", "GPU1", "MX"), link("GPU1", "GPU0", "MX")},
				Affinities: []model.Affinity{{Name: "GPU0"}, {Name: "GPU1"}},
			},
		},
		{
			name: "unreadable affinities cost only themselves",
			out: `
        GPU0    GPU1    Node Affinity  CPU Affinity
GPU0    X       MX      zero           0-3
GPU1    MX      X       0              all
`,
			want: model.Report{
				Links:      []model.Link{link("GPU0", "GPU1", "MX"), link("GPU1", "GPU0", "MX")},
				Affinities: []model.Affinity{{Name: "GPU0", CPUs: "0-3"}, {Name: "GPU1", NUMANode: node(0)}},
				Warnings:   modeltest.Warnings(`cannot read the Node Affinity of GPU0 from "zero"`, `cannot read the CPU Affinity of GPU1 from "all"`),
			},
		},
		{
			name: "a row that lacks links, one that has too much, and a cut one",
			out: `
        GPU0    GPU1    GPU2    CPU Affinity
GPU0    X       MX
GPU1    MX      X       MX      0-3     8
GPU2    MX      MX      X       0-1`,
			want: model.Report{Warnings: modeltest.Warnings("the row of GPU0 is cut", "the row of GPU1 is cut", "the row of GPU2 is cut")},
		},
		{
			name: "CRLF, and noise on all sides",
			out:  "warning: stray noise\r\nGPU0 is on fire\r\n\tGPU0 GPU1\r\nGPU0 X MX\r\n# comment\r\nGPU1 MX X\r\n\r\nGPU0 GPU1 GPU2\r\nNIC0:\r\nNIC1: a b\r\nGPUs: none\r\n",
			want: model.Report{
				Links:      []model.Link{link("GPU0", "GPU1", "MX"), link("GPU1", "GPU0", "MX")},
				Affinities: []model.Affinity{{Name: "GPU0"}, {Name: "GPU1"}},
			},
		},
		{
			name: "links that do not line up with the header",
			out: `
        NPU0    NPU1    NPU2    CPU Affinity
NPU0    X       HCCS    0-23
NPU1    X       HCCS    SIO     0-23
NPU2    HCCS    SIO     X       24-47
`,
			want: model.Report{
				Links:      []model.Link{link("NPU2", "NPU0", "HCCS"), link("NPU2", "NPU1", "SIO")},
				Affinities: []model.Affinity{{Name: "NPU2", CPUs: "24-47"}},
				Warnings: modeltest.Warnings(
					`the links of NPU0 do not line up with the header: "0-23" under NPU2`,
					`the links of NPU1 do not line up with the header: "X" under NPU0`,
				),
			},
		},
		{
			name: "a header twice, and lists of names before and between",
			out: `
GPU0
        GPU0    GPU1    CPU Affinity
GPU0    X       MX      0-3
        GPU0    GPU1    CPU Affinity
GPU0
GPU1    MX      X       0-3
`,
			want: model.Report{
				Links:      []model.Link{link("GPU0", "GPU1", "MX"), link("GPU1", "GPU0", "MX")},
				Affinities: []model.Affinity{{Name: "GPU0", CPUs: "0-3"}, {Name: "GPU1", CPUs: "0-3"}},
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseTopology([]byte(c.out))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("want (-) and got (+) differ:\n%s", diff)
			}
		})
	}
}

func TestOutputWithoutAMatrixIsRefused(t *testing.T) {
	for name, out := range map[string]string{
		"nothing":          "",
		"text":             "No available devices were discovered\n",
		"rows, no header":  "GPU0    X       MX\nGPU1    MX      X\n",
		"header, no rows":  "        GPU0    GPU1    Node Affinity  CPU Affinity\n",
		"a cut header":     "        GPU0    GPU1    Node Affin\nGPU0    X       MX      0\nGPU1    MX      X       0\n",
		"NICs alone":       "        NIC0    NIC1\nNIC0    X       PIX\nNIC1    PIX     X\n",
		"unnumbered names": "        GPU     GPU-1   GPUx\nGPU     X       MX      MX\n",
	} {
		r, err := parseTopology([]byte(out))
		if failure.ReasonOf(err) != failure.Parse {
			t.Errorf("%s: got %+v and error %v, want a parse error", name, r, err)
		}
	}
}

// matrix is what a tool prints for n cards.
func matrix(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "\tGPU%d", i)
	}
	b.WriteString("\tNode Affinity\tCPU Affinity\n")
	for i := range n {
		fmt.Fprintf(&b, "GPU%d", i)
		for j := range n {
			b.WriteString([]string{"\tX", "\tMX"}[min(1, (i-j)*(i-j))])
		}
		b.WriteString("\t0\t0-3\n")
	}
	return b.String()
}

// Whatever the output, a link is from a card of a row to a name of the header and
// no cell is read twice; a cut matrix has no link that the whole one lacks.
func FuzzParseTopology(f *testing.F) {
	f.Add(matrix(1), 7)
	f.Add(matrix(3), 60)
	f.Add(matrix(2)+"NIC Legend:\n NIC0: mlx5_0\n", 90)
	f.Add("\tNPU0 NIC0 CPU Affinity\nNPU0 X PIX 0-3, 4-7\nNIC0 PIX X\n\nNIC0: a\n", 40)
	f.Fuzz(func(t *testing.T, out string, cut int) {
		r, err := parseTopology([]byte(out))
		if err != nil {
			return
		}
		whole := map[model.Link]bool{}
		for _, l := range r.Links {
			whole[l] = true
			if l.Device == l.Peer || l.Type == "" || l.Type == "X" || !strings.Contains(out, l.Peer) {
				t.Fatalf("a link %+v from %q", l, out)
			}
		}
		if fields := len(strings.Fields(out)); len(r.Links)+len(r.Affinities) > fields {
			t.Fatalf("%d links and %d rows from %d words", len(r.Links), len(r.Affinities), fields)
		}
		if strings.Contains(out, "NIC") {
			return // a cut legend leaves a NIC its number
		}
		part, _ := parseTopology([]byte(out[:max(0, min(cut, len(out)))]))
		for _, l := range part.Links {
			if !whole[l] {
				t.Fatalf("cut after %d bytes, %q has a link %+v that it lacks whole", cut, out, l)
			}
		}
	})
}

func BenchmarkParseTopology(b *testing.B) {
	out := []byte(matrix(16))
	b.SetBytes(int64(len(out)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parseTopology(out); err != nil {
			b.Fatal(err)
		}
	}
}
