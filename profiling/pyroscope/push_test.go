package pyroscope_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"github.com/perfline/perfline/profiling/pyroscope"
)

// decodePush reads a push.v1.PushRequest of one series with one profile. Anything else is an error.
func decodePush(request []byte) (labels map[string]string, id string, profile []byte, err error) {
	series, err := decodeOne(request, 1)
	if err != nil {
		return nil, "", nil, fmt.Errorf("PushRequest: %w", err)
	}
	labels = map[string]string{}
	var order []string
	var samples [][]byte
	err = decodeFields(series, func(number protowire.Number, value []byte) error {
		if number == 2 {
			samples = append(samples, value)
			return nil
		}
		pair := map[protowire.Number]string{}
		err := decodeFields(value, func(number protowire.Number, value []byte) error {
			pair[number] = string(value)
			return nil
		})
		name := pair[1]
		if _, twice := labels[name]; err != nil || number != 1 || twice || len(pair) != 2 {
			return fmt.Errorf("LabelPair %q: twice %t, %w", pair, twice, err)
		}
		labels[name] = pair[2]
		order = append(order, name)
		return nil
	})
	if err != nil || len(samples) != 1 || !slices.IsSorted(order) {
		return nil, "", nil, fmt.Errorf("RawProfileSeries: %d samples, labels %q, %w", len(samples), order, err)
	}
	fields := map[protowire.Number][]byte{}
	err = decodeFields(samples[0], func(number protowire.Number, value []byte) error {
		fields[number] = value
		return nil
	})
	if err != nil || len(fields) != 2 || fields[1] == nil || fields[2] == nil {
		return nil, "", nil, fmt.Errorf("RawSample: %d fields, %w", len(fields), err)
	}
	return labels, string(fields[2]), fields[1], nil
}

// decodeOne returns the value of a message's only field.
func decodeOne(message []byte, number protowire.Number) (value []byte, err error) {
	err = decodeFields(message, func(n protowire.Number, v []byte) error {
		if n != number || value != nil {
			return fmt.Errorf("field %d, want one of %d", n, number)
		}
		value = v
		return nil
	})
	return value, err
}

func decodeFields(message []byte, field func(protowire.Number, []byte) error) error {
	for len(message) > 0 {
		number, typ, n := protowire.ConsumeTag(message)
		if n < 0 || typ != protowire.BytesType {
			return fmt.Errorf("tag of type %d: %w", typ, protowire.ParseError(min(n, 0)))
		}
		value, size := protowire.ConsumeBytes(message[n:])
		if size < 0 {
			return fmt.Errorf("field %d: %w", number, protowire.ParseError(size))
		}
		if err := field(number, value); err != nil {
			return err
		}
		message = message[n+size:]
	}
	return nil
}

// A request decodes to the labels, the id and the profile that it was made of, whatever they are. Its buffer has no
// room to spare: it waits in the queue.
func TestPushRequestDecodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		labels := rapid.MapOfN(rapid.String(), rapid.String(), 0, 40).Draw(t, "labels")
		id := rapid.String().Draw(t, "id")
		// A length has another byte from 128 and from 16384 on.
		profile := bytes.Repeat(rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "profile"), rapid.SampledFrom([]int{1, 2, 200, 1000}).Draw(t, "times"))
		request := pyroscope.PushRequest(labels, id, profile)
		if cap(request) != len(request) {
			t.Errorf("%d bytes in a buffer of %d", len(request), cap(request))
		}
		gotLabels, gotID, gotProfile, err := decodePush(request)
		if err != nil || !maps.Equal(gotLabels, labels) || gotID != id || !bytes.Equal(gotProfile, profile) {
			t.Errorf("%v: %q, %q, %x; want %q, %q, %x", err, gotLabels, gotID, gotProfile, labels, id, profile)
		}
	})
}

func FuzzPushRequest(f *testing.F) {
	f.Add("a", "b", "c", "d", "id", []byte("profile"))
	f.Add("", "", "\xff", "\x00", "", []byte{})
	f.Fuzz(func(t *testing.T, name1, value1, name2, value2, id string, profile []byte) {
		labels := map[string]string{name1: value1, name2: value2}
		gotLabels, gotID, gotProfile, err := decodePush(pyroscope.PushRequest(labels, id, profile))
		if err != nil || !maps.Equal(gotLabels, labels) || gotID != id || !bytes.Equal(gotProfile, profile) {
			t.Errorf("%v: %q, %q, %x; want %q, %q, %x", err, gotLabels, gotID, gotProfile, labels, id, profile)
		}
	})
}

// The bytes of a request are those that protoc's encoders make, here by hand.
func TestPushRequestBytes(t *testing.T) {
	got := pyroscope.PushRequest(map[string]string{"b": "2", "a": "1"}, "id", []byte("profile"))
	const want = "0a1f" + // PushRequest.series, 31 bytes
		"0a06" + "0a0161" + "120131" + // labels, 6 bytes: name "a", value "1"
		"0a06" + "0a0162" + "120132" +
		"120d" + "0a0770726f66696c65" + "12026964" // samples, 13 bytes: raw_profile, ID
	if hex.EncodeToString(got) != want {
		t.Errorf("got  %x\nwant %s", got, want)
	}
}
