package dashboards_test

import "testing"

// TestOwnPodIsNoWorkload: a scrape without honor_labels puts the exporter's own pod on everything, and no panel takes it
// for the owner of a card.
func TestOwnPodIsNoWorkload(t *testing.T) {
	const own = `job="j",instance="n",namespace="monitoring",pod="exporter-x",container="exporter"`
	programs := promtools(t)
	for _, tc := range []struct{ name, info, result string }{
		{
			"the pod is known by its UID alone", `
      - {series: 'accelerator_exporter_build_info{` + own + `}', values: '1x10'}
      - {series: 'accelerator_process_container_info{` + own + `,container_id="c",pod_uid="u",vendor="metax",pid="5"}', values: '1x10'}
`, "          []\n",
		},
		{
			"the target has a pod and no container", `
      - {series: 'accelerator_exporter_build_info{job="j",instance="n",namespace="monitoring",pod="exporter-x"}', values: '1x10'}
      - {series: 'accelerator_process_container_info{job="j",instance="n",namespace="monitoring",pod="exporter-x",container_id="c",pod_uid="u",vendor="metax",pid="5"}', values: '1x10'}
`, "          []\n",
		},
		{
			"the target has a namespace and no pod", `
      - {series: 'accelerator_exporter_build_info{job="j",instance="n",namespace="monitoring"}', values: '1x10'}
      - {series: 'accelerator_process_container_info{job="j",instance="n",namespace="monitoring",exported_namespace="models",pod="qwen-0",container_id="c",pod_uid="u",vendor="metax",pid="5"}', values: '1x10'}
      - {series: 'accelerator_device_allocation_info{job="j",instance="n",namespace="monitoring",exported_namespace="models",pod="qwen-0",container="vllm",vendor="metax",device="0"}', values: '1x10'}
`, "          []\n",
		},
		{
			"the exporter is in the workload's pod, and its labels are honored", `
      - {series: 'accelerator_exporter_build_info{` + own + `}', values: '1x10'}
      - {series: 'accelerator_process_container_info{job="j",instance="n",namespace="monitoring",pod="exporter-x",container_id="c",pod_uid="u",vendor="metax",pid="5"}', values: '1x10'}
`, `          - {labels: '{namespace="monitoring"}', value: 1}
`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			input := `
      - {series: 'accelerator_process_memory_used_bytes{` + own + `,vendor="metax",device="0",pid="5",process="p"}', values: '7x10'}` + tc.info
			for file, title := range map[string]string{"card.json": "Pods", "fleet.json": "Cards by namespace"} {
				rulesTest(t, programs, input, "group by (namespace) ("+filled(queryAt(t, file, title, "table", 0))+")", "5m", tc.result)
			}
		})
	}
}

// TestPodOfSeveralContainers: which of them a process is in is not known, so that none of them is told to have the card and
// not to use it.
func TestPodOfSeveralContainers(t *testing.T) {
	rulesTest(t, promtools(t), `
      - {series: 'accelerator_process_memory_used_bytes{job="j",instance="n",vendor="metax",device="0",pid="5",process="p"}', values: '7x10'}
      - {series: 'accelerator_process_container_info{job="j",instance="n",namespace="models",pod="qwen-0",container_id="c",pod_uid="u",vendor="metax",pid="5"}', values: '1x10'}
      - {series: 'accelerator_device_allocation_info{job="j",instance="n",namespace="models",pod="qwen-0",container="vllm",vendor="metax",device="0"}', values: '1x10'}
      - {series: 'accelerator_device_allocation_info{job="j",instance="n",namespace="tests",pod="idle-0",container="a",vendor="metax",device="0"}', values: '1x10'}
`, filled(queryAt(t, "card.json", "Pods", "table", 0)), "5m", `          - {labels: '{namespace="models",pod="qwen-0"}', value: 7}
          - {labels: '{namespace="tests",pod="idle-0",container="a"}', value: 0}
`)
}
