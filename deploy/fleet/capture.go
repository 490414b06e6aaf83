package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// protobufFirst asks for the only format with native histograms.
const protobufFirst = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,text/plain;q=0.5"

// capture takes one exposition from a URL or a file in the text format.
func capture(ctx context.Context, source string) ([]*dto.MetricFamily, error) {
	if !strings.HasPrefix(source, "http") {
		file, err := os.Open(source)
		if err != nil {
			return nil, err
		}
		families, err := decode(file, expfmt.NewFormat(expfmt.TypeTextPlain))
		return families, errors.Join(err, file.Close())
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, source, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", protobufFirst)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("status %s", response.Status), response.Body.Close())
	}
	families, err := decode(response.Body, expfmt.ResponseFormat(response.Header))
	return families, errors.Join(err, response.Body.Close())
}

// decode reads families until the end, in the order of their names.
func decode(r io.Reader, format expfmt.Format) ([]*dto.MetricFamily, error) {
	var families []*dto.MetricFamily
	for decoder := expfmt.NewDecoder(r, format); ; {
		family := new(dto.MetricFamily)
		err := decoder.Decode(family)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		families = append(families, family)
	}
	if len(families) == 0 {
		return nil, errors.New("no metric in it")
	}
	slices.SortFunc(families, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	return families, nil
}
