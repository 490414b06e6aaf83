package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/alecthomas/kingpin/v2"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
)

func registerReport(app *kingpin.Application, commands map[string]command) {
	c := app.Command("report", "Report again from the traces that runs kept. Several folders are taken for one load from several machines.")
	var folders []string
	var output string
	c.Arg("FOLDER", "Folder of a run.").Required().StringsVar(&folders)
	c.Flag("output", "Folder for the report's files. Default: FOLDER, where only one is given.").PlaceHolder("DIR").StringVar(&output)
	render := new(renderFlags)
	render.register(c)
	commands["report"] = func(_ context.Context, stdout, stderr io.Writer) (int, error) {
		options, err := render.options()
		if err != nil {
			return exitUsage, usage(err)
		}
		r, err := result.Read(options, folders...)
		if err != nil {
			return exitNothing, err
		}
		if output == "" && len(folders) == 1 {
			output = folders[0]
			if info, err := os.Stat(output); err == nil && !info.IsDir() { // a log itself
				output = filepath.Dir(output)
			}
		}
		if output != "" {
			if err := writeReport(output, r, stderr); err != nil {
				return exitNothing, err
			}
		}
		return exitMeasured, render.print(stdout, r)
	}
}

// print writes r in the formats asked for.
func (f *renderFlags) print(w io.Writer, r *result.Report) error {
	formats := f.formats
	if len(formats) == 0 {
		formats = []string{"head", "summary"}
	}
	for _, name := range formats {
		if err := show.Print(w, name, r, f.metrics); err != nil {
			return fmt.Errorf("printing the report: %w", err)
		}
	}
	return nil
}

// writeReport writes every form of r into folder.
func writeReport(folder string, r *result.Report, stderr io.Writer) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("making the report's folder: %w", err)
	}
	files := map[string]func(io.Writer) error{
		"report.json": func(w io.Writer) error { return show.JSON(w, r) },
		"report.html": func(w io.Writer) error { return show.Page(w, r) },
	}
	for _, p := range show.Pictures(r) {
		files[p.FileName] = p.WritePNG
	}
	for name, write := range files {
		if err := writeFile(filepath.Join(folder, name), false, write); err != nil {
			return err
		}
	}
	fmt.Fprintf(stderr, "accelbench: the report is in %s\n", folder)
	return nil
}

// writeFile makes a file of what write writes, or appends that to it.
func writeFile(path string, appends bool, write func(io.Writer) error) error {
	mode := os.O_TRUNC
	if appends {
		mode = os.O_APPEND
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|mode, 0o644)
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
