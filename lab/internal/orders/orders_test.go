package orders_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/perfline/perfline/lab/internal/orders"
)

// The receipt is a hash of all that the other steps made: less work gives another one.
func TestAnswer(t *testing.T) {
	got := orders.Answer(orders.ID)
	var o struct {
		ID             int
		Lines          []struct{ Price, Reservation string }
		Total, Receipt string
	}
	if err := json.Unmarshal(got, &o); err != nil {
		t.Fatal(err)
	}
	if o.ID != 1009 || len(o.Lines) != 6 || o.Total == "" || len(o.Receipt) != 64 {
		t.Errorf("the order is %+v, want 1009 with 6 lines, a total and a receipt", o)
	}
	if want := "129539bf484fa167fc7b1ab1a863717d76b5cc0319806596578606d0122b6870"; o.Receipt != want {
		t.Errorf("the receipt is %s, want %s", o.Receipt, want)
	}
	for i, l := range o.Lines {
		if l.Price == "" || len(l.Reservation) != 16 {
			t.Errorf("line %d is %+v, want a price and a reservation", i, l)
		}
	}
	if !bytes.Equal(got, orders.Answer(orders.ID)) {
		t.Error("two answers for one order differ")
	}
	if bytes.Equal(got, orders.Answer("1010")) {
		t.Error("two orders have the same answer")
	}
}

// A step that is left out changes the answer: a client that compares answers sees that a handler did
// all its work.
func TestEachStepIsInTheAnswer(t *testing.T) {
	steps := []struct {
		name string
		do   func(*orders.Order)
	}{
		{"Reserve", (*orders.Order).Reserve},
		{"Price", (*orders.Order).Price},
		{"Charge", (*orders.Order).Charge},
	}
	for left := range steps {
		o := orders.Read("1009")
		for i, s := range steps {
			if i != left {
				s.do(o)
			}
		}
		if bytes.Equal(o.Encode(), orders.Answer("1009")) {
			t.Errorf("the answer without %s is the whole answer", steps[left].name)
		}
	}
}

func TestStepsWithoutAnOrder(t *testing.T) {
	var o *orders.Order
	o.Reserve()
	o.Price()
	o.Charge()
}

func BenchmarkAnswer(b *testing.B) {
	for b.Loop() {
		orders.Answer("1009")
	}
}
