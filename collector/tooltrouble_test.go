package collector

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// besideOf is a toy whose tool prints a part of the table apart, as answer says.
func besideOf(answer func(context.Context, []string) (process.Output, error), o Options) (cards, *scripted) {
	v := toy()
	v.Commands, v.Classify = nil, toyClassify
	v.Beside = []model.Command{toyCommand("beside", model.Host, 0)}
	s := &scripted{answer: func(ctx context.Context, args []string) (process.Output, error) {
		if args[0] == "beside" {
			return answer(ctx, args)
		}
		return prints("card")(ctx, args)
	}}
	return newCardsOf(newHardware(v, s, nowhere{}, 0, o), nil, o), s
}

// What is printed beside the table and fails takes whole columns of the scrape away: it is on the page all the time, in the
// log once, and back soon. Only what is refused is asked rarely.
func TestCommandBesideTheTableFails(t *testing.T) {
	for name, c := range map[string]struct {
		answer  func(context.Context, []string) (process.Output, error)
		asked   int // in an hour and a half
		counted int // as unread
		want    string
	}{
		"refused":    {prints("does not support"), 2, 0, "asking for beside: does not support"},
		"timed out":  {func(ctx context.Context, _ []string) (process.Output, error) { return hang(ctx) }, 180, 0, "asking for beside: no complete answer"},
		"unreadable": {prints("?"), 539, 539, "asking for beside: no card"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lines, o := 0, options()
				o.Logger = onLog(func() { lines++ })
				answer := c.answer
				cards, s := besideOf(func(ctx context.Context, args []string) (process.Output, error) { return answer(ctx, args) }, o)
				start(t, cards.poller)
				for range 5400 - 15 {
					time.Sleep(time.Second)
					if status := cards.status(); status.Polled && !cmp.Equal(status.LeftOut.Texts, []string{c.want}) {
						t.Fatalf("left out: %q, want %q", status.LeftOut.Texts, c.want)
					}
				}
				got := [3]int{s.asked("beside "), int(cards.status().Warnings), lines}
				if want := [3]int{c.asked, c.counted, 1}; got != want {
					t.Errorf("asked, counted and logged %v times, want %v", got, want)
				}
				answer = prints("all cards")
				time.Sleep(time.Hour)
				snapshot, ok := cards.poller.fresh()
				if status := cards.status(); !ok || len(status.LeftOut.Texts) > 0 || len(snapshot.Devices[0].Readings) != 1 {
					t.Errorf("after it works again: %q, %+v", strings.Join(status.LeftOut.Texts, "; "), snapshot)
				}
			})
		})
	}
}

// A poll that the exporter's end interrupts says nothing of the tool and of the cards.
func TestEndBesideTheTable(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cards, _ := besideOf(func(context.Context, []string) (process.Output, error) {
		cancel()
		return fails(model.ReasonTimeout)(ctx, nil)
	}, options())
	cards.poller.poll(ctx)
	if _, ok := cards.poller.fresh(); ok || cards.status().Polled {
		t.Errorf("a poll that was interrupted counts: %+v", cards.status())
	}
}
