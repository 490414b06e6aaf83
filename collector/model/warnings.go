package model

import "fmt"

// maxTexts is how many warnings keep their text: a broken table has one for each row.
const maxTexts = 20

// Warnings are the parts of an output that could not be read.
type Warnings struct {
	Texts []string // of the first ones, one short sentence each
	Count int      // of all
}

// Add counts a warning, and keeps its text while there are few.
func (w *Warnings) Add(format string, args ...any) {
	if w.Count++; len(w.Texts) < maxTexts {
		w.Texts = append(w.Texts, fmt.Sprintf(format, args...))
	}
}

// Join adds the warnings of another output, which it does not change.
func (w *Warnings) Join(other Warnings) {
	w.Count += other.Count
	w.Texts = append(w.Texts[:len(w.Texts):len(w.Texts)], other.Texts[:min(len(other.Texts), maxTexts-len(w.Texts))]...)
}

// About returns the warnings with what they are about before each text, "" for nothing.
func (w Warnings) About(subject string) Warnings {
	if subject == "" {
		return w
	}
	about := Warnings{Count: w.Count}
	for _, text := range w.Texts {
		about.Texts = append(about.Texts, subject+": "+text)
	}
	return about
}
