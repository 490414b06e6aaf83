package boxtable

// frame is the rules that a box is drawn with. Tools pad their rows to them, so a
// shorter row lost a part. A longer one may have a value that is too long.
type frame struct {
	rule   int // length of the last rule
	fitted int // length of the rule that a row of this box was as long as
	before Kind
}

// add takes the next line, and reports whether it is a row that lost a part. A box
// of which no row is as long as its rule is not padded, and says nothing.
func (f *frame) add(line Line) (damaged bool) {
	n := len(line.Text)
	switch {
	case line.Kind == Row:
		damaged = f.fitted > 0 && f.fitted == f.rule && n < f.rule
		if n == f.rule {
			f.fitted = n
		}
	case line.Kind == Text || line.Kind == Separator && f.before == Separator: // a new box
		f.fitted = 0
	}
	if line.Kind == Separator && !line.Elided {
		f.rule = n
	}
	f.before = line.Kind
	return damaged
}
