// Package orders is the work of the judge's handler. A request formats, hashes and encodes an
// order in steps, and a variant's telemetry stands between the steps:
//
//	o := orders.Read(r.PathValue("id"))
//	o.Reserve()       // formats and hashes each line
//	o.Price()         // formats the totals
//	o.Charge()        // formats and hashes the receipt
//	body := o.Encode() // JSON
//
// The steps do the same in every variant, and Encode has the results of all. A step of a nil
// Order does nothing: a handler without work calls the same code.
package orders

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
)

// ID is the number of the order that the judge asks for.
const ID = "1009"

// lines is how many parts an order has.
const lines = 6

// An Order is what a request answers with.
type Order struct {
	ID      int    `json:"id"`
	Lines   []line `json:"lines"`
	Total   string `json:"total"`
	Receipt string `json:"receipt"` // a hash
}

type line struct {
	Part        int    `json:"part"`
	Count       int    `json:"count"`
	Cents       int    `json:"cents"`
	Price       string `json:"price"`
	Reservation string `json:"reservation"` // a hash
}

// Read returns the order with this number: 0 if id is none.
func Read(id string) *Order {
	n, err := strconv.Atoi(id)
	if err != nil {
		n = 0
	}
	o := &Order{ID: n, Lines: make([]line, lines)}
	for i := range o.Lines {
		part := n*31 + i*7
		o.Lines[i] = line{Part: part, Count: 1 + part%5, Cents: 199 + part%9000}
	}
	return o
}

// Reserve hashes each line.
func (o *Order) Reserve() {
	if o == nil {
		return
	}
	for i := range o.Lines {
		l := &o.Lines[i]
		sum := sha256.Sum256(
			fmt.Appendf(nil, "order %d, part %06d, %d pieces in the north", o.ID, l.Part, l.Count))
		l.Reservation = hex.EncodeToString(sum[:8])
	}
}

// Price formats the prices and their total.
func (o *Order) Price() {
	if o == nil {
		return
	}
	total := 0
	for i := range o.Lines {
		l := &o.Lines[i]
		l.Price = euros(l.Count * l.Cents)
		total += l.Count * l.Cents
	}
	o.Total = euros(total)
}

func euros(cents int) string { return fmt.Sprintf("%d.%02d EUR", cents/100, cents%100) }

// Charge hashes the receipt, which has a row for each line.
func (o *Order) Charge() {
	if o == nil {
		return
	}
	receipt := fmt.Appendf(nil, "receipt of order %d\n", o.ID)
	for i := range o.Lines {
		l := &o.Lines[i]
		receipt = fmt.Appendf(receipt, "%06d %3d × %6d = %s (%s)\n", l.Part, l.Count, l.Cents,
			l.Price, l.Reservation)
	}
	sum := sha256.Sum256(fmt.Appendf(receipt, "total %s by card", o.Total))
	o.Receipt = hex.EncodeToString(sum[:])
}

// Encode returns the order in JSON.
func (o *Order) Encode() []byte {
	body, err := json.Marshal(o)
	if err != nil {
		panic(err) // numbers and strings only
	}
	return body
}

// Answer is what a handler answers for the order with this number.
func Answer(id string) []byte {
	o := Read(id)
	o.Reserve()
	o.Price()
	o.Charge()
	return o.Encode()
}
